// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package toolpolicy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/client/kube"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/validation"
)

func newStore(t *testing.T, objects ...client.Object) *Store {
	t.Helper()
	if !slices.ContainsFunc(objects, func(o client.Object) bool { return o.GetName() == "talk" }) {
		for _, name := range []string{"team", "lab", "other", "nestor-system"} {
			objects = append(objects, &v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "talk"}})
		}
	}
	reader := fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithObjects(objects...).Build()
	s := NewStore(resolve.Finder{Reader: reader, Live: reader, OperatorNamespace: "nestor-system"}, func(types.NamespacedName) {})
	s.slots.Spawn = func(f func()) { f() } // what is set is compiled
	s.synced = func() bool { return true }
	return s
}

func toolPolicy(namespace, name, when string, from *v1beta1.AllowedNamespaces) *v1beta1.ToolPolicy {
	return &v1beta1.ToolPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + name + when), Generation: 1},
		Spec:       v1beta1.ToolPolicySpec{Namespaces: from, Rules: []v1beta1.PolicyRule{{Name: "r", AllowWhen: when}}},
	}
}

func namespace(name, stage string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"stage": stage}}}
}

func input(call agent.PlannedCall) engine.PolicyInput {
	return engine.PolicyInput{
		Call: call, Agent: ledger.Agent{UID: "uid", Root: "uid-chat", Namespace: "team", Chat: "talk"}, Role: "coder",
		Root: func(context.Context) (engine.PolicyRoot, error) {
			return engine.PolicyRoot{Task: "top", Requesters: agent.Requesters{Users: []string{"bob"}}}, nil
		},
	}
}

// judged returns the policies whose rule denies a call.
func judged(t *testing.T, s *Store, in engine.PolicyInput) string {
	t.Helper()
	verdicts, _, err := s.Judge(t.Context(), in)
	if err != nil {
		return err.Error()
	}
	var denied []string
	for _, v := range verdicts {
		if v.Action == agent.PolicyDeny {
			denied = append(denied, v.Policy)
		}
	}
	return strings.Join(denied, " ")
}

func TestPoliciesApplyToNamespaces(t *testing.T) {
	production := &v1beta1.AllowedNamespaces{From: v1beta1.NamespacesSelector, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"stage": "production"}}}
	s := newStore(t, namespace("team", "production"), namespace("lab", "test"))
	for _, p := range []*v1beta1.ToolPolicy{
		toolPolicy("team", "own", "false", nil), toolPolicy("nestor-system", "everywhere", "false", &v1beta1.AllowedNamespaces{From: v1beta1.NamespacesAll}),
		toolPolicy("nestor-system", "production", "false", production), toolPolicy("nestor-system", "private", "false", nil),
		toolPolicy("other", "foreign", "false", &v1beta1.AllowedNamespaces{From: v1beta1.NamespacesAll}),
	} {
		s.set(p)
	}
	for name, want := range map[string]string{
		"team":          "nestor-system/everywhere nestor-system/production team/own",
		"lab":           "nestor-system/everywhere",
		"other":         "nestor-system/everywhere other/foreign",
		"nestor-system": "nestor-system/everywhere nestor-system/private nestor-system/production",
	} {
		in := input(agent.PlannedCall{Tool: "read"})
		in.Agent.Namespace = name
		if name == "other" || name == "nestor-system" {
			if err := s.finder.Reader.(client.Client).Create(t.Context(), namespace(name, "")); err != nil {
				t.Fatal(err)
			}
		}
		if got := judged(t, s, in); got != want || !s.Apply(name) {
			t.Errorf("%s has the policies %s, want %s", name, got, want)
		}
	}
}

// A selector that cannot be read does not exempt namespaces from the policy.
func TestUnreadableSelectorMakesCallsWait(t *testing.T) {
	s := newStore(t, namespace("team", ""))
	p := toolPolicy("nestor-system", "p", "false", &v1beta1.AllowedNamespaces{From: v1beta1.NamespacesSelector, Selector: &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "stage", Operator: "notin", Values: []string{"test"}}}}})
	p.Spec.Match = &v1beta1.PolicyMatch{Tools: []v1beta1.ToolGlob{"write"}}
	s.set(p)
	got := judged(t, s, input(agent.PlannedCall{Tool: "write"}))
	if !strings.Contains(got, "nestor-system/p does not compile: spec.namespaces.selector") || !s.Apply("team") {
		t.Errorf("%q, want that the call waits", got)
	}
	if got := judged(t, s, input(agent.PlannedCall{Tool: "read"})); got != "" {
		t.Errorf("%q, want that a call which the policy does not match goes on", got)
	}
	if err := validation.CheckPolicy(p); err == nil {
		t.Error("the policy is valid")
	}
}

