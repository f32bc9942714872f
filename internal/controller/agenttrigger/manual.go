// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agenttrigger

import (
	"context"
	"fmt"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/trigger"
	"github.com/nestor-dev/nestor/internal/trigger/expr"
)

// reasonNotFired is the reason of the Event of a firing by a person that starts no work and is not dropped.
const reasonNotFired = "NotFired"

// request is the value of the annotation that fires a trigger.
type request struct {
	ID      string            `json:"id"`
	Body    any               `json:"body"`
	Headers map[string]string `json:"headers"`
	Object  map[string]any    `json:"object"`
	Old     map[string]any    `json:"oldObject"`
}

// fireByHand records the firing that a person has requested with an annotation, and removes the annotation. It reports whether the firing
// must wait.
func (r *Reconciler) fireByHand(ctx context.Context, t *v1alpha1.AgentTrigger) (waits bool, err error) {
	value := t.Annotations[v1alpha1.AnnotationFire]
	if value == "" {
		return false, nil
	}
	var asked request
	if err := utiljson.Unmarshal([]byte(value), &asked); err != nil || asked.ID == "" {
		r.Recorder.warn(t, reasonNotFired, `The annotation nestor.dev/fire must be JSON with an id: {"id": "..."}.`)
		return false, r.removeFire(ctx, t)
	}
	headers := make(map[string]string, len(asked.Headers))
	for name, value := range asked.Headers {
		headers[strings.ToLower(name)] = value
	}
	decision, err := r.Recorder.record(ctx, t, trigger.Firing{
		ID: trigger.ManualID(asked.ID), Time: r.Recorder.now(), Manual: true, User: t.Annotations[v1alpha1.AnnotationFireUser],
		Input: expr.Input{Body: asked.Body, Headers: headers, Object: asked.Object, OldObject: asked.Old},
	})
	if err != nil {
		return false, err
	}
	switch decision.Outcome {
	case trigger.Wait:
		return true, nil
	case trigger.NotMatched:
		r.Recorder.warn(t, reasonNotFired, "The condition of the trigger is false for this firing.")
	case trigger.Suspended:
		r.Recorder.warn(t, reasonNotFired, "The trigger is suspended.")
	}
	return false, r.removeFire(ctx, t)
}

// removeFire removes the annotations that fire a trigger.
func (r *Reconciler) removeFire(ctx context.Context, t *v1alpha1.AgentTrigger) error {
	if _, ok := t.Annotations[v1alpha1.AnnotationFire]; !ok {
		return nil
	}
	changed := t.DeepCopy()
	delete(changed.Annotations, v1alpha1.AnnotationFire)
	delete(changed.Annotations, v1alpha1.AnnotationFireUser)
	// The resource version makes sure that a newer request is not lost.
	if err := r.Client.Update(ctx, changed); err != nil {
		return fmt.Errorf("remove the annotation of trigger %s/%s: %w", t.Namespace, t.Name, err)
	}
	*t = *changed
	return nil
}
