// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/quota"
)

// act carries out a verdict, and computes the status.
func (r *Reconciler) act(ctx context.Context, f *facts, v verdict) error {
	if err := r.stop(ctx, f, v.stop); err != nil {
		return err
	}
	switch v.verb {
	case begin:
		return r.begin(ctx, f)
	case wait:
		c := meta.FindStatusCondition(f.sub.Status.Conditions, v1beta1.ConditionSucceeded)
		if c != nil { // otherwise the sub-agent is about to start
			f.WaitForSubAgent(f.sub, *c)
		}
	case show:
		return r.show(ctx, f)
	case fail:
		f.Fail(v.failure, f.now)
	}
	return nil
}

// stop stops the work of an object.
func (r *Reconciler) stop(ctx context.Context, f *facts, why stop) error {
	switch {
	case why == endDeleted:
		ended, err := r.Runner.Engine.EndIfDeleted(ctx, f.uid)
		log.FromContext(ctx).V(1).Info("Ends an agent below a deleted object", "uid", f.uid, "confirmed", ended)
		return err
	case why == cancel && f.sub == nil:
		return r.Runner.Engine.Deliver(f.uid, agent.Cancelled{User: CancelledBy(f)})
	case why == cancel:
		f.sub.Spec.Cancel = true
		metav1.SetMetaDataAnnotation(&f.sub.ObjectMeta, v1beta1.AnnotationCancelledBy, CancelledBy(f))
		if err := client.IgnoreNotFound(r.Runner.Client.Update(ctx, f.sub)); err != nil {
			return fmt.Errorf("cancel sub-agent %s/%s: %w", f.sub.Namespace, f.sub.Name, err)
		}
	}
	return nil
}

// show applies the state of an agent or tool run, and shows it. A task shows one ask of the agents below it.
func (r *Reconciler) show(ctx context.Context, f *facts) error {
	var applied error
	switch {
	case f.SubAgent != nil:
		applied = r.Runner.Apply(ctx, Owner{Object: f.Object, Chat: f.Chat, Parent: f.GetName()}, f.state)
	case !f.delegates():
		applied = r.Runner.Apply(ctx, Owner{Object: f.Object, Chat: f.Chat}, f.state)
	}
	f.Show(f.state, f.work)
	if len(f.asks) > 0 {
		f.ShowAsk(f.asks[0].Agent.Name, f.asks[0].AskPerson, f.asks[0].Since)
	}
	return applied
}

// startError is the reason why work never starts with the current spec.
type startError struct{ v1beta1.RunError }

func (e *startError) Error() string { return e.Message }

func startErrorf(kind v1beta1.ErrorKind, format string, args ...any) error {
	return &startError{v1beta1.RunError{Kind: kind, Message: fmt.Sprintf(format, args...)}}
}

// begin begins the work of an object, or shows why it cannot begin. A missing reference may never exist, so cancelled
// work does not wait for it.
func (r *Reconciler) begin(ctx context.Context, f *facts) error {
	err := r.start(ctx, f)
	var missing *resolve.Missing
	var cannot *startError
	switch waits, never := errors.As(err, &missing), errors.As(err, &cannot); {
	case (waits || never) && f.Cancel:
		f.Fail(v1beta1.RunError{Kind: v1beta1.ErrorCancelled, Message: "It was cancelled before it began."}, f.now)
	case waits:
		f.unresolved = true
		r.Runner.Engine.ReleaseSlot(f.uid) // free the slot for others while a reference is missing
		f.Wait(missing.Reason, missing.Message, f.now)
	case never:
		f.Fail(cannot.RunError, f.now)
	default:
		return err
	}
	return nil
}

func (r *Reconciler) start(ctx context.Context, f *facts) error {
	if f.Task != nil && f.lineage.Parent == nil { // a standalone task
		r.Runner.Finder.Begin(f.GetNamespace())
	}
	if f.delegates() {
		return r.createSubAgent(ctx, f.Task, f.lineage)
	}
	record, started, err := r.firstFact(ctx, f)
	if err != nil {
		return err
	}
	if f.Cancel { // a start may be in flight, so the ledger decides which came first
		return r.Runner.Engine.Start(record, started, agent.Cancelled{User: CancelledBy(f)})
	}
	return r.launch(ctx, f, record, started)
}

func (r *Reconciler) launch(ctx context.Context, f *facts, record ledger.Agent, started agent.Fact) error {
	if f.SubAgent != nil {
		if acquired, err := r.acquireSlot(ctx, f, record); err != nil || !acquired {
			return err
		}
	}
	confirmed, err := r.confirmStart(ctx, f, record)
	if confirmed {
		return r.Runner.Engine.Start(record, started)
	}
	r.Runner.Engine.ReleaseSlot(f.uid)
	return err // what has changed arrives with the watch
}

// confirmStart reads an object and those above it once from the API server before its first call, which costs money
// or changes something: the cache may have an object that was deleted, replaced, cancelled, or begun by another
// operator.
func (r *Reconciler) confirmStart(ctx context.Context, f *facts, record ledger.Agent) (bool, error) {
	live, above, err := r.Runner.Confirm(ctx, record)
	if err != nil || live == nil {
		return false, err
	}
	confirmed := *f
	confirmed.Run, confirmed.lineage = runOf(live), above
	v := judge(confirmed)
	if v.verb == fail {
		return false, &startError{v.failure}
	}
	return v.verb == begin && !confirmed.Cancel, nil
}

// acquireSlot gives a sub-agent a slot, or shows why it has to wait for one.
func (r *Reconciler) acquireSlot(ctx context.Context, f *facts, record ledger.Agent) (bool, error) {
	if err := r.Runner.Engine.CheckOwned(record.ShardHash); err != nil {
		return false, err // it starts when the shard is taken over
	}
	name := client.ObjectKeyFromObject(f)
	if r.Runner.Engine.AcquireSlot(record, func() { r.Changed.Add(name) }) {
		return true, nil
	}
	if q, ok := r.Runner.Engine.WaitsForActiveQuota(ctx, record.Namespace, record.UID); ok {
		f.Wait(v1beta1.ReasonQuotaExhausted, quota.TooManyActive(q), f.now)
		return false, nil
	}
	f.Wait(v1beta1.ReasonParallelLimit,
		"It starts when fewer sub-agents of the chat are active (limits.maxParallelTasks).", f.now)
	return false, nil
}
