// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/bench/drive"
	"github.com/nestor-dev/nestor/test/bench/measure"
	"github.com/nestor-dev/nestor/test/bench/report"
)

const (
	triggersPath = "/apis/nestor.dev/v1beta1/namespaces/" + namespace + "/agenttriggers"
	// triggerMinutes is the number of whole minutes in which triggers are measured.
	triggerMinutes = 2
	// triggerPoll is how often the driver reads the triggers while it waits for them.
	triggerPoll = time.Second
)

// Triggers measures n triggers that fire every minute. The task of the first firing waits for a role that does not
// exist, and concurrencyPolicy is Forbid: every later time is decided and recorded as dropped, and no work of agents is
// measured.
func Triggers(n int) Scenario {
	s := Scenario{
		Name: fmt.Sprintf("triggers-%d", n), Title: fmt.Sprintf("%d triggers with the schedule '* * * * *', for %d minutes", n, triggerMinutes), Tool: CalculatorTool,
		script: head(0) + chain + `- {match: {lastMessage: '/^Work/'}, reply: {toolCalls: [{name: submit_result, arguments: {result: Work done.}}]}}` + "\n", warm: "Success",
		lasts: (triggerMinutes + 3) * time.Minute,
	}
	s.run = func(ctx context.Context, r *harness, result *report.Result) error {
		began := time.Now()
		before, err := observeIdle(ctx, r)
		if err != nil {
			return err
		}
		if _, err := r.api.CreateAll(ctx, triggersPath, triggerBodies(n)); err != nil {
			return err
		}
		result.Created += int64(n)
		if err := r.waitForTriggers(ctx, n, isSuspended); err != nil {
			return fmt.Errorf("suspended triggers: %w", err)
		}
		suspended, err := observeIdle(ctx, r)
		if err != nil {
			return err
		}
		if err := r.resumeTriggers(ctx); err != nil {
			return err
		}
		if err := r.waitForTriggers(ctx, n, hasStarted); err != nil {
			return fmt.Errorf("first firings: %w", err)
		}
		firing, err := measureMinutes(ctx, r, result)
		if err != nil {
			return err
		}
		result.WallSeconds = time.Since(began).Seconds()
		result.Figures = append(result.Figures,
			report.Figure{Name: report.FigureTriggerMemory, Value: mebibytes(firing.memory - before.memory), Unit: "MiB"},
			report.Figure{Name: "memory of the triggers while suspended", Value: mebibytes(suspended.memory - before.memory), Unit: "MiB"},
			report.Figure{Name: "CPU of an operator without triggers, share of a core", Value: 100 * before.share, Unit: "%"},
			report.Figure{Name: "CPU while the triggers are suspended, share of a core", Value: 100 * suspended.share, Unit: "%"})
		return nil
	}
	return s
}

// footprint is the resource usage of an operator: its resident memory in bytes, and its share of a core.
type footprint struct {
	memory int64
	share  float64
}

// observe measures the operator until a time.
func observe(ctx context.Context, r *harness, until time.Time) (footprint, error) {
	pid, began := r.stack.Operator.Pid, time.Now()
	before, err := measure.CPUSeconds(pid)
	if err != nil {
		return footprint{}, err
	}
	if err := sleepUntil(ctx, until); err != nil {
		return footprint{}, err
	}
	after, err := measure.CPUSeconds(pid)
	if err != nil {
		return footprint{}, err
	}
	memory, err := measure.ResidentMemory(pid)
	return footprint{memory: memory.Now, share: (after - before) / time.Since(began).Seconds()}, err
}

// observeIdle measures the operator for a while in which nothing happens.
func observeIdle(ctx context.Context, r *harness) (footprint, error) {
	return observe(ctx, r, time.Now().Add(idleTime))
}

