// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/bench/drive"
	"github.com/nestor-dev/nestor/test/bench/measure"
	"github.com/nestor-dev/nestor/test/bench/report"
)

const (
	tasksPath    = "/apis/nestor.dev/v1beta1/namespaces/" + namespace + "/agenttasks"
	messagesPath = "/apis/nestor.dev/v1beta1/namespaces/" + namespace + "/agentmessages"
	warmTimeout  = 2 * time.Minute
)

// tasks are standalone tasks that are created together and watched until each has reached a phase.
type tasks struct {
	prefix string
	want   string
	bodies [][]byte
	// created is the time of each create, and reached the time at which the wanted or a final phase was observed.
	created, reached []time.Time
	phases           []string
	// left counts those that have not reached it.
	left int
}

// newTasks encodes n tasks whose names have the prefix. want is the phase to wait for.
func newTasks(prefix string, n int, want string) *tasks {
	return newTasksWithRole(prefix, workerRole, n, want)
}

func newTasksWithRole(prefix, role string, n int, want string) *tasks {
	return newTasksWithSpec(prefix, n, want, func(i int) string {
		return fmt.Sprintf(`{"type":"Agent","role":"%s","instruction":"Work %d"}`, role, i)
	})
}

func newTasksWithSpec(prefix string, n int, want string, spec func(int) string) *tasks {
	t := &tasks{prefix: prefix + "-", want: want, reached: make([]time.Time, n), phases: make([]string, n), left: n}
	for i := range n {
		t.bodies = append(t.bodies, fmt.Appendf(nil, `{"apiVersion":"nestor.dev/v1beta1","kind":"AgentTask","metadata":{"name":"%s%d"},"spec":%s}`, t.prefix, i, spec(i)))
	}
	return t
}

var final = []string{string(v1beta1.TaskSuccess), string(v1beta1.TaskFailed), string(v1beta1.TaskCancelled)}

func (t *tasks) run(ctx context.Context, r *harness) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return t.watch(ctx, r) })
	group.Go(func() error { return t.create(ctx, r) })
	if err := group.Wait(); err != nil {
		return fmt.Errorf("%d of %d agents did not get to %s: %w", t.left, len(t.bodies), t.want, err)
	}
	return nil
}

func (t *tasks) create(ctx context.Context, r *harness) (err error) {
	t.created, err = r.api.CreateAll(ctx, tasksPath, t.bodies)
	return err
}

func (t *tasks) watch(ctx context.Context, r *harness) error {
	return r.api.Watch(ctx, tasksPath, func(o drive.Object) bool {
		number, ours := strings.CutPrefix(o.Metadata.Name, t.prefix)
		if !ours || o.Status.Phase != t.want && !slices.Contains(final, o.Status.Phase) {
			return false
		}
		i, err := strconv.Atoi(number)
		if err != nil || i >= len(t.phases) || t.phases[i] != "" {
			return false
		}
		t.phases[i], t.reached[i] = o.Status.Phase, time.Now()
		t.left--
		return t.left == 0
	})
}

func (t *tasks) report(result *report.Result) {
	result.Created += int64(len(t.bodies))
	var took []float64
	for i, phase := range t.phases {
		if phase != t.want {
			result.Failures++
			continue
		}
		took = append(took, milliseconds(t.reached[i].Sub(t.created[i])))
	}
	result.CompletionMillis = report.Distribute(took)
}

// latencies returns how long the tasks waited before the first and after the last model call of their agents.
func (t *tasks) latencies(runs map[string]measure.Run) map[string]*report.Distribution {
	all := samples{values: map[string][]float64{}}
	for i, phase := range t.phases {
		run, ok := runs[t.prefix+strconv.Itoa(i)]
		if !ok || phase != t.want {
			continue
		}
		all.add([]sample{
			{report.LatencyFirstCall, run.FirstCall.Sub(t.created[i])},
			{report.LatencyEnd, t.reached[i].Sub(run.LastReply)},
		})
	}
	return all.distributions()
}

// wall is the time from the first create to the last task that reached its phase.
func (t *tasks) wall() time.Duration {
	var first, last time.Time
	for i, begun := range t.created {
		if !begun.IsZero() && (first.IsZero() || begun.Before(first)) {
			first = begun
		}
		if t.reached[i].After(last) {
			last = t.reached[i]
		}
	}
	if last.IsZero() {
		return 0
	}
	return last.Sub(first)
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
