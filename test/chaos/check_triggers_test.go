// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// checkFirings checks that every firing that was acknowledged has started work once. That the work ran once is checked
// with the agents, the messages and the tools.
func (w *world) checkFirings(ctx context.Context) error {
	found, err := w.objects(ctx)
	if err != nil {
		return err
	}
	var wrong problems
	for i := range found.triggers.Items {
		t := &found.triggers.Items[i]
		ids := found.firingsOf(t)
		if len(t.Status.Pending) > 0 {
			wrong.add("the firing %s of trigger %s is still recorded", t.Status.Pending[0].ID, t.Name)
		}
		if t.Status.Firings != int64(len(ids)) {
			wrong.add("trigger %s has fired %d times, but started work for %d firings: %v", t.Name, t.Status.Firings, len(ids), ids)
		}
		if t.Name == triggerClock {
			checkClock(&wrong, t)
			continue
		}
		if t.Status.Dropped > 0 {
			wrong.add("trigger %s has dropped %d firings, the last one because %s", t.Name, t.Status.Dropped, t.Status.LastDrop.Message)
		}
		w.checkAcknowledged(&wrong, t.Name, ids)
	}
	return wrong.err()
}

// checkAcknowledged compares the firings that the user has requested with the work of a trigger.
func (w *world) checkAcknowledged(wrong *problems, trigger string, ids []string) {
	var want []string
	for _, f := range w.firer.firings[trigger] {
		want = append(want, f.id)
	}
	slices.Sort(want)
	var got []string
	for _, id := range ids {
		got = append(got, id[1:]) // the first letter is the source
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		wrong.add("trigger %s has started work for the firings %v, want %v", trigger, got, want)
	}
}

// checkClock checks that every minute since the creation of a trigger has fired or was dropped, and none twice.
func checkClock(wrong *problems, t *v1beta1.AgentTrigger) {
	minutes := int64(0)
	if last := t.Status.LastScheduleTime; last != nil {
		minutes = int64(last.Sub(t.CreationTimestamp.Truncate(time.Minute)) / time.Minute)
	}
	if decided := t.Status.Firings + t.Status.Dropped; decided != minutes {
		wrong.add("trigger %s has fired %d and dropped %d of %d minutes", t.Name, t.Status.Firings, t.Status.Dropped, minutes)
	}
}

// firingsOf returns the ids of the firings whose work exists and may start, one for each task and message.
func (o *objects) firingsOf(t *v1beta1.AgentTrigger) []string {
	var ids []string
	for _, object := range o.all() {
		id, ours := strings.CutPrefix(object.GetAnnotations()[v1beta1.AnnotationFiring], string(t.UID)+"/")
		if ours && !slices.Contains(object.GetFinalizers(), v1beta1.FinalizerFiring) {
			ids = append(ids, id)
		}
	}
	return ids
}

func isFired(o client.Object) bool { return o.GetAnnotations()[v1beta1.AnnotationFiring] != "" }
