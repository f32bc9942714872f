// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/kube"
)

func reader(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) client.Reader {
	t.Helper()
	byName := func(object client.Object) []string { return []string{object.GetName()} }
	return fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithIndex(&coordinationv1.Lease{}, "metadata.name", byName).WithObjects(objects...).WithInterceptorFuncs(funcs).Build()
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "team", Name: name}
}

func condition(kind string, status metav1.ConditionStatus, reason, message string) []metav1.Condition {
	return []metav1.Condition{{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.Now()}}
}

func newHeartbeat(age time.Duration, annotations map[string]string) *coordinationv1.Lease {
	renewed := metav1.NewMicroTime(time.Now().Add(-age))
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "nestor-system", Name: LeaseName, Annotations: annotations}, Spec: coordinationv1.LeaseSpec{RenewTime: &renewed}}
}

func find(t *testing.T, api client.Reader) []Problem {
	t.Helper()
	problems, err := Namespace{API: api, Name: "team", OperatorNamespace: "nestor-system", Heartbeat: &Observer{}}.Problems(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if p.Message == "" || p.Todo == "" {
			t.Errorf("%+v does not say what is wrong and what to do", p)
		}
	}
	return problems
}

func TestProblems(t *testing.T) {
	ready := condition(v1beta1.ConditionReady, metav1.ConditionTrue, v1beta1.ReasonReady, "")
	chat := func(name, provider string, conditions []metav1.Condition) *v1beta1.AgentChat {
		return &v1beta1.AgentChat{ObjectMeta: named(name), Spec: v1beta1.AgentChatSpec{ModelProvider: provider}, Status: v1beta1.AgentChatStatus{Conditions: conditions}}
	}
	provider := func(name, reason string) *v1beta1.ModelProvider {
		status := condition(v1beta1.ConditionReady, metav1.ConditionFalse, reason, "it does not respond")
		return &v1beta1.ModelProvider{ObjectMeta: named(name), Status: v1beta1.ModelProviderStatus{Conditions: status}}
	}
	shared := provider("shared", v1beta1.ReasonUnreachable)
	shared.Namespace = "nestor-system"
	task := &v1beta1.AgentTask{ObjectMeta: named("work"), Status: v1beta1.AgentTaskStatus{Conditions: condition(v1beta1.ConditionSucceeded, metav1.ConditionUnknown, v1beta1.ReasonLedgerUnavailable, "the ledger fails")}}
	quota := &v1beta1.AgentQuota{ObjectMeta: named("month"), Status: v1beta1.AgentQuotaStatus{Conditions: condition(v1beta1.ConditionReady, metav1.ConditionFalse, v1beta1.ReasonQuotaExhausted, "used up")}}
	server := &v1beta1.ToolServer{ObjectMeta: named("box"), Status: v1beta1.ToolServerStatus{Conditions: condition(v1beta1.ConditionReady, metav1.ConditionFalse, v1beta1.ReasonUnreachable, "no route")}}
	waiting := func(reason string) []metav1.Condition {
		return append(condition(v1beta1.ConditionReconciling, metav1.ConditionTrue, reason, "Attempt 1 failed"), ready...)
	}
	for name, tc := range map[string]struct {
		objects []client.Object
		want    []string
	}{
		"nothing":                       {[]client.Object{newHeartbeat(0, nil), chat("a", "", ready)}, nil},
		"no operator":                   {[]client.Object{newHeartbeat(time.Hour, nil)}, []string{"Operator/"}},
		"no ledger":                     {[]client.Object{newHeartbeat(0, map[string]string{AnnotationLedger: "LedgerFull", AnnotationLedgerAdvice: "free space"}), task}, []string{"Ledger/"}},
		"a ledger that blocks a task":   {[]client.Object{task}, []string{"Ledger/AgentTask work"}},
		"no provider":                   {[]client.Object{provider("default", v1beta1.ReasonUnreachable), chat("a", "", waiting(v1beta1.ReasonProviderUnavailable))}, []string{"Provider/ModelProvider default"}},
		"a provider that no one uses":   {[]client.Object{provider("other", v1beta1.ReasonUnreachable)}, nil},
		"a provider that a chat uses":   {[]client.Object{provider("other", v1beta1.ReasonUnauthorized), chat("a", "other", ready)}, []string{"Provider/ModelProvider other"}},
		"a shared provider":             {[]client.Object{shared, chat("a", "shared", ready)}, []string{"Provider/ModelProvider shared"}},
		"a call that is retried":        {[]client.Object{chat("a", "", waiting(v1beta1.ReasonProviderUnavailable)), chat("b", "", waiting(v1beta1.ReasonProviderUnavailable))}, []string{"Provider/AgentChat a"}},
		"a rate limit":                  {[]client.Object{chat("a", "", waiting(v1beta1.ReasonRateLimited))}, []string{"RateLimit/AgentChat a"}},
		"a quota, before a tool server": {[]client.Object{server, quota}, []string{"Quota/AgentQuota month", "ToolServer/ToolServer box"}},
		"a quota that a chat waits for": {[]client.Object{quota, chat("a", "", condition(v1beta1.ConditionReady, metav1.ConditionFalse, v1beta1.ReasonQuotaExhausted, "wait"))}, []string{"Quota/AgentQuota month"}},
		"a chat without a role is no problem of the system": {[]client.Object{chat("a", "", condition(v1beta1.ConditionReady, metav1.ConditionFalse, v1beta1.ReasonRoleNotFound, "create it"))}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, p := range find(t, reader(t, interceptor.Funcs{}, tc.objects...)) {
				got = append(got, p.Key())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("the problems differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProblemsWithoutPermissions(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", nil)
	api := reader(t, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return forbidden
		},
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return forbidden
		},
	})
	if problems := find(t, api); len(problems) > 0 {
		t.Errorf("a person without permissions sees %v", problems)
	}
}
