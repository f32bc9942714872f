// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package health_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/kube"
	"github.com/nestor-dev/nestor/internal/health"
	"github.com/nestor-dev/nestor/internal/localcluster"
	"github.com/nestor-dev/nestor/test/patience"
)

// meter counts the responses of the API server. A response that is compressed counts with its full size.
type meter struct {
	mu       sync.Mutex
	requests []string
	bytes    int
}

func (m *meter) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		m.mu.Lock()
		m.requests = append(m.requests, r.Method+" "+r.URL.RequestURI())
		m.mu.Unlock()
		response.Body = &meteredBody{response.Body, m}
		return response, nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type meteredBody struct {
	io.ReadCloser
	meter *meter
}

func (b *meteredBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.meter.mu.Lock()
	defer b.meter.mu.Unlock()
	b.meter.bytes += n
	return n, err
}

func (m *meter) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests, m.bytes = nil, 0
}

func (m *meter) read() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bytes
}

// team is a namespace in which objects are created.
type team struct {
	tb  testing.TB
	api client.Client
}

func (w team) create(objects ...client.Object) {
	w.tb.Helper()
	group, ctx := errgroup.WithContext(w.tb.Context())
	group.SetLimit(16)
	for _, object := range objects {
		group.Go(func() error {
			shown := object.DeepCopyObject().(client.Object)
			if err := w.api.Create(ctx, object); err != nil {
				return err
			}
			shown.SetResourceVersion(object.GetResourceVersion())
			return w.api.Status().Update(ctx, shown)
		})
	}
	if err := group.Wait(); err != nil {
		w.tb.Fatal(err)
	}
}

func unknown(kind, reason string) metav1.Condition {
	return unmet(kind, metav1.ConditionUnknown, reason)
}

func noProgress(reason string) metav1.Condition {
	return unmet(v1beta1.ConditionReconciling, metav1.ConditionTrue, reason)
}

func unmet(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: "It waits for " + reason + ".", LastTransitionTime: metav1.Now()}
}

func makeTask(name string, phase v1beta1.TaskPhase, conditions ...metav1.Condition) *v1beta1.AgentTask {
	task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}}
	task.Spec = v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent, Role: "explorer", Instruction: strings.Repeat("Read the files. ", 60)}
	task.Status = v1beta1.AgentTaskStatus{Phase: phase, SubAgent: name, Conditions: conditions}
	if phase == v1beta1.TaskSuccess {
		task.Status.Result = &v1beta1.TaskResult{Summary: strings.Repeat("It works. ", 50), Details: strings.Repeat("In detail. ", 150)}
	}
	return task
}

func makeSubAgent(name string) *v1beta1.SubAgent {
	sub := &v1beta1.SubAgent{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}}
	sub.Spec = v1beta1.SubAgentSpec{Task: name, Role: "explorer", Depth: 1, Instruction: strings.Repeat("Read the files. ", 60)}
	sub.Status = v1beta1.SubAgentStatus{Phase: v1beta1.SubAgentCompleted, Summary: strings.Repeat("It works. ", 50)}
	return sub
}

// newTeam starts a control plane with a namespace of that name, a heartbeat, and a meter of what is read to find
// problems.
func newTeam(tb testing.TB) (team, health.Namespace, *meter) {
	tb.Helper()
	cluster, err := localcluster.Start(tb.Context(), localcluster.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = cluster.Stop() })
	config := rest.CopyConfig(cluster.Config)
	config.QPS = -1
	t := team{tb, newClient(tb, config)}
	for _, name := range []string{"team", "nestor-system"} {
		if err := t.api.Create(tb.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			tb.Fatal(err)
		}
	}
	now := metav1.NowMicro()
	beat := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "nestor-system", Name: health.LeaseName}, Spec: coordinationv1.LeaseSpec{RenewTime: &now}}
	if err := t.api.Create(tb.Context(), beat); err != nil {
		tb.Fatal(err)
	}
	m := &meter{}
	config.Wrap(m.wrap)
	tables, err := health.NewTables(config)
	if err != nil {
		tb.Fatal(err)
	}
	return t, health.Namespace{API: newClient(tb, config), Tables: tables, Name: "team", OperatorNamespace: "nestor-system", Heartbeat: &health.Observer{}}, m
}

func newClient(tb testing.TB, config *rest.Config) client.Client {
	tb.Helper()
	scheme := kube.NewScheme()
	api, err := client.New(config, client.Options{Scheme: scheme, Mapper: kube.NewMapper(scheme)})
	if err != nil {
		tb.Fatal(err)
	}
	return api
}

// problems returns the problems without the silence of the heartbeat, which no operator renews.
func (w team) problems(n health.Namespace) []string {
	w.tb.Helper()
	found, err := n.Problems(w.tb.Context())
	if err != nil {
		w.tb.Fatal(err)
	}
	var keys []string
	for _, p := range found {
		if p.Kind != health.Operator {
			keys = append(keys, p.Key())
		}
	}
	return keys
}

// eventually waits until the problems are as wanted: lists come from the cache of the API server, which may be behind.
func (w team) eventually(n health.Namespace, want ...string) {
	w.tb.Helper()
	var got []string
	if !patience.Until(func() bool {
		got = w.problems(n)
		return slices.Equal(got, want)
	}) {
		w.tb.Fatalf("the problems are %v, want %v", got, want)
	}
}