// measureMinutes measures whole minutes, each with one time of the schedule in its middle, and counts the times that
// were not decided.
func measureMinutes(ctx context.Context, r *harness, result *report.Result) (footprint, error) {
	start := betweenMinutes(time.Now())
	if err := sleepUntil(ctx, start); err != nil {
		return footprint{}, err
	}
	before, err := r.decidedTimes(ctx)
	if err != nil {
		return footprint{}, err
	}
	used, err := observe(ctx, r, start.Add(triggerMinutes*time.Minute))
	if err != nil {
		return used, err
	}
	after, err := r.decidedTimes(ctx)
	if err != nil {
		return used, err
	}
	for name := range after {
		if decided := after[name] - before[name]; decided != triggerMinutes {
			result.Failures++
			r.logf("the trigger %s decided %d times in %d minutes", name, decided, triggerMinutes)
		}
	}
	result.Figures = append(result.Figures, report.Figure{Name: report.FigureTriggerCPU, Value: 100 * used.share, Unit: "%"})
	return used, nil
}

// betweenMinutes returns the next time that is half a minute after a whole one.
func betweenMinutes(now time.Time) time.Time {
	half := now.Truncate(time.Minute).Add(30 * time.Second)
	if half.Before(now) {
		half = half.Add(time.Minute)
	}
	return half
}

func sleepUntil(ctx context.Context, at time.Time) error {
	select {
	case <-time.After(time.Until(at)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// triggerBodies encodes n suspended triggers.
func triggerBodies(n int) [][]byte {
	bodies := make([][]byte, n)
	for i := range bodies {
		bodies[i] = fmt.Appendf(nil,
			`{"apiVersion":"nestor.dev/v1beta1","kind":"AgentTrigger","metadata":{"name":"trigger-%d"},"spec":{"suspend":true,"schedule":{"cron":"* * * * *"},`+
				`"concurrencyPolicy":"Forbid","task":{"role":"absent","instruction":"Work %d, at {{ trigger.time }}"}}}`, i, i)
	}
	return bodies
}

func (r *harness) resumeTriggers(ctx context.Context) error {
	list, err := r.listTriggers(ctx)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(drive.Writers)
	for i := range list {
		group.Go(func() error {
			return r.stack.API.Patch(ctx, &list[i], client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"suspend":false}}`)))
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("resume the triggers: %w", err)
	}
	return nil
}

// waitForTriggers waits until a condition is true for n triggers.
func (r *harness) waitForTriggers(ctx context.Context, n int, condition func(*v1beta1.AgentTrigger) bool) error {
	for {
		list, err := r.listTriggers(ctx)
		if err != nil {
			return err
		}
		reached := 0
		for i := range list {
			if condition(&list[i]) {
				reached++
			}
		}
		if reached == n {
			return nil
		}
		if err := sleepUntil(ctx, time.Now().Add(triggerPoll)); err != nil {
			return fmt.Errorf("%d of %d: %w", reached, n, err)
		}
	}
}

// isSuspended reports whether the operator has observed that a trigger is suspended.
func isSuspended(t *v1beta1.AgentTrigger) bool {
	for _, c := range t.Status.Conditions {
		if c.Reason == v1beta1.ReasonSuspended && c.ObservedGeneration == t.Generation {
			return true
		}
	}
	return false
}

// hasStarted reports whether the work of a trigger's first firing is active.
func hasStarted(t *v1beta1.AgentTrigger) bool {
	return t.Status.Firings == 1 && len(t.Status.Active) == 1 && len(t.Status.Pending) == 0
}

// decidedTimes returns how many times of its schedule each trigger has decided.
func (r *harness) decidedTimes(ctx context.Context) (map[string]int64, error) {
	list, err := r.listTriggers(ctx)
	if err != nil {
		return nil, err
	}
	decided := make(map[string]int64, len(list))
	for i := range list {
		decided[list[i].Name] = list[i].Status.Firings + list[i].Status.Dropped
	}
	return decided, nil
}

func (r *harness) listTriggers(ctx context.Context) ([]v1beta1.AgentTrigger, error) {
	var list v1beta1.AgentTriggerList
	if err := r.stack.API.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list the triggers: %w", err)
	}
	return list.Items, nil
}

func mebibytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }
