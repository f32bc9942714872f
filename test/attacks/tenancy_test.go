// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/stack"
	"github.com/nestor-dev/nestor/test/world"
)

// shareOfLedger is the ledger quota of a namespace in the small stack.
const shareOfLedger = 128 << 10

// smallStack is a separate stack with a small ledger quota, which prunes bodies of calls when the operator starts.
type smallStack struct {
	*target
	fullNamespace *testNamespace
	// asked is a task whose agent waited for a person when the operator was killed, with finished calls.
	asked *testNamespace
}

func (w *target) smallStack(t *testing.T) *smallStack {
	t.Helper()
	return w.small.Get(t, w.t, w.startSmall)
}

func (w *target) startSmall(t testing.TB) *smallStack {
	s := &smallStack{target: w.own(t, func(o *stack.Options) {
		o.OperatorFlags = append(o.OperatorFlags, "--ledger-namespace-quota", fmt.Sprint(shareOfLedger), "--call-retention", "1ms")
	})}
	s.asked = s.newNamespace(t)
	s.asked.Create(newAskingTask("victim"))
	s.asked.Eventually(s.asked.TaskPhase("victim")).Should(Equal(v1beta1.TaskWaiting))
	NewWithT(t).Expect(s.Operator.Kill()).To(Succeed())
	NewWithT(t).Expect(s.StartOperator(t.Context())).To(Succeed())
	s.fullNamespace = s.newNamespace(t)
	s.fullNamespace.Create(&v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Name: "chat"}})
	s.fullNamespace.Eventually(s.fullNamespace.chatReason("chat")).Should(Equal("Ready"))
	for i := range 20 {
		s.fullNamespace.Create(newLargeTask(fmt.Sprintf("bulk-%d", i)))
	}
	s.fullNamespace.Eventually(func() (reasons []string, err error) { // they may start in any order
		for i := range 20 {
			reason, err := s.fullNamespace.reason(fmt.Sprintf("bulk-%d", i))()
			if err != nil {
				return nil, err
			}
			reasons = append(reasons, reason)
		}
		return reasons, nil
	}).Should(ContainElement("LedgerQuota"))
	// The operator counts more than the ledger stores until it reads the sizes again, which may let some of them
	// continue.
	s.fullNamespace.Eventually(func() int64 { return number(t, s.target, bytesOf, s.fullNamespace.Namespace) }).Should(BeNumerically(">=", shareOfLedger))
	return s
}

// newLargeTask returns a task that needs much space in the ledger.
func newLargeTask(name string) *v1beta1.AgentTask {
	task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Name: name}}
	task.Spec.Type, task.Spec.Role, task.Spec.Instruction = v1beta1.TaskAgent, "general", "Submit "+strings.Repeat("much ", 3000)
	return task
}

func (r *testNamespace) chatReason(name string) func() (string, error) {
	return func() (string, error) {
		var chat v1beta1.AgentChat
		err := r.Get(name, &chat)
		if c := meta.FindStatusCondition(chat.Status.Conditions, v1beta1.ConditionReady); c != nil {
			return c.Reason, err
		}
		return "", err
	}
}

func number(t testing.TB, w *target, query string, args ...any) int64 {
	t.Helper()
	db := openLedger(t, w)
	defer func() { _ = db.Close() }()
	var n sql.NullInt64
	NewWithT(t).Expect(db.QueryRowContext(t.Context(), query, args...).Scan(&n)).To(Succeed())
	return n.Int64
}

const bytesOf = `SELECT CAST(SUM(bytes) AS BIGINT) FROM agents WHERE namespace = $1`

func (r *testNamespace) withT(t *testing.T) *testNamespace {
	other := *r
	other.t, other.WithT = t, world.Expecting(t)
	return &other
}

// otherNamespaceControl checks that another namespace continues.
func otherNamespaceControl(t *testing.T, w *target) {
	r := w.smallStack(t).newNamespace(t)
	r.Create(&v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Name: "little"}, Spec: v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent, Role: "general", Instruction: "Submit little"}})
	r.Eventually(r.TaskPhase("little")).Should(Equal(v1beta1.TaskSuccess))
}

