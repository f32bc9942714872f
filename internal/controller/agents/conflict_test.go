// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/client/kube"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/projection"
)

// The last status write of a task conflicts with a concurrent change. A finished task gets no more events, so the
// controller must requeue it.
func TestConflictingEndIsRequeued(t *testing.T) {
	task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "task"}}
	reconciler, api := reconcilerWith(t, task)
	read := func() *v1beta1.AgentTask {
		t.Helper()
		var found v1beta1.AgentTask
		if err := api.Get(t.Context(), client.ObjectKeyFromObject(task), &found); err != nil {
			t.Fatal(err)
		}
		return &found
	}
	exit := func(task *v1beta1.AgentTask) (ctrl.Result, error) {
		f := &facts{Run: projection.TaskRun(task.DeepCopy()), before: projection.TaskRun(task)}
		f.Show(agent.State{Phase: agent.PhaseCompleted, Clock: agent.Clock{Started: 1000, Now: 2000}, Outcome: &agent.Outcome{Result: &agent.Result{Summary: "done"}}}, f.work)
		return reconciler.exit(t.Context(), f, nil)
	}
	stale, changed := read(), read()
	changed.Labels = map[string]string{"somebody": "else"}
	if err := api.Update(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	result, err := exit(stale)
	if err != nil || result.IsZero() {
		t.Errorf("after a conflict the reconcile ends with %+v (%v): want a requeue", result, err)
	}
	if phase := read().Status.Phase; phase != "" {
		t.Fatalf("the phase is %s: the write did not meet a conflict", phase)
	}
	if _, err := exit(read()); err != nil {
		t.Fatal(err)
	}
	if phase := read().Status.Phase; phase != v1beta1.TaskSuccess {
		t.Errorf("the final phase is %s", phase)
	}
}

// The API server checks quotas before names: a sub-agent that is missing from the cache may have filled the quota.
func TestExistingSubAgentIsNotRefused(t *testing.T) {
	task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "work", UID: "task"}}
	sub := &v1beta1.SubAgent{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "work", OwnerReferences: []metav1.OwnerReference{
		*metav1.NewControllerRef(task, v1beta1.GroupVersion.WithKind("AgentTask"))}}}
	_, live := reconcilerWith(t, task, sub)
	_, empty := reconcilerWith(t, task)
	reconciler, cached := reconcilerWith(t, task)
	reconciler.Runner.Client = interceptor.NewClient(cached.(client.WithWatch), interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "subagents"}, object.GetName(), errors.New("exceeded quota: few"))
		},
	})
	reconciler.Runner.API = live
	if err := reconciler.create(t.Context(), task, sub.DeepCopy()); err != nil {
		t.Errorf("the task fails although its sub-agent exists: %v", err)
	}
	reconciler.Runner.API = empty
	if err := reconciler.create(t.Context(), task, sub.DeepCopy()); err == nil || !strings.Contains(err.Error(), "exceeded quota") {
		t.Errorf("a sub-agent that is refused: %v", err)
	}
}

func reconcilerWith(t *testing.T, tasks ...client.Object) (*Reconciler, client.Client) {
	t.Helper()
	api := fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithStatusSubresource(&v1beta1.AgentTask{}).WithObjects(tasks...).Build()
	runner := &Runner{Reader: cluster.Reader{Cache: api, API: api}, Client: api, Status: &status.Writer{Client: api, Pace: status.NewPace()}}
	return &Reconciler{Runner: runner, Unresolved: &cluster.Unresolved{}}, api
}
