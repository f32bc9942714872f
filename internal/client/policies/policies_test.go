// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/policy"
)

const operatorNamespace = "nestor-system"

// cluster returns a client without permission to read the namespaces in hidden.
func cluster(t *testing.T, hidden string, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	forbidden := apierrors.NewForbidden(v1beta1.GroupVersion.WithResource("objects").GroupResource(), "", nil)
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, api client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if hidden != "" && key.Namespace == hidden {
				return forbidden
			}
			return api.Get(ctx, key, object, options...)
		},
		List: func(ctx context.Context, api client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if in := (&client.ListOptions{}); hidden != "" && in.ApplyOptions(options).Namespace == hidden {
				return forbidden
			}
			return api.List(ctx, list, options...)
		},
	}).Build()
}

func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func TestListHasThePoliciesThatApply(t *testing.T) {
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", Labels: map[string]string{"stage": "production"}}},
		&v1beta1.ToolPolicy{ObjectMeta: named("team", "own"), Spec: v1beta1.ToolPolicySpec{Rules: []v1beta1.PolicyRule{{Name: "a"}, {Name: "b"}}}},
		&v1beta1.ToolPolicy{ObjectMeta: named("other", "other")},
		&v1beta1.ToolPolicy{ObjectMeta: named(operatorNamespace, "same")},
	}
	for name, from := range map[string]v1beta1.AllowedNamespaces{
		"all":        {From: v1beta1.NamespacesAll},
		"production": {From: v1beta1.NamespacesSelector, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"stage": "production"}}},
		"test":       {From: v1beta1.NamespacesSelector, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"stage": "test"}}},
	} {
		objects = append(objects, &v1beta1.ToolPolicy{ObjectMeta: named(operatorNamespace, name), Spec: v1beta1.ToolPolicySpec{Namespaces: &from}})
	}
	names := func(list List) (names []string) {
		for _, e := range list.Items {
			names = append(names, e.Namespace+"/"+e.Name)
		}
		return names
	}
	list, err := Read(t.Context(), cluster(t, "", objects...), "team", operatorNamespace)
	if want := []string{"nestor-system/all", "nestor-system/production", "team/own"}; err != nil || !slices.Equal(names(list), want) || list.Unreadable != "" {
		t.Errorf("the policies are %+v, %v", list, err)
	}
	if own := list.Items[2]; !slices.Equal(own.Rules, []string{"a", "b"}) || own.Mode != v1beta1.PolicyEnforce || own.Ready != metav1.ConditionUnknown {
		t.Errorf("the policy is %+v", own)
	}
	list, err = Read(t.Context(), cluster(t, operatorNamespace, objects...), "team", operatorNamespace)
	if err != nil || !slices.Equal(names(list), []string{"team/own"}) || !strings.Contains(list.Unreadable, operatorNamespace) {
		t.Errorf("without permission in the operator's namespace, the policies are %+v, %v", list, err)
	}
}