// recreate deletes and recreates a namespace. The local cluster has no controller that would empty it.
func (r *testNamespace) recreate() {
	r.t.Helper()
	for _, list := range []client.Object{&v1beta1.AgentTask{}, &v1beta1.SubAgent{}, &v1beta1.AgentQuota{}, &v1beta1.ModelProvider{}} {
		r.Expect(r.API.DeleteAllOf(r.t.Context(), list, client.InNamespace(r.Namespace))).To(Succeed())
	}
	api, err := kubernetes.NewForConfig(r.Cluster.Config)
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(api.CoreV1().Namespaces().Delete(r.t.Context(), r.Namespace, metav1.DeleteOptions{})).To(Succeed())
	ns, err := api.CoreV1().Namespaces().Get(r.t.Context(), r.Namespace, metav1.GetOptions{})
	r.Expect(err).NotTo(HaveOccurred())
	ns.Spec.Finalizers = nil
	_, err = api.CoreV1().Namespaces().Finalize(r.t.Context(), ns, metav1.UpdateOptions{})
	r.Expect(err).NotTo(HaveOccurred())
	r.Eventually(func() error {
		return r.API.Create(r.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.Namespace}})
	}).Should(Succeed())
	// Admission reads namespaces from a cache, in which this one may still be terminating.
	r.Eventually(func() error {
		return r.API.Create(r.t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "accepted"}})
	}).Should(Succeed())
}

func (r *testNamespace) used() (int64, error) {
	var quota v1beta1.AgentQuota
	if err := r.Get("quota", &quota); err != nil {
		return -1, err
	}
	if len(quota.Status.Conditions) == 0 || quota.Status.Used.Tokens == nil {
		return -1, nil
	}
	return *quota.Status.Used.Tokens, nil
}

func (r *testNamespace) quota() {
	many := int64(1e12)
	r.Create(&v1beta1.AgentQuota{ObjectMeta: metav1.ObjectMeta{Name: "quota"}, Spec: v1beta1.AgentQuotaSpec{Period: v1beta1.QuotaMonth, MaxTokens: &many}})
}

func (r *testNamespace) runUnderQuota(name string) {
	r.Create(&v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent, Role: "general", Instruction: "Submit it"}})
	r.Eventually(r.TaskPhase(name)).Should(Equal(v1beta1.TaskSuccess))
}

