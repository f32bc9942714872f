// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agenttrigger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/conditions"
	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/trigger"
	"github.com/nestor-dev/nestor/internal/trigger/expr"
)

// The points between two durable steps of a firing, at which tests crash the process.
const (
	// AfterRecord: a firing is recorded, nothing is created.
	AfterRecord engine.Point = "after-record"
	// AfterCreate: the task or message is created, the record does not have its UID.
	AfterCreate engine.Point = "after-create"
	// AfterClaim: the record has the UID, the work may not start.
	AfterClaim engine.Point = "after-claim"
	// AfterRelease: the work may start, the record still has the firing.
	AfterRelease engine.Point = "after-release"
)

// Points returns all points of a firing.
func Points() []engine.Point {
	return []engine.Point{AfterRecord, AfterCreate, AfterClaim, AfterRelease}
}

// attempts is how often a decision is made again because another one was recorded in between.
const attempts = 20

// Recorder records firings in the statuses of triggers. Every operator may record firings of every trigger; the one
// that owns the trigger acts on them.
type Recorder struct {
	// Client reads from the cache, API from the API server.
	Client client.Client
	API    client.Reader
	// Evaluations evaluates the expressions of triggers.
	Evaluations *Evaluator
	// Events records the Events of firings that start no work; if nil, none are emitted.
	Events recorder.EventRecorder
	// Now returns the time; nil means time.Now.
	Now func() time.Time
	// Reached is called at each point; optional.
	Reached func(engine.Point)
}

func (r *Recorder) now() time.Time {
	if r.Now != nil {
		return r.Now()
	}
	return time.Now()
}

func (r *Recorder) reached(p engine.Point) {
	if r.Reached != nil {
		r.Reached(p)
	}
}

// Fire decides about a firing of a trigger and records the decision. If it returns trigger.Fired, the work will be
// started, whatever happens to this process. The UID identifies the trigger that the caller has read; empty means any.
func (r *Recorder) Fire(ctx context.Context, name types.NamespacedName, uid types.UID, f trigger.Firing) (trigger.Decision, error) {
	var t v1beta1.AgentTrigger
	err := r.Client.Get(ctx, name, &t)
	for range attempts {
		if err != nil || uid != "" && t.UID != uid { // the cache may not have the trigger yet
			t = v1beta1.AgentTrigger{}
			err = r.API.Get(ctx, name, &t)
		}
		if err != nil {
			return trigger.Decision{}, fmt.Errorf("get the trigger %s: %w", name, err)
		}
		if uid != "" && t.UID != uid || !t.DeletionTimestamp.IsZero() {
			return trigger.Decision{}, apierrors.NewNotFound(v1beta1.GroupVersion.WithResource("agenttriggers").GroupResource(), name.Name)
		}
		var decision trigger.Decision
		decision, err = r.record(ctx, &t, f, r.evaluateNow)
		if !apierrors.IsConflict(err) {
			return decision, err
		}
	}
	return trigger.Decision{Outcome: trigger.Wait}, nil // the trigger is written all the time
}

// evaluate evaluates the expressions of a trigger for a firing. It reports false if the result is not known yet.
type evaluate func(ctx context.Context, t *v1beta1.AgentTrigger, program *trigger.Program, f trigger.Firing) (result, bool)

// evaluateNow is for callers that may wait.
func (r *Recorder) evaluateNow(ctx context.Context, t *v1beta1.AgentTrigger, program *trigger.Program, f trigger.Firing) (result, bool) {
	return r.Evaluations.now(ctx, t.Namespace, program, f), true
}

// evaluateLater is for reconciles: a trigger whose expressions take long must not keep a worker from other triggers.
func (r *Recorder) evaluateLater(_ context.Context, t *v1beta1.AgentTrigger, program *trigger.Program, f trigger.Firing) (result, bool) {
	return r.Evaluations.later(t, program, f)
}

// record decides about a firing of a trigger that was just read, and writes the decision. A firing that is not
// evaluated yet must wait.
func (r *Recorder) record(ctx context.Context, t *v1beta1.AgentTrigger, f trigger.Firing, how evaluate) (trigger.Decision, error) {
	f.FillTrigger(client.ObjectKeyFromObject(t))
	now := r.now()
	next, err := r.refresh(ctx, t, now)
	if err != nil {
		return trigger.Decision{}, err
	}
	before := next
	next, decision := r.decide(ctx, t, next, now, f, how)
	if equality.Semantic.DeepEqual(before, next) {
		return decision, nil // nothing to record
	}
	if err := r.write(ctx, t, r.complete(t, next, now)); err != nil {
		return trigger.Decision{}, err
	}
	if decision.Outcome == trigger.Fired {
		r.reached(AfterRecord)
	}
	if decision.Outcome == trigger.Dropped {
		r.warn(t, string(decision.Reason), "Firing "+f.ID+" was dropped: "+decision.Message)
	}
	return decision, nil
}

// decide evaluates the expressions of a trigger for a firing and decides about it.
func (r *Recorder) decide(ctx context.Context, t *v1beta1.AgentTrigger, current v1beta1.AgentTriggerStatus, now time.Time, f trigger.Firing, how evaluate) (v1beta1.AgentTriggerStatus, trigger.Decision) {
	if t.Spec.Suspend {
		return current, trigger.Decision{Outcome: trigger.Suspended}
	}
	drop := func(err error) (v1beta1.AgentTriggerStatus, trigger.Decision) {
		return trigger.Drop(t.Spec, current, now, f, v1beta1.DropExpressionFailed, err.Error())
	}
	program, err := r.Evaluations.programs.Now(t)
	if err != nil {
		return drop(err)
	}
	evaluated, known := how(ctx, t, program, f)
	switch {
	case !known || ctx.Err() != nil: // a cancelled evaluation has no verdict on the firing
		return current, trigger.Decision{Outcome: trigger.Wait}
	case evaluated.err != nil:
		return drop(evaluated.err)
	case !evaluated.matches:
		return current, trigger.Decision{Outcome: trigger.NotMatched}
	}
	evaluated.work.ReportTo = reportObject(t.Spec, f)
	return trigger.Decide(trigger.Identity{Name: t.Name, UID: t.UID}, t.Spec, current, now, f, evaluated.work)
}

// refresh returns the status of a trigger with the schedule that applies now, without confirmed firings, and without
// work that has ended.
func (r *Recorder) refresh(ctx context.Context, t *v1beta1.AgentTrigger, now time.Time) (v1beta1.AgentTriggerStatus, error) {
	next := trigger.Observe(t.Spec, t.Status, t.CreationTimestamp.Time, now)
	var pending []v1beta1.PendingFiring
	for _, p := range next.Pending {
		confirmed, err := r.isConfirmed(ctx, t, p)
		if err != nil {
			return next, err
		}
		if !confirmed {
			pending = append(pending, p)
		}
	}
	next.Pending = pending
	var active []string
	for _, name := range next.Active {
		if !slices.ContainsFunc(pending, func(p v1beta1.PendingFiring) bool { return p.Name == name }) {
			ended, err := r.hasEnded(ctx, t, name)
			if err != nil {
				return next, err
			}
			if ended {
				continue
			}
		}
		active = append(active, name)
	}
	next.Active = active
	return next, nil
}

// complete sets what follows from the rest of a status: the next time and the condition.
func (r *Recorder) complete(t *v1beta1.AgentTrigger, next v1beta1.AgentTriggerStatus, now time.Time) v1beta1.AgentTriggerStatus {
	program, err := r.Evaluations.programs.Now(t)
	next.NextScheduleTime = nil
	if err == nil && program.Schedule != nil && !t.Spec.Suspend {
		if at := trigger.NextTime(program.Schedule, next, now); !at.IsZero() {
			next.NextScheduleTime = &metav1.Time{Time: at}
		}
	}
	// A problem with a watch, a Secret or a creation stays until it is known to be over.
	c := meta.FindStatusCondition(next.Conditions, v1beta1.ConditionReady)
	if c == nil || c.ObservedGeneration != t.Generation || !isRuntimeProblem(c.Reason) {
		setCondition(&next, readiness(t, err))
	}
	return next
}

func isRuntimeProblem(reason string) bool {
	switch reason {
	case v1beta1.ReasonKindNotFound, v1beta1.ReasonWatchNotAllowed, v1beta1.ReasonCreationRefused, v1beta1.ReasonSecretNotFound:
		return true
	}
	return false
}

