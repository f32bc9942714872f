// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package agentevaluation runs AgentEvaluations: each candidate revision of a gated role does the work of recorded runs again, beside the
// promoted one, in forks.
//
// The names of the forks follow from the evaluation, both revisions and the recorded run. So nothing has to be remembered between reconciles:
// each compares the tasks that must exist with those that do, and the verdict is written once, when all have ended. The name of a judge's task
// follows from the fork that it judges.
package agentevaluation

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/evaluation"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/suite"
	"github.com/nestor-dev/nestor/internal/trigger/expr"
)

// workers is the number of evaluations that are reconciled in parallel.
const workers = 4

// The points between two durable steps of an evaluation, at which tests crash the process.
const (
	// AfterTrial: the task of a trial exists, and the next one does not.
	AfterTrial engine.Point = "after-trial"
	// AfterVerdict: the verdict is written, and the role does not follow it.
	AfterVerdict engine.Point = "after-verdict"
)

// Points returns all points of an evaluation.
func Points() []engine.Point { return []engine.Point{AfterTrial, AfterVerdict} }

// Reconciler runs AgentEvaluations.
type Reconciler struct {
	Client client.Client
	// Live reads without the cache.
	Live   client.Reader
	Status *status.Writer
	Finder resolve.Finder
	Gate   cluster.Gate
	// Ledger has the histories of runs, and keeps those of cases.
	Ledger interface {
		ledger.Histories
		Pin(ctx context.Context, uids []string, until time.Time) error
	}
	// Changed queues the evaluations to reconcile.
	Changed *cluster.Queue
	// Judged is called with each verdict, after its status was written.
	Judged func(v1beta1.AgentEvaluationStatus)
	// Reached is called at each point.
	Reached func(engine.Point)

	slots  *evaluation.Slots
	suites *evaluation.Programs[*v1beta1.AgentEvaluation, *suite.Suite]
	trials trials
	pins   pins
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.slots = evaluation.NewSlots(expr.Timeout)
	r.suites = evaluation.NewPrograms(r.slots, func(e *v1beta1.AgentEvaluation) (*suite.Suite, error) { return suite.Compile(e.Spec) }, r.Changed.Add)
	return ctrl.NewControllerManagedBy(mgr).
		Named("agentevaluation").
		For(&v1beta1.AgentEvaluation{}, builder.WithPredicates(cluster.Edited())).
		Watches(&v1beta1.AgentRole{}, handler.EnqueueRequestsFromMapFunc(r.evaluationsOf)).
		Watches(&v1beta1.AgentTask{}, handler.EnqueueRequestsFromMapFunc(r.evaluationsUsing), builder.WithPredicates(taskChanged())).
		WatchesRawSource(r.Changed.Source()).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: cluster.Backoff()}).
		Complete(r.Gate.Object(&v1beta1.AgentEvaluation{}, r))
}

// taskChanged selects tasks that end, or are deleted.
func taskChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return ended(e.Object) }, // a watch that was interrupted has missed the update
		UpdateFunc: func(e event.UpdateEvent) bool {
			return ended(e.ObjectNew) && !ended(e.ObjectOld) || e.ObjectOld.GetUID() != e.ObjectNew.GetUID()
		},
	}
}

func ended(object client.Object) bool {
	task, ok := object.(*v1beta1.AgentTask)
	return ok && task.Status.CompletionTime != nil
}

// evaluationsOf returns the evaluations of a role, and those that it judges.
func (r *Reconciler) evaluationsOf(ctx context.Context, role client.Object) []reconcile.Request {
	return r.requests(ctx, role.GetNamespace(), func(e *v1beta1.AgentEvaluation) bool {
		return e.Spec.Role == role.GetName() || e.Spec.Judge == role.GetName()
	})
}

// evaluationsUsing returns the evaluation that has created a task, or those whose cases wait for a recorded run.
func (r *Reconciler) evaluationsUsing(ctx context.Context, task client.Object) []reconcile.Request {
	if name := task.GetLabels()[v1beta1.LabelEvaluation]; name != "" {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: task.GetNamespace(), Name: name}}}
	}
	return r.requests(ctx, task.GetNamespace(), func(e *v1beta1.AgentEvaluation) bool { return e.Status.ResolvedGeneration != e.Generation })
}