func many(count int, prefix string, phase v1beta1.TaskPhase, condition metav1.Condition) []client.Object {
	var objects []client.Object
	for i := range count {
		name := fmt.Sprintf("%s-%d", prefix, i)
		objects = append(objects, makeTask(name, phase, condition), makeSubAgent(name))
	}
	return objects
}

var (
	succeeded = metav1.Condition{Type: v1beta1.ConditionSucceeded, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonSuccess, LastTransitionTime: metav1.Now()}
	running   = unknown(v1beta1.ConditionSucceeded, v1beta1.ReasonRunning)
)

// Every open page asks for the problems every three seconds, so their cost must not grow with the work that was done.
func TestFinishedObjectsAreNotRead(t *testing.T) {
	w, n, m := newTeam(t)
	limited := noProgress(v1beta1.ReasonRateLimited)
	w.create(makeTask("limited", v1beta1.TaskRunning, running, limited))
	w.eventually(n, "RateLimit/AgentTask limited")
	m.reset()
	w.problems(n)
	before := m.read()

	// A condition that stayed on a finished task is no problem either.
	w.create(many(20, "done", v1beta1.TaskSuccess, succeeded)...)
	w.create(makeTask("aborted", v1beta1.TaskCancelled, unknown(v1beta1.ConditionSucceeded, v1beta1.ReasonQuotaExhausted)))
	w.create(makeTask("parked", v1beta1.TaskPending, unknown(v1beta1.ConditionSucceeded, v1beta1.ReasonLedgerUnavailable)))
	w.eventually(n, "Ledger/AgentTask parked", "RateLimit/AgentTask limited") // the newest is in the cache of the API server
	if err := w.api.Delete(t.Context(), makeTask("parked", "")); err != nil {
		t.Fatal(err)
	}
	w.eventually(n, "RateLimit/AgentTask limited")
	m.reset()
	w.problems(n)
	if after := m.read(); after > before+20 {
		t.Errorf("%d bytes are read, and %d after 20 tasks have finished", before, after)
	}
	for _, request := range m.requests {
		if strings.Contains(request, "/subagents") || strings.Contains(request, "/agenttasks?") && !strings.Contains(request, "fieldSelector=status.phase") {
			t.Errorf("the problems need %s", request)
		}
	}

	// Running tasks are read, but not their prompts.
	w.create(many(20, "active", v1beta1.TaskRunning, running)...)
	w.create(makeTask("stuck", v1beta1.TaskPending, unknown(v1beta1.ConditionSucceeded, v1beta1.ReasonQuotaExhausted)))
	w.eventually(n, "Quota/AgentTask stuck", "RateLimit/AgentTask limited")
	m.reset()
	w.problems(n)
	const perTask, details = 250, 4000 // details of the task that waits for a quota
	if after := m.read(); after > before+21*perTask+details {
		t.Errorf("%d bytes are read, and %d with 20 more running tasks", before, after)
	}
}

func TestWaitsAreFoundInTables(t *testing.T) {
	w, n, _ := newTeam(t)
	chat := &v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "talk"}}
	chat.Spec.ModelProvider = "own"
	chat.Status = v1beta1.AgentChatStatus{Phase: v1beta1.ChatRunning, Conditions: []metav1.Condition{noProgress(v1beta1.ReasonQueuedForProvider)}}
	role := &v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "writer"}}
	role.Spec.Description, role.Spec.SystemPrompt, role.Spec.ModelProvider = "writes", "Write.", "other"
	server := &v1beta1.ToolServer{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "box"}}
	server.Spec.URL = "http://box.example"
	server.Status.Conditions = notReady(v1beta1.ReasonUnreachable)
	w.create(chat, role, server)
	for _, name := range []string{"own", "other", "unused"} {
		p := &v1beta1.ModelProvider{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}}
		p.Spec.BaseURL, p.Spec.DefaultModel = "http://models.example/v1", "m"
		p.Status.Conditions = notReady(v1beta1.ReasonUnauthorized)
		w.create(p)
	}
	w.eventually(n, "Provider/ModelProvider other", "Provider/ModelProvider own", "ToolServer/ToolServer box", "RateLimit/AgentChat talk")
	found, err := n.Problems(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if last := found[len(found)-1]; !strings.Contains(last.Message, "It waits for QueuedForProvider.") || last.StartTime == nil {
		t.Errorf("the problem %+v has no details", last)
	}
}

func notReady(reason string) []metav1.Condition {
	return []metav1.Condition{{Type: v1beta1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: "It fails.", LastTransitionTime: metav1.Now()}}
}

// BenchmarkProblems checks a namespace with 1,000 tasks, a tenth of which is running, and as many sub-agents.
func BenchmarkProblems(b *testing.B) {
	w, n, m := newTeam(b)
	w.create(many(900, "done", v1beta1.TaskSuccess, succeeded)...)
	w.create(many(100, "active", v1beta1.TaskRunning, running)...)
	w.create(makeTask("limited", v1beta1.TaskRunning, running, noProgress(v1beta1.ReasonRateLimited)))
	w.eventually(n, "RateLimit/AgentTask limited")
	m.reset()
	for b.Loop() {
		w.problems(n)
	}
	b.ReportMetric(float64(m.read())/float64(b.N), "bytes-read/op")
}
