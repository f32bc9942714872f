// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/stack"
)

// revocation is a way to revoke access to a shared object.
type revocation struct {
	name string
	do   func(r *testNamespace, shared client.Object)
}

var revocationWays = []revocation{
	{"is no longer shared", func(r *testNamespace, shared client.Object) {
		r.change(shared, func() { share(shared, &v1beta1.AllowedNamespaces{From: v1beta1.NamespacesSame}) })
	}},
	{"is deleted", func(r *testNamespace, shared client.Object) {
		r.Expect(r.API.Delete(r.t.Context(), shared)).To(Succeed())
	}},
	{"is shared by a label that the namespace loses", func(r *testNamespace, _ client.Object) {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.Namespace}}
		r.change(ns, func() { delete(ns.Labels, trustedLabel) })
	}},
}

// trustedLabel is the label that shared objects select namespaces by.
const trustedLabel = "attacks.nestor.dev/trusted"

// share sets the namespaces that may use a shared object.
func share(object client.Object, allowed *v1beta1.AllowedNamespaces) {
	switch o := object.(type) {
	case *v1beta1.ModelProvider:
		o.Spec.AllowedNamespaces = allowed
	case *v1beta1.AgentRole:
		o.Spec.AllowedNamespaces = allowed
	case *v1beta1.ToolServer:
		o.Spec.AllowedNamespaces = allowed
	}
}

// change updates an object, with retries on conflicts.
func (r *testNamespace) change(object client.Object, how func()) {
	r.t.Helper()
	r.Eventually(func() error {
		if err := r.API.Get(r.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		how()
		return r.API.Update(r.t.Context(), object)
	}).Should(Succeed())
}

// createShared creates an object in the operator's namespace that the room may use because of its label.
func (r *testNamespace) createShared(object client.Object) {
	r.t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.Namespace}}
	r.change(ns, func() { metav1.SetMetaDataLabel(&ns.ObjectMeta, trustedLabel, r.Namespace) })
	object.SetNamespace(stack.OperatorNamespace)
	share(object, &v1beta1.AllowedNamespaces{From: v1beta1.NamespacesSelector, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{trustedLabel: r.Namespace}}})
	r.Expect(r.API.Create(r.t.Context(), object)).To(Succeed())
	r.t.Cleanup(func() { _ = client.IgnoreNotFound(r.API.Delete(context.WithoutCancel(r.t.Context()), object)) })
}

func (r *testNamespace) reason(task string) func() (string, error) {
	return func() (string, error) {
		now, err := r.Task(task)()
		c := meta.FindStatusCondition(now.Status.Conditions, v1beta1.ConditionSucceeded)
		if c == nil {
			return "", err
		}
		return c.Reason, err
	}
}

// taskUsing returns a task that asks a question and then uses a shared object.
func (r *testNamespace) taskUsing(name string, shared client.Object) *v1beta1.AgentTask {
	task := newAskingTask(name)
	switch shared.(type) {
	case *v1beta1.ModelProvider:
		task.Spec.ModelProvider = shared.GetName()
	case *v1beta1.AgentRole:
		task.Spec.Role = shared.GetName()
	}
	return task
}

// nextCall attempts a model call after access was revoked; nil revokes nothing.
func nextCall(t *testing.T, w *target, how *revocation, build func(r *testNamespace) client.Object) {
	r := w.newNamespace(t)
	shared := build(r)
	r.createShared(shared)
	r.Create(r.taskUsing("job", shared))
	r.Eventually(r.TaskPhase("job")).Should(Equal(v1beta1.TaskWaiting))
	if how == nil {
		r.checkContinues("job")
		return
	}
	how.do(r, shared)
	r.Create(r.taskUsing("probe", shared)) // a new task shows when the operator has noticed
	r.Eventually(r.reason("probe")).Should(HaveSuffix("NotFound"))
	r.Create(newAnswer("job"))
	r.Eventually(r.TaskPhase("job")).Should(Equal(v1beta1.TaskFailed))
	task, err := r.Task("job")()
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(task.Status.Error.Kind).To(Equal(v1beta1.ErrorModel))
	r.Expect(task.Status.Error.Message).To(Or(ContainSubstring("be used in the namespace "+r.Namespace), ContainSubstring("was deleted")))
}

// countingServer is a tool server that counts the calls of its tool.
type countingServer struct {
	*httptest.Server
	calls atomic.Int64
}

// countingServerMu serialises the tests that use the shared tool server of the script.
var countingServerMu sync.Mutex

func newCountingServer(t *testing.T) *countingServer {
	b := &countingServer{}
	server := mcp.NewServer(&mcp.Implementation{Name: "box", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "write", Description: "Writes"}, func(context.Context, *mcp.CallToolRequest, struct {
		Path string `json:"path"`
	}) (*mcp.CallToolResult, any, error) {
		b.calls.Add(1)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "written"}}}, nil, nil
	})
	b.Server = httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(b.CloseClientConnections)
	return b
}