func (r *Reconciler) requests(ctx context.Context, namespace string, wanted func(*v1beta1.AgentEvaluation) bool) []reconcile.Request {
	var list v1beta1.AgentEvaluationList
	if err := r.Client.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil // the cache is not ready; its events will follow
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if wanted(&list.Items[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}

// +kubebuilder:rbac:groups=nestor.dev,resources=agentevaluations,verbs=get;list;watch
// +kubebuilder:rbac:groups=nestor.dev,resources=agentevaluations/status,verbs=get;update
// +kubebuilder:rbac:groups=nestor.dev,resources=agentevaluations/finalizers,verbs=update
// +kubebuilder:rbac:groups=nestor.dev,resources=agenttasks,verbs=get;list;watch;create;delete

// Reconcile brings the evaluation of the current candidate forward, and writes the status.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var e v1beta1.AgentEvaluation
	err := r.Client.Get(ctx, req.NamespacedName, &e)
	if apierrors.IsNotFound(err) {
		r.suites.Remove(req.NamespacedName)
		r.trials.forget(req.NamespacedName)
		r.pins.forget(req.NamespacedName)
	}
	if err != nil || !e.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	compiled, known, problem := r.suites.Get(&e)
	if !known {
		r.suites.Later(e.DeepCopy())
		return ctrl.Result{}, nil
	}
	before := e.DeepCopy()
	ready, err := r.evaluate(ctx, &e, compiled, problem)
	if err != nil {
		return status.Result(err)
	}
	renew, err := r.pin(ctx, &e)
	if err != nil {
		return ctrl.Result{}, err
	}
	setConditions(&e, ready)
	judged := e.Status.Verdict != "" && before.Status.Verdict == ""
	result, err := r.Status.Write(ctx, before, &e, isProgress(before, &e))
	if err == nil && result.IsZero() && judged {
		r.trials.forget(req.NamespacedName)
		r.Judged(e.Status)
		r.Reached(AfterVerdict)
	}
	if err == nil && result.IsZero() {
		result.RequeueAfter = renew
	}
	return result, err
}

// evaluate changes the status of an evaluation, and its tasks. It returns the Ready condition.
func (r *Reconciler) evaluate(ctx context.Context, e *v1beta1.AgentEvaluation, compiled *suite.Suite, problem error) (metav1.Condition, error) {
	if problem != nil {
		return status.NotReady(e.Generation, v1beta1.ReasonInvalidExpression, problem.Error()+"."), nil //nolint:nilerr // the condition has it
	}
	var role v1beta1.AgentRole
	name := types.NamespacedName{Namespace: e.Namespace, Name: e.Spec.Role}
	if err := r.Client.Get(ctx, name, &role); apierrors.IsNotFound(err) {
		return status.NotReady(e.Generation, v1beta1.ReasonRoleNotFound, fmt.Sprintf("Create the AgentRole %s in this namespace: an evaluation is about one of its own namespace.", e.Spec.Role)), nil
	} else if err != nil {
		return metav1.Condition{}, fmt.Errorf("get the role %s: %w", name, err)
	}
	if !r.Finder.Gated(&role) {
		return status.NotReady(e.Generation, v1beta1.ReasonInvalidSpec, fmt.Sprintf("The role %s is not gated, so every change is used at once and there is no candidate: set its promotion mode to Gated.", role.Name)), nil
	}
	judgeRevision, notReady, err := r.judgeOf(ctx, e)
	if err != nil {
		return metav1.Condition{}, err
	}
	if notReady != nil {
		return *notReady, nil
	}
	if e.Status.ResolvedGeneration != e.Generation {
		runs, missing, err := r.resolve(ctx, e)
		if err != nil {
			return metav1.Condition{}, err
		}
		if missing != "" {
			return status.NotReady(e.Generation, v1beta1.ReasonCasesNotFound, missing), nil
		}
		begin(&e.Status, "", "")
		e.Status.Runs, e.Status.ResolvedGeneration = runs, e.Generation
	}
	candidate, baseline := candidateOf(&role)
	s := &e.Status
	switch {
	case candidate == "" && s.Verdict == "":
		begin(s, "", "") // the candidate was replaced before there was a verdict
	case candidate != "" && (s.CandidateRevision != candidate || s.BaselineRevision != baseline):
		begin(s, candidate, baseline)
		s.StartTime = now()
	}
	if s.Verdict != "" {
		return readyOf(e, &role), nil
	}
	if s.CandidateRevision != "" {
		s.JudgeRevision = judgeRevision
	}
	if err := r.advance(ctx, e, compiled); err != nil {
		return metav1.Condition{}, err
	}
	return readyOf(e, &role), nil
}

// candidateOf returns the revision of a role that waits for its promotion, and the promoted one. A revision that a user has replaced is no
// candidate.
func candidateOf(role *v1beta1.AgentRole) (candidate, baseline string) {
	s := role.Status
	if s.ObservedGeneration != role.Generation || s.PromotedRevision == "" || s.CurrentRevision == s.PromotedRevision || s.CurrentRevision == s.RejectedRevision {
		return "", ""
	}
	return s.CurrentRevision, s.PromotedRevision
}
