// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/cluster/clustertest"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// With any version of each kind in the cache, the judge fails, cancels and starts nothing without a reason that holds
// now.
func TestJudgeWithStaleCaches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := clustertest.DrawHistory(t)
		cache := clustertest.DrawView(t, h)
		r := &Reconciler{Runner: &Runner{Reader: cluster.Reader{Cache: cache, API: cluster.NewLive(h)}}}
		for _, live := range clustertest.Sorted(h.Now()) {
			object := cached(cache, live)
			if object == nil {
				continue
			}
			f, err := r.gatherObjects(context.Background(), object)
			if err != nil {
				t.Fatal(err)
			}
			f.started = f.uid != "" && rapid.Bool().Draw(t, "started")
			f.state.Phase = agent.PhaseNew
			if f.started {
				f.state.Phase = rapid.SampledFrom([]agent.Phase{agent.PhaseActing, agent.PhaseCancelling, agent.PhaseCompleted}).Draw(t, "phase")
			}
			checkVerdict(t, h, live, f, judge(*f))
			if judge(*f).verb == begin && !f.delegates() {
				checkLaunch(t, r, h, live, f)
			}
		}
	})
}

// cached returns the cached version of an object, or nil.
func cached(cache client.Reader, live client.Object) client.Object {
	if _, isChat := live.(*v1beta1.AgentChat); isChat {
		return nil
	}
	object, _ := reflect.New(reflect.TypeOf(live).Elem()).Interface().(client.Object)
	if cache.Get(context.Background(), client.ObjectKeyFromObject(live), object) != nil || object.GetUID() != live.GetUID() {
		return nil
	}
	return object
}

func checkVerdict(t *rapid.T, h *clustertest.History, live client.Object, f *facts, v verdict) {
	now := runOf(live)
	var sub *v1beta1.SubAgent // of a task
	for _, other := range h.Now() {
		if other, ok := other.(*v1beta1.SubAgent); ok && metav1.IsControlledBy(other, live) {
			sub = other
		}
	}
	if v.stop == cancel && !now.Cancel {
		t.Errorf("%s is cancelled without a request", live.GetUID())
	}
	if v.stop == endDeleted && !h.IsGone(live) {
		t.Errorf("%s is ended although its owners exist", live.GetUID())
	}
	if v.verb != fail || h.IsGone(live) {
		return
	}
	switch {
	case v.failure.Kind == v1beta1.ErrorHistoryLost && *now.StartTime != nil:
	case f.sub != nil && v.failure == *f.sub.Status.Error: // which does not change any more
	case f.delegates() && v.failure.Kind == v1beta1.ErrorCancelled && sub == nil:
	default:
		t.Errorf("%s fails without a reason: %+v", live.GetUID(), v.failure)
	}
}

// checkLaunch checks that what the API server confirms may start.
func checkLaunch(t *rapid.T, r *Reconciler, h *clustertest.History, live client.Object, f *facts) {
	kind := "SubAgent"
	if f.Task != nil {
		kind = "AgentTask"
	}
	record := ledger.Agent{UID: f.uid, Kind: kind, Namespace: live.GetNamespace(), Name: live.GetName()}
	starts, _ := r.confirmStart(context.Background(), f, record)
	now := runOf(live)
	may := live.GetDeletionTimestamp().IsZero() && !h.IsGone(live) && !now.Cancel && *now.StartTime == nil && *now.CompletionTime == nil
	if starts != may {
		t.Errorf("%s starts: %t, want %t", live.GetUID(), starts, may)
	}
}