var _ = class(
	"tenancy",
	attack{
		name:    "one namespace fills the ledger of all",
		attempt: "a namespace creates tasks with much text until the disk is full",
		defence: "--ledger-namespace-quota: its model calls wait, nothing new starts, and nothing fails",
		run: func(t *testing.T, w *target) {
			s := w.smallStack(t)
			r := s.fullNamespace.withT(t)
			for i := range 20 {
				r.Create(newLargeTask(fmt.Sprintf("more-%d", i)))
			}
			r.Eventually(r.reason("more-19")).Should(Equal("LedgerQuota"))
			// Calls in flight when the quota was reached are recorded: at most what 20 started tasks write.
			r.Expect(number(t, s.target, bytesOf, r.Namespace)).To(BeNumerically("<", shareOfLedger+40*(64<<10)))
			var tasks v1beta1.AgentTaskList
			r.Expect(r.API.List(t.Context(), &tasks, client.InNamespace(r.Namespace))).To(Succeed())
			for _, task := range tasks.Items {
				r.Expect(task.Status.Phase).NotTo(Equal(v1beta1.TaskFailed), task.Name)
			}
		},
		control: otherNamespaceControl,
	},
	attack{
		name:    "a chat fills the ledger with messages",
		attempt: "a namespace at its quota keeps sending messages to a chat",
		defence: "messages of a namespace at its quota stay Pending with reason LedgerQuota and are not recorded",
		run: func(t *testing.T, w *target) {
			s := w.smallStack(t)
			r := s.fullNamespace.withT(t)
			r.Create(newMessage("long", "Greet Alice"))
			r.Eventually(func() (string, error) {
				var m v1beta1.AgentMessage
				err := r.Get("long", &m)
				return string(m.Status.Phase) + " " + m.Status.Reason, err
			}).Should(HavePrefix("Pending LedgerQuota"))
			r.Expect(number(t, s.target, `SELECT COUNT(*) FROM events e JOIN agents a ON a.uid = e.agent_uid WHERE a.namespace = $1 AND e.type = 'MessageArrived'`, r.Namespace)).To(BeZero())
		},
		control: func(t *testing.T, w *target) {
			r := w.smallStack(t).newNamespace(t)
			r.Create(&v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Name: "chat"}}, newMessage("short", "Greet Alice"))
			r.Eventually(r.posts).Should(ContainSubstring("Hello, Alice!"))
		},
	},
	attack{
		name:    "a chat starts although the quota is reached",
		attempt: "a namespace at its quota creates another chat",
		defence: "the chat is Ready False with reason LedgerQuota, and nothing of it is recorded",
		run: func(t *testing.T, w *target) {
			s := w.smallStack(t)
			r := s.fullNamespace.withT(t)
			r.Create(&v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Name: "another"}})
			r.Eventually(r.chatReason("another")).Should(Equal("LedgerQuota"))
			r.Expect(number(t, s.target, `SELECT COUNT(*) FROM agents WHERE namespace = $1 AND name = 'another'`, r.Namespace)).To(BeZero())
		},
		control: otherNamespaceControl,
	},
	attack{
		name:    "old outputs stay in the ledger forever",
		attempt: "the requests of a live agent are still in the ledger long after the retention time of calls",
		defence: "--call-retention deletes requests and responses of live agents too; the agent continues",
		run: func(t *testing.T, w *target) {
			s := w.smallStack(t)
			r := s.asked.withT(t)
			bodies := `SELECT COUNT(*) FROM model_calls WHERE agent_uid = $1 AND finished_at IS NOT NULL AND response IS NOT NULL`
			r.Eventually(func() int64 { return number(t, s.target, bodies, string(r.subAgent("victim").UID)) }).Should(BeZero())
			r.Expect(number(t, s.target, `SELECT COUNT(*) FROM model_calls WHERE agent_uid = $1 AND total_tokens > 0`, string(r.subAgent("victim").UID))).To(BeEquivalentTo(1))
			r.checkContinues("victim")
		},
		control: func(t *testing.T, w *target) {
			r := w.newNamespace(t)
			r.Create(newAskingTask("victim"))
			r.Eventually(r.TaskPhase("victim")).Should(Equal(v1beta1.TaskWaiting))
			r.Expect(number(t, w, `SELECT COUNT(*) FROM model_calls WHERE agent_uid = $1 AND response IS NOT NULL`, string(r.subAgent("victim").UID))).To(BeEquivalentTo(1))
		},
	},
	attack{
		name:    "a namespace inherits the usage of an earlier one with its name",
		attempt: "a namespace is deleted and recreated, and its quota counts the earlier usage",
		defence: "counts belong to the UID of a namespace",
		run: inNamespace(func(r *testNamespace) {
			r.quota()
			r.runUnderQuota("before")
			r.Eventually(r.used).Should(BeNumerically(">", 0))
			r.recreate()
			r.quota()
			r.Eventually(r.used).Should(BeZero())
		}),
		control: inNamespace(func(r *testNamespace) {
			r.quota()
			r.runUnderQuota("before")
			r.Eventually(r.used).Should(BeNumerically(">", 0))
			r.Expect(r.API.Delete(r.t.Context(), &v1beta1.AgentQuota{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "quota"}})).To(Succeed())
			r.quota()
			r.Eventually(r.used).Should(BeNumerically(">", 0))
		}),
	},
	attack{
		name:    "a namespace inherits the records of an earlier one with its name",
		attempt: "a namespace is deleted and recreated, so that the history API shows a new tenant the records of the old one",
		defence: "records contain the UID of their namespace, by which the history API selects them",
		run: func(t *testing.T, w *target) {
			r := w.newNamespace(t)
			r.runUnderQuota("before")
			r.recreate()
			r.Expect(w.Provider(t.Context(), r.Namespace, "default")).To(Succeed())
			r.quota()
			r.Eventually(r.used).Should(BeZero(), "the operator has read the new namespace")
			r.runUnderQuota("after")
			r.Expect(number(t, w, `SELECT COUNT(DISTINCT namespace_uid) FROM agents WHERE namespace = $1 AND namespace_uid <> ''`, r.Namespace)).To(BeEquivalentTo(2))
			r.Expect(number(t, w, `SELECT COUNT(*) FROM model_calls c JOIN agents a ON a.uid = c.agent_uid WHERE a.namespace = $1 AND c.namespace_uid <> a.namespace_uid`, r.Namespace)).To(BeZero())
		},
		control: func(t *testing.T, w *target) {
			r := w.newNamespace(t)
			r.runUnderQuota("before")
			r.runUnderQuota("after")
			r.Expect(number(t, w, `SELECT COUNT(DISTINCT namespace_uid) FROM agents WHERE namespace = $1 AND namespace_uid <> ''`, r.Namespace)).To(BeEquivalentTo(1))
		},
	},
)