// What policies read about a recorded call is recorded, or that of objects of now, or unknown.
func TestInputOfARecordedCall(t *testing.T) {
	chat := &v1beta1.AgentChat{ObjectMeta: named("team", "talk")}
	chat.UID, chat.Spec.User = "root", "alice"
	chat.Spec.Workspace = &v1beta1.Workspace{EmptyDir: &v1beta1.EmptyDirSource{}}
	server := &v1beta1.ToolServer{ObjectMeta: named("team", "github"), Spec: v1beta1.ToolServerSpec{ReadOnlyTools: []string{"get_issue"}}}
	facts := func(hidden string) *Facts {
		f, err := NewFacts(t.Context(), cluster(t, hidden, chat, server), "team", operatorNamespace)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	of := func(f *Facts, page historyv1.TranscriptCalls, m historyv1.CallMoment) policy.Input {
		t.Helper()
		in, err := f.input(t.Context(), page, m)
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	page := historyv1.TranscriptCalls{Agent: historyv1.TranscriptAgent{Kind: "SubAgent", Role: "coder", Root: "root", Depth: 2}}
	always := []string{"agent.requesters", "usage"}
	in := of(facts(""), page, historyv1.CallMoment{Tool: "github__get_issue", ContentLabels: []historyv1.ContentLabel{{Name: "b"}, {Name: "a"}}})
	if !in.Call.ReadOnly || in.Call.Server != "github" || in.Workspace.Source != "EmptyDir" || in.Agent.Role != "coder" || in.Agent.Depth != 2 ||
		!slices.Equal(in.Labels, []string{"a", "b"}) || !slices.Equal(in.Unknown, always) {
		t.Errorf("the input is %+v", in)
	}
	recorded := historyv1.CallMoment{Tool: "read", Usage: &historyv1.TreeUsage{Tokens: 5, Writes: 2}, JudgedAs: &historyv1.JudgedAs{Role: "lead", Depth: 1},
		Requesters: &historyv1.CallRequesters{Users: []string{"bob"}, Unknown: true}}
	if in := of(facts(""), page, recorded); len(in.Unknown) > 0 || in.Usage != (policy.Usage{Tokens: 5, Writes: 2}) || in.Agent.Role != "lead" || in.Agent.Depth != 1 ||
		!slices.Equal(in.Agent.Requesters, []string{"", "alice", "bob"}) {
		t.Errorf("a call with its usage and requesters: %+v", in)
	}
	if in := of(facts(""), page, historyv1.CallMoment{Tool: "github__push", ReadOnly: true}); in.Call.ReadOnly {
		t.Error("the hint of a server counts")
	}
	if in := of(facts(""), page, historyv1.CallMoment{Tool: "delegate_to_agent", Control: true, ReadOnly: true, TargetRole: "researcher"}); !in.Call.ReadOnly ||
		in.Call.Remote || !slices.Equal(in.Unknown, always) {
		t.Errorf("a delegation to a built-in role: %+v", in)
	}
	for what, test := range map[string]struct {
		facts *Facts
		page  historyv1.TranscriptCalls
		m     historyv1.CallMoment
		want  []string
	}{
		"a deleted server":    {facts(""), page, historyv1.CallMoment{Tool: "gone__push"}, []string{"call.readOnly"}},
		"an unreadable one":   {facts(operatorNamespace), page, historyv1.CallMoment{Tool: "gone__push"}, []string{"call.readOnly"}},
		"a deleted role":      {facts(""), page, historyv1.CallMoment{Tool: "delegate_to_agent", Control: true, TargetRole: "gone"}, []string{"call.readOnly", "call.target.remote"}},
		"a deleted workspace": {facts(""), historyv1.TranscriptCalls{Agent: historyv1.TranscriptAgent{Kind: "SubAgent", Root: "gone"}}, historyv1.CallMoment{Tool: "read"}, []string{"workspace"}},
		"a pruned caller":     {facts(""), historyv1.TranscriptCalls{Agent: historyv1.TranscriptAgent{Kind: "AgentTask", Root: "root", Parent: "gone"}}, historyv1.CallMoment{Tool: "read"}, []string{"agent.role"}},
		"a person's tool":     {facts(""), historyv1.TranscriptCalls{Agent: historyv1.TranscriptAgent{Kind: "AgentTask", Root: "root"}}, historyv1.CallMoment{Tool: "read"}, nil},
	} {
		unknown := func(name string) bool { return slices.Contains(always, name) }
		if in := of(test.facts, test.page, test.m); !slices.Equal(slices.DeleteFunc(in.Unknown, unknown), test.want) {
			t.Errorf("%s: %q is unknown, want %q", what, in.Unknown, test.want)
		}
	}
}

// A call is reported once, with the strictest verdict of its moments.
func TestStrictestVerdictOfACall(t *testing.T) {
	compiled, err := policy.Compile(&v1beta1.ToolPolicy{ObjectMeta: named("team", "p"), Spec: v1beta1.ToolPolicySpec{
		Match: &v1beta1.PolicyMatch{Tools: []string{"write"}}, Rules: []v1beta1.PolicyRule{
			{Name: "people", AllowWhen: "!('untrusted' in labels)", Otherwise: v1beta1.OutcomeRequireApproval},
			{Name: "path", AllowWhen: "call.arguments.path != 'secret'"},
			{Name: "usage", AllowWhen: "usage.tokens < 5 || call.arguments.path == 'free'"},
		}}})
	if err != nil {
		t.Fatal(err)
	}
	facts, err := NewFacts(t.Context(), cluster(t, ""), "team", operatorNamespace)
	if err != nil {
		t.Fatal(err)
	}
	run := tried{trial: Trial{Policies: []*policy.Policy{compiled}, Facts: facts}}
	untrusted := []historyv1.ContentLabel{{Name: "untrusted"}}
	for _, m := range []historyv1.CallMoment{
		{Seq: 1, Kind: historyv1.CallPlanned, ToolCall: "r", Tool: "read", Arguments: `{}`},
		{Seq: 1, Kind: historyv1.CallPlanned, ToolCall: "w", Tool: "write", Arguments: `{"path":"free"}`},
		{Seq: 2, Kind: historyv1.CallStarts, ToolCall: "w", Tool: "write", Arguments: `{"path":"free"}`, ContentLabels: untrusted},
		{Seq: 3, Kind: historyv1.CallDecided, ToolCall: "w", Tool: "write"},
		{Seq: 4, Kind: historyv1.CallPlanned, ToolCall: "w", Tool: "write", Arguments: `{"path":"secret"}`},
		{Seq: 5, Kind: historyv1.CallPlanned, ToolCall: "u", Tool: "write", Arguments: `{"path":"a"}`},
		{Seq: 6, Kind: historyv1.CallPlanned, ToolCall: "x", Tool: "write", Arguments: `{"path":1,"path":2}`},
		{Seq: 7, Kind: historyv1.CallPlanned, ToolCall: "f", Tool: "write", Arguments: `{"path":"free"}`},
	} {
		if err := run.add(t.Context(), historyv1.TranscriptCalls{}, m); err != nil {
			t.Fatal(err)
		}
	}
	var report Report
	run.report(&report)
	if report.Calls != 6 || report.Matched != 5 || report.Denied != 2 || report.Approvals != 1 || report.Unknown != 1 || report.Failed != 1 {
		t.Errorf("the report is %+v", report)
	}
	var got []string
	for _, f := range report.Findings {
		got = append(got, f.ToolCall+" "+string(f.Action))
	}
	want := []string{"w " + string(agent.PolicyRequireApproval), "w Deny", "u Unknown", "x Deny"}
	if !slices.Equal(got, want) {
		t.Errorf("the findings are %q, want %q", got, want)
	}
}