func TestUnknownPoliciesMakeCallsWait(t *testing.T) {
	s := newStore(t, namespace("team", ""))
	if s.Apply("team") || judged(t, s, input(agent.PlannedCall{Tool: "read"})) != "" {
		t.Error("there are no policies")
	}
	s.synced = func() bool { return false }
	if got := judged(t, s, input(agent.PlannedCall{Tool: "read"})); !s.Apply("team") || got != errNotSynced.Error() {
		t.Errorf("%s, want that the call waits", got)
	}
	s.synced = func() bool { return true }
	s.set(toolPolicy("team", "p", "nonsense", nil))
	if got := judged(t, s, input(agent.PlannedCall{Tool: "read"})); !strings.Contains(got, "team/p does not compile") {
		t.Errorf("%s, want that the call waits", got)
	}
	in := input(agent.PlannedCall{Tool: "read"})
	s.set(toolPolicy("team", "p", "true", nil)) // created again, with the same generation
	if got := judged(t, s, in); got != "" {
		t.Error(got)
	}
	in.Root = func(context.Context) (engine.PolicyRoot, error) {
		return engine.PolicyRoot{}, fmt.Errorf("the ledger is away")
	}
	if got := judged(t, s, in); !strings.Contains(got, "the ledger is away") {
		t.Error(got)
	}
	s.remove(toolscache.DeletedFinalStateUnknown{Obj: toolPolicy("team", "p", "true", nil)})
	if s.Apply("team") {
		t.Error("the policy was deleted")
	}
}

func TestChangedPolicyIsCompiledAgain(t *testing.T) {
	s := newStore(t, namespace("team", ""))
	p := toolPolicy("team", "p", "true", nil)
	s.set(p)
	changed := p.DeepCopy()
	changed.Generation, changed.Spec.Rules[0].AllowWhen = 2, "false"
	s.set(changed)
	if got := judged(t, s, input(agent.PlannedCall{Tool: "read"})); got != "team/p" {
		t.Errorf("denied by %q", got)
	}
}

func TestJudgeReadsWhatTheOperatorKnows(t *testing.T) {
	server := &v1beta1.ToolServer{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "github"}, Spec: v1beta1.ToolServerSpec{ReadOnlyTools: []string{"get issue"}}}
	chat := &v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "talk"}, Spec: v1beta1.AgentChatSpec{User: "alice", Workspace: &v1beta1.Workspace{
		Git: &v1beta1.GitSource{URL: "https://git.example.com/a.git", Ref: "main", Push: &v1beta1.GitPush{}}}}}
	task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "top"}, Spec: v1beta1.AgentTaskSpec{User: "carol", FireUser: "dave", Workspace: &v1beta1.Workspace{EmptyDir: &v1beta1.EmptyDirSource{}}}}
	partner := &v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "partner"}, Spec: v1beta1.AgentRoleSpec{Remote: &v1beta1.RemoteAgent{}}}
	s := newStore(t, namespace("team", ""), server, chat, task, partner)
	plain := func(tool string, hinted bool) engine.PolicyInput {
		return input(agent.PlannedCall{Tool: tool, ReadOnly: hinted})
	}
	delegation := func(role string) engine.PolicyInput {
		return input(agent.PlannedCall{Tool: "delegate_to_agent", Control: true, ReadOnly: true, TargetRole: role})
	}
	standalone := plain("read", true)
	standalone.Agent = ledger.Agent{UID: "below", Root: "uid-top", Namespace: "team"}
	unknown := plain("read", true)
	unknown.Root = func(context.Context) (engine.PolicyRoot, error) {
		return engine.PolicyRoot{Task: "talk", Requesters: agent.Requesters{Users: []string{"bob"}, Unknown: true}}, nil
	}
	for _, c := range []struct {
		in   engine.PolicyInput
		when string
	}{
		{plain("github__push", true), "!call.readOnly && call.server == 'github'"}, // the server's hint does not count
		{plain("github__get_issue_dc1e04ab", true), "!call.readOnly"},
		{plain("gone__get", true), "!call.readOnly && call.server == 'gone'"},
		{plain("read", true), "call.readOnly && call.server == ''"},
		{plain("write", false), "!call.readOnly"},
		{delegation("general"), "call.readOnly && !call.target.remote && call.target.role == 'general'"},
		{delegation("partner"), "!call.readOnly && call.target.remote"},
		{delegation("nobody"), "!call.readOnly && call.target.remote"},
		{plain("read", true), "agent.requesters == ['alice', 'bob'] && workspace.source == 'Git' && workspace.ref == 'main' && workspace.push"},
		{standalone, "agent.requesters == ['bob', 'carol', 'dave'] && workspace.source == 'EmptyDir' && agent.role == 'coder'"},
		{unknown, "agent.requesters == ['', 'alice', 'bob']"},
	} {
		s.set(toolPolicy("team", "p", c.when, nil))
		if got := judged(t, s, c.in); got != "" {
			t.Errorf("%s of %s is false: %s", c.when, c.in.Call.Tool, got)
		}
	}
	unmatched := toolPolicy("team", "p", "true", nil)
	unmatched.Spec.Match = &v1beta1.PolicyMatch{Tools: []string{"other"}}
	s.set(unmatched)
	for name, want := range map[string]bool{"github__push": true, "read": false} {
		if _, writes, err := s.Judge(t.Context(), plain(name, true)); writes != want || err != nil {
			t.Errorf("%s, which no policy matches, may write: %t (%v)", name, writes, err)
		}
	}
}

// Without the object of the root its workspace and requesters are not known: the call waits.
func TestCallWaitsForItsRoot(t *testing.T) {
	s := newStore(t, namespace("team", ""))
	s.set(toolPolicy("team", "p", "true", nil))
	in := input(agent.PlannedCall{Tool: "read"})
	in.Agent.Chat = ""
	if got := judged(t, s, in); !strings.Contains(got, `"top" not found`) {
		t.Errorf("%q, want that the call waits", got)
	}
}
