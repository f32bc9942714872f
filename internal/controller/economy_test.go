// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// writes counts the operator's writes by namespace, then by method and path.
var writes = &meter{seen: map[string]map[string]int{}}

type meter struct {
	mu   sync.Mutex
	seen map[string]map[string]int
}

// wrap counts the requests that go through a transport.
func (m *meter) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodGet {
			m.count(r.Method, r.URL.Path)
		}
		return next.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (m *meter) count(method, path string) {
	_, after, ok := strings.Cut(path, "/namespaces/")
	if !ok {
		return
	}
	namespace, rest, _ := strings.Cut(after, "/")
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen[namespace] == nil {
		m.seen[namespace] = map[string]int{}
	}
	m.seen[namespace][method+" "+rest]++
}

func (m *meter) of(namespace string) map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	copied := map[string]int{}
	for what, n := range m.seen[namespace] {
		copied[what] = n
	}
	return copied
}

// reconciles returns the number of reconciles of chats, tasks and sub-agents.
func reconciles() float64 {
	GinkgoHelper()
	families, err := ctrlmetrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	total := 0.0
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "controller" && slices.Contains([]string{"agenttask", "subagent"}, label.GetValue()) {
					total += metric.GetCounter().GetValue()
				}
			}
		}
	}
	return total
}

// These specs count requests, so no other spec may run at the same time.
var _ = Describe("The economy of writes", Serial, func() {
	agentTask := func(c conversation, name, instruction string) {
		task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name}}
		task.Spec = v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent, Role: "general", Instruction: instruction}
		Expect(api.Create(ctx, task)).To(Succeed())
	}
	subAgent := func(c conversation, name string) func() (v1beta1.SubAgentPhase, error) {
		return func() (v1beta1.SubAgentPhase, error) {
			var sub v1beta1.SubAgent
			err := api.Get(ctx, types.NamespacedName{Namespace: c.namespace, Name: name}, &sub)
			return sub.Status.Phase, err
		}
	}

	// provideCached creates a provider: a task would wait for one that is not in the operator's cache.
	provideCached := func(c conversation) {
		GinkgoHelper()
		c.provide()
		Eventually(func() ([]metav1.Condition, error) {
			var p v1beta1.ModelProvider
			err := api.Get(ctx, types.NamespacedName{Namespace: c.namespace, Name: "default"}, &p)
			return p.Status.Conditions, err
		}).ShouldNot(BeEmpty())
	}

	It("writes a short agent three times: its sub-agent, and the end of both", func() {
		c := conversation{newNamespace(nil)}
		provideCached(c)
		before := reconciles()
		agentTask(c, "short", "Load step 1")
		Eventually(c.task("short")).Should(Equal("Success"))
		Expect(subAgent(c, "short")()).To(Equal(v1beta1.SubAgentCompleted), "its end is written before that of its task")
		var task v1beta1.AgentTask
		Expect(api.Get(ctx, types.NamespacedName{Namespace: c.namespace, Name: "short"}, &task)).To(Succeed())
		statuses := 1
		if *task.Status.DurationSeconds > 1 {
			statuses = 2 // on a busy machine the run lasts long enough for its progress to be written
		}
		Expect(writes.of(c.namespace)).To(HaveKeyWithValue("POST subagents", 1))
		Expect(writes.of(c.namespace)).To(HaveKeyWithValue("PUT subagents/short/status", BeNumerically("<=", statuses)))
		Expect(writes.of(c.namespace)).To(HaveKeyWithValue("PUT agenttasks/short/status", BeNumerically("<=", statuses)))
		Expect(reconciles()-before).To(BeNumerically("<=", 2+2*statuses), "the start and the end of both")
	})

	It("reconciles and writes an agent a number of times that does not grow with its steps", func() {
		c := conversation{newNamespace(nil)}
		provideCached(c)
		role := &v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "general"}}
		role.Spec.Limits = &v1beta1.RoleLimits{MaxIterations: 100}
		Expect(api.Create(ctx, role)).To(Succeed())
		Eventually(ready(role)).Should(HavePrefix("True"))
		before := reconciles()
		agentTask(c, "long", "Count to 60")
		Eventually(c.task("long")).Should(Equal("Success"))
		Expect(subAgent(c, "long")()).To(Equal(v1beta1.SubAgentCompleted), "its end is written before that of its task")
		var sub v1beta1.SubAgent
		Expect(api.Get(ctx, types.NamespacedName{Namespace: c.namespace, Name: "long"}, &sub)).To(Succeed())
		Expect(sub.Status.Iterations).To(BeEquivalentTo(61))
		seconds := int(sub.Status.CompletionTime.Sub(sub.Status.StartTime.Time).Seconds()) + 1
		Expect(writes.of(c.namespace)["PUT subagents/long/status"]).To(BeNumerically("<=", 2+seconds))
		Expect(writes.of(c.namespace)["PUT agenttasks/long/status"]).To(BeNumerically("<=", 2))
		Expect(reconciles()-before).To(BeNumerically("<=", 8+3*seconds), "61 model calls and 60 tools are 121 steps")
	})
})
