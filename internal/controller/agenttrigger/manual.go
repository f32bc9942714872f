// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agenttrigger

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/shorten"
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

// fireResult is the value of the annotation that has the result of a firing by a person that left nothing in the
// status.
type fireResult struct {
	// ID is the id of the request.
	ID string `json:"id"`
	// Outcome is NotMatched, Suspended, Duplicate or Invalid.
	Outcome trigger.Outcome `json:"outcome"`
	// Message is the reason, for people.
	Message string `json:"message"`
}

// outcomeInvalid is the outcome of a request that cannot be read, or of a trigger whose spec does not compile.
const outcomeInvalid trigger.Outcome = "Invalid"

// notFired are the messages of outcomes that leave nothing in the status.
var notFired = map[trigger.Outcome]string{
	trigger.NotMatched: "The condition of the trigger is false for this firing.",
	trigger.Suspended:  "The trigger is suspended.",
	trigger.Duplicate:  "A firing with this id or with the same value of dedupKey came a short time ago.",
}

// fireByHand records the firing that a person has requested with an annotation, and removes the annotation. It reports
// whether the firing must wait.
func (r *Reconciler) fireByHand(ctx context.Context, t *v1beta1.AgentTrigger) (waits bool, err error) {
	value := t.Annotations[v1beta1.AnnotationFire]
	if value == "" {
		return false, nil
	}
	var fire request
	if err := utiljson.Unmarshal([]byte(value), &fire); err != nil || fire.ID == "" {
		return false, r.refuseFire(ctx, t, fireResult{ID: fire.ID, Outcome: outcomeInvalid, Message: `The annotation nestor.dev/fire must be JSON with an id: {"id": "..."}.`})
	}
	headers := make(map[string]string, len(fire.Headers))
	for name, value := range fire.Headers {
		headers[strings.ToLower(name)] = value
	}
	id := trigger.ManualID(fire.ID)
	decision, err := r.Recorder.record(ctx, t, trigger.Firing{
		ID: id, Time: r.Recorder.now(), Manual: true, User: t.Annotations[v1beta1.AnnotationFireUser],
		Input: expr.Input{Body: fire.Body, Headers: headers, Object: fire.Object, OldObject: fire.Old},
	}, r.Recorder.evaluateLater)
	if err != nil {
		return false, err
	}
	if decision.Outcome == trigger.Wait {
		return true, nil
	}
	// After a crash, a firing that is recorded is a duplicate of itself.
	if message, ok := notFired[decision.Outcome]; ok && t.Status.LastFireID != id {
		return false, r.refuseFire(ctx, t, fireResult{ID: fire.ID, Outcome: decision.Outcome, Message: message})
	}
	return false, r.removeFire(ctx, t, nil)
}

// refuseFire ends a request to fire that starts no work and leaves nothing in the status.
func (r *Reconciler) refuseFire(ctx context.Context, t *v1beta1.AgentTrigger, result fireResult) error {
	if err := r.removeFire(ctx, t, &result); err != nil {
		return err
	}
	r.Recorder.warn(t, reasonNotFired, result.Message)
	return nil
}

// removeFire removes the annotations that fire a trigger, and replaces the result of an earlier request.
func (r *Reconciler) removeFire(ctx context.Context, t *v1beta1.AgentTrigger, result *fireResult) error {
	if _, ok := t.Annotations[v1beta1.AnnotationFire]; !ok {
		return nil
	}
	changed := t.DeepCopy()
	delete(changed.Annotations, v1beta1.AnnotationFire)
	delete(changed.Annotations, v1beta1.AnnotationFireUser)
	delete(changed.Annotations, v1beta1.AnnotationFireResult)
	if result != nil {
		text, err := json.Marshal(result)
		if err != nil {
			return fmt.Errorf("encode the result of a firing: %w", err)
		}
		changed.Annotations[v1beta1.AnnotationFireResult] = string(text)
	}
	// The resource version makes sure that a newer request is not lost.
	if err := r.Client.Update(ctx, changed); err != nil {
		return fmt.Errorf("remove the annotation of trigger %s/%s: %w", t.Namespace, t.Name, err)
	}
	*t = *changed
	return nil
}

// refuseInvalid ends a request to fire a trigger whose spec does not compile.
func (r *Reconciler) refuseInvalid(ctx context.Context, t *v1beta1.AgentTrigger, problem error) error {
	value, ok := t.Annotations[v1beta1.AnnotationFire]
	if !ok {
		return nil
	}
	var fire request
	_ = utiljson.Unmarshal([]byte(value), &fire) // without an id, no client waits for the result
	return r.refuseFire(ctx, t, fireResult{ID: fire.ID, Outcome: outcomeInvalid, Message: shorten.Head(problem.Error(), maxResultMessage)})
}

const maxResultMessage = 512