// callAfterRevocation makes an agent call a tool that needs an approval, revokes access to the server meanwhile, and
// approves.
func callAfterRevocation(t *testing.T, w *target, how *revocation) {
	countingServerMu.Lock()
	t.Cleanup(countingServerMu.Unlock) // after the server is gone
	r, b := w.newNamespace(t), newCountingServer(t)
	server := &v1beta1.ToolServer{ObjectMeta: metav1.ObjectMeta{Name: "box"}}
	server.Spec.Transport, server.Spec.URL = v1beta1.TransportStreamableHTTP, b.URL
	r.createShared(server)
	r.Eventually(func() (bool, error) { // the operator may still have the server of the previous attack in its cache
		err := r.API.Get(r.t.Context(), client.ObjectKeyFromObject(server), server)
		return meta.IsStatusConditionTrue(server.Status.Conditions, v1beta1.ConditionReady), err
	}).Should(BeTrue())
	const tool = "box__write"
	role := &v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Name: "general"}}
	role.Spec.Tools = &v1beta1.RoleTools{Allow: []string{tool}}
	r.Create(role, &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Name: "job"}, Spec: v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent, Role: "general", Instruction: "Write a.txt"}})
	r.Eventually(r.TaskPhase("job")).Should(Equal(v1beta1.TaskWaiting))
	task, err := r.Task("job")()
	r.Expect(err).NotTo(HaveOccurred())
	if how != nil {
		how.do(r, server)
		probe := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}
		probe.Spec.Type, probe.Spec.Tool = v1beta1.TaskTool, tool
		r.Create(probe)
		r.Eventually(r.reason("probe")).Should(HaveSuffix("NotFound"))
	}
	r.Create(&v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Name: "yes"}, Spec: v1beta1.AgentMessageSpec{Task: "job", User: stack.Admin,
		Approval: &v1beta1.Approval{Task: "job", ToolCall: task.Status.Waiting.ToolCall, Decision: v1beta1.DecisionApprove}}})
	r.Eventually(r.TaskPhase("job")).Should(Equal(v1beta1.TaskSuccess))
	task, err = r.Task("job")()
	r.Expect(err).NotTo(HaveOccurred())
	if how == nil {
		r.Expect(b.calls.Load()).To(BeEquivalentTo(1))
		return
	}
	r.Expect(b.calls.Load()).To(BeZero())
	r.Expect(task.Status.Result.Summary + task.Status.Result.Details).To(ContainSubstring("can no longer be used in the namespace " + r.Namespace))
}

var _ = class("revocation", revocations()...)

func revocations() []attack {
	provider := func(r *testNamespace) client.Object {
		p := &v1beta1.ModelProvider{ObjectMeta: metav1.ObjectMeta{Name: "shared-" + r.Namespace}}
		p.Spec.BaseURL, p.Spec.DefaultModel = r.ModelURL, "scripted"
		none := int32(0)
		p.Spec.MaxRetries = &none
		return p
	}
	role := func(r *testNamespace) client.Object {
		role := &v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Name: "shared-" + r.Namespace}}
		role.Spec.SystemPrompt = "You work for everybody."
		return role
	}
	var attacks []attack
	for i := range revocationWays {
		how := &revocationWays[i]
		attacks = append(
			attacks,
			attack{
				name: "an agent continues with a provider that " + how.name, attempt: "a run that has begun makes its next model call after the provider " + how.name,
				defence: "the provider is resolved before each call, which fails with the reason",
				run:     func(t *testing.T, w *target) { nextCall(t, w, how, provider) },
				control: func(t *testing.T, w *target) { nextCall(t, w, nil, provider) },
			},
			attack{
				name: "an agent continues with a role that " + how.name, attempt: "a run that has begun makes its next model call after its role " + how.name,
				defence: "a role of another namespace is resolved before each call",
				run:     func(t *testing.T, w *target) { nextCallWithoutRetries(t, w, how, role) },
				control: func(t *testing.T, w *target) { nextCallWithoutRetries(t, w, nil, role) },
			},
			attack{
				name: "an agent calls a tool server that " + how.name, attempt: "a call that waits for an approval is made after the tool server " + how.name,
				defence: "the tool server is resolved before each call: the model gets the error that it may not be used any more",
				run:     func(t *testing.T, w *target) { callAfterRevocation(t, w, how) },
				control: func(t *testing.T, w *target) { callAfterRevocation(t, w, nil) },
			},
		)
	}
	return attacks
}

// nextCallWithoutRetries is nextCall with a provider without retries, so that the run ends soon.
func nextCallWithoutRetries(t *testing.T, w *target, how *revocation, build func(r *testNamespace) client.Object) {
	nextCall(t, w, how, func(r *testNamespace) client.Object {
		provider := &v1beta1.ModelProvider{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "default"}}
		none := int32(0)
		r.change(provider, func() { provider.Spec.MaxRetries = &none })
		return build(r)
	})
}