// setCondition sets the Ready condition, and the generation that it is about.
func setCondition(status *v1beta1.AgentTriggerStatus, c metav1.Condition) {
	status.ObservedGeneration = c.ObservedGeneration
	status.Conditions = conditions.Set(status.Conditions, "AgentTrigger", c, metav1.Now())
}

// readiness returns the condition of a trigger that follows from its spec.
func readiness(t *v1beta1.AgentTrigger, compileError error) metav1.Condition {
	var located *expr.Error
	switch {
	case errors.As(compileError, &located):
		return status.NotReady(t.Generation, v1beta1.ReasonInvalidExpression, compileError.Error())
	case compileError != nil:
		return status.NotReady(t.Generation, v1beta1.ReasonInvalidSpec, compileError.Error())
	}
	c := status.Ready(t.Generation, "The trigger fires.")
	if t.Spec.Suspend {
		c.Reason, c.Message = v1beta1.ReasonSuspended, "The trigger does not fire: spec.suspend is true."
	}
	return c
}

func (r *Recorder) write(ctx context.Context, t *v1beta1.AgentTrigger, next v1beta1.AgentTriggerStatus) error {
	if equality.Semantic.DeepEqual(t.Status, next) {
		return nil
	}
	before := t.Status
	t.Status = next
	if err := r.Client.Status().Update(ctx, t); err != nil { // an object that is gone is an error: nothing was recorded
		t.Status = before
		return fmt.Errorf("write the status of trigger %s/%s: %w", t.Namespace, t.Name, err)
	}
	return nil
}

func (r *Recorder) warn(t *v1beta1.AgentTrigger, reason, note string) {
	if r.Events != nil {
		r.Events.Eventf(t, nil, corev1.EventTypeWarning, reason, "Fire", "%s", note)
	}
}

// find reads a task or message that belongs to a trigger. It confirms with the API server that an object does not
// exist: the cache may be stale. It returns nil if there is none, or if an object of that name belongs to another
// owner.
func (r *Recorder) find(ctx context.Context, t *v1beta1.AgentTrigger, kind v1beta1.TargetKind, name string) (client.Object, error) {
	key := types.NamespacedName{Namespace: t.Namespace, Name: name}
	object := newObject(kind)
	err := r.Client.Get(ctx, key, object)
	if apierrors.IsNotFound(err) {
		err = r.API.Get(ctx, key, object)
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get %s %s: %w", kind, key, err)
	case !belongsTo(object, t.UID):
		return nil, nil
	}
	return object, nil
}

func newObject(kind v1beta1.TargetKind) client.Object {
	if kind == v1beta1.TargetMessage {
		return &v1beta1.AgentMessage{}
	}
	return &v1beta1.AgentTask{}
}

// belongsTo reports whether a trigger with a UID created an object. A task also has it as its owner.
func belongsTo(object client.Object, trigger types.UID) bool {
	if cluster.TriggerUID(object) != string(trigger) {
		return false
	}
	if _, isTask := object.(*v1beta1.AgentTask); isTask {
		ref := metav1.GetControllerOf(object)
		return ref != nil && ref.UID == trigger
	}
	return true
}

// isConfirmed reports whether the work of a recorded firing may start, or has started: its object was claimed and
// released.
func (r *Recorder) isConfirmed(ctx context.Context, t *v1beta1.AgentTrigger, p v1beta1.PendingFiring) (bool, error) {
	if p.UID == "" {
		return false, nil
	}
	object, err := r.find(ctx, t, p.Kind, p.Name)
	if err != nil {
		return false, err
	}
	return object == nil || string(object.GetUID()) != p.UID || !cluster.IsHeld(object), nil
}

// hasEnded reports whether a task has ended, or a message was handled, or does not exist any more.
func (r *Recorder) hasEnded(ctx context.Context, t *v1beta1.AgentTrigger, name string) (bool, error) {
	kinds := []v1beta1.TargetKind{v1beta1.TargetTask, v1beta1.TargetMessage}
	if t.Spec.Message != nil {
		slices.Reverse(kinds)
	}
	for _, kind := range kinds { // the target of the trigger may have changed since
		object, err := r.find(ctx, t, kind, name)
		if err != nil {
			return false, err
		}
		if object != nil {
			return ended(object), nil
		}
	}
	return true, nil
}
