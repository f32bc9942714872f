// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// The triggers of the workload.
const (
	triggerWork  = "by-hand" // starts tasks, fired with the annotation
	triggerBell  = "bell"    // posts messages to a chat of the same name, fired with the annotation
	triggerHook  = "hook"    // starts tasks, fired over HTTP at any replica
	triggerClock = "clock"   // starts a task every minute
	hookToken    = "secret"
)

// The number of firings of each trigger: one in firingInterval, but few enough that the history limit keeps all their
// tasks.
const (
	minFirings     = 3
	maxFirings     = 80
	firingInterval = 750 * time.Millisecond
)

// firing is a firing that the user requests. It is repeated until it is acknowledged.
type firing struct {
	trigger, id, text string
	// again reports that it is requested once more after it was acknowledged.
	again bool
}

// firer fires the triggers, each in order.
type firer struct {
	world   *world
	random  *rand.Rand
	firings map[string][]firing
	pace    time.Duration
}

// newFirer plans the firings. Those that start tasks are orders of the workload.
func newFirer(w *world) *firer {
	count := min(max(minFirings, int(w.settings.duration/firingInterval)), maxFirings)
	f := &firer{world: w, random: w.settings.random("triggers"), firings: map[string][]firing{}, pace: w.settings.duration / time.Duration(count)}
	for _, name := range f.triggers() {
		for i := range count {
			o := &order{name: fmt.Sprintf("%s%03d", name, i), fired: true}
			fired := firing{trigger: name, id: o.name, text: "Ding " + o.name, again: f.random.IntN(3) == 0}
			if name != triggerBell {
				work := &job{id: o.name + ".1", role: roleWorker, steps: []string{stepWrite, stepDone}, ends: []outcome{succeeds}}
				o.jobs, fired.text = []*job{work}, work.instruction()
				w.orders = append(w.orders, o)
			}
			f.firings[name] = append(f.firings[name], fired)
		}
	}
	return f
}

func (f *firer) triggers() []string {
	if f.world.fleet == nil { // operators that follow each other cannot serve webhooks at the same time
		return []string{triggerWork, triggerBell}
	}
	return []string{triggerWork, triggerBell, triggerHook}
}

// objects returns the triggers, and what they need.
func (f *firer) objects() []client.Object {
	chat := &v1beta1.AgentChat{ObjectMeta: named(triggerBell)}
	chat.Spec.Limits = v1beta1.ChatLimits{MaxDepth: 2}
	token := &corev1.Secret{ObjectMeta: named("hook"), StringData: map[string]string{"token": hookToken}}
	bell := webhookTrigger(triggerBell)
	bell.Spec.Task, bell.Spec.Message = nil, &v1beta1.TriggerMessage{Chat: triggerBell, Content: "{{ body.text }}"}
	clock := webhookTrigger(triggerClock)
	clock.Spec.Webhook, clock.Spec.Schedule = nil, &v1beta1.TriggerSchedule{Cron: "* * * * *"}
	clock.Spec.Task.Instruction = "Chaos job " + triggerClock + "-{{ trigger.id }}: 1 " + stepWrite + ", 2 " + stepDone
	return []client.Object{token, chat, webhookTrigger(triggerWork), bell, webhookTrigger(triggerHook), clock}
}

// webhookTrigger returns a trigger that starts a task with the text of the request as its instruction.
func webhookTrigger(name string) *v1beta1.AgentTrigger {
	t := &v1beta1.AgentTrigger{ObjectMeta: named(name)}
	t.Spec.Webhook = &v1beta1.TriggerWebhook{SecretKeyRef: v1beta1.SecretKeyRef{Name: "hook", Key: "token"}}
	t.Spec.Task = &v1beta1.TriggerTask{Role: roleWorker, Instruction: "{{ body.text }}"}
	t.Spec.SuccessfulTasksHistoryLimit, t.Spec.FailedTasksHistoryLimit = new(int32(100)), new(int32(100))
	return t
}

// run fires until all firings are acknowledged, or ctx ends.
func (f *firer) run(ctx context.Context) {
	var each sync.WaitGroup
	for _, name := range f.triggers() {
		random := rand.New(rand.NewPCG(f.random.Uint64(), 0)) // each has its own, because they run in parallel
		each.Go(func() {
			for _, fired := range f.firings[name] {
				f.fire(ctx, random, fired)
				if fired.again {
					f.fire(ctx, random, fired)
				}
				pause(ctx, f.pace)
			}
		})
	}
	each.Wait()
}

// fire requests a firing until it is acknowledged.
func (f *firer) fire(ctx context.Context, random *rand.Rand, fired firing) {
	if fired.trigger == triggerHook {
		for !f.post(ctx, random, fired) && ctx.Err() == nil {
			pause(ctx, 100*time.Millisecond)
		}
		return
	}
	for requested := false; ctx.Err() == nil; pause(ctx, 50*time.Millisecond) {
		var t v1beta1.AgentTrigger
		if err := f.world.stack.API.Get(ctx, client.ObjectKey{Namespace: namespace, Name: fired.trigger}, &t); err != nil {
			continue // the API server may be unavailable
		}
		if t.Annotations[v1beta1.AnnotationFire] != "" {
			continue
		}
		if requested {
			return // the operator has removed the annotation
		}
		t.Annotations = map[string]string{v1beta1.AnnotationFire: fired.annotation()}
		requested = f.world.stack.API.Update(ctx, &t) == nil // otherwise it is requested again, with the same id
	}
}

func (f firing) annotation() string {
	return encode(map[string]any{"id": f.id, "body": map[string]string{"text": f.text}})
}

// post sends a firing to one of the replicas. It reports whether the replica has acknowledged it.
func (f *firer) post(ctx context.Context, random *rand.Rand, fired firing) bool {
	doors := f.world.fleet.doors()
	if len(doors) == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second) // a replica may be suspended
	defer cancel()
	address := "http://" + doors[random.IntN(len(doors))] + "/hooks/" + namespace + "/" + fired.trigger
	body := []byte(encode(map[string]string{"text": fired.text}))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return false
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+hookToken)
	request.Header.Set("Idempotency-Key", fired.id)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode == http.StatusAccepted || response.StatusCode == http.StatusOK // OK: it was recorded by an earlier request
}

func encode(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // cannot fail
	}
	return string(text)
}

// stopClock suspends the trigger with a schedule, so that the checks read a world that does not change.
func (w *world) stopClock(ctx context.Context) error {
	return eventually(ctx, recoveryTimeout, func(ctx context.Context) error {
		clock := &v1beta1.AgentTrigger{ObjectMeta: named(triggerClock)}
		return w.stack.API.Patch(ctx, clock, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"suspend":true}}`)))
	})
}
