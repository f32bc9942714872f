// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/patience"
)

var (
	recoveryTimeout = 2*time.Minute + patience.Limit() // after the last fault: a provider's back-off and a take-over take their time
	settleTimeout   = time.Minute + patience.Limit()   // until late writes of a status and the garbage collector are done
)

// check checks all invariants. Each has a name and returns what violates it.
func (w *world) check() {
	w.checkInvariant("every agent reached the right end or waits", w.checkEnded)
	w.checkInvariant("every acknowledged firing started work once", withRetries(w.checkFirings))
	w.checkInvariant("the ledger replays to the status", withRetries(w.checkReplays))
	w.checkInvariant("no write tool ran twice", w.checkNoRepeatedWrites)
	w.checkInvariant("no call was performed without a verdict of that moment", w.checkVerdicts)
	w.checkInvariant("no finished model call was paid for twice", w.checkNoRepeatedCalls)
	w.checkInvariant("every message has a final phase", withRetries(w.checkMessagesFinal))
	w.checkInvariant("every acknowledged message was handled once", w.checkHandledOnce)
	w.checkInvariant("nothing is left of what was deleted", withRetries(w.checkCollected))
	w.checkInvariant("every child is owned and accounted for", w.checkOwners)
	w.checkInvariant("budgets held", w.checkBudgets)
	if w.fleet != nil {
		w.checkInvariant("every shard has one owner", func(ctx context.Context) error {
			return eventually(ctx, settleTimeout+2*w.settings.replicas.lease, w.checkShards) // Leases of the dead expire first
		})
		w.checkInvariant("the limit of the provider held over all replicas", w.checkModelLimit)
	}
	w.checkInvariant("nothing leaks", w.checkLeaks)
	w.checkInvariant("no orphan is left after a deletion", w.checkDeletion)
}

func (w *world) checkInvariant(name string, keep func(context.Context) error) {
	w.t.Helper()
	if err := keep(w.t.Context()); err != nil {
		w.failures = append(w.failures, fmt.Sprintf("broken: %s (seed %d, %s)\n%v", name, w.settings.seed, w.settings.ledger, err))
		w.t.Error(w.failures[len(w.failures)-1])
		return
	}
	w.logf("holds: %s", name)
}

// withRetries retries a check for a while: a status is written after the end of an agent, the user may just have sent a
// message, and the garbage collector may be late.
func withRetries(keep func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error { return eventually(ctx, settleTimeout, keep) }
}

// problems collects problems; it keeps all and prints a bounded number.
type problems struct{ list []error }

func (c *problems) add(format string, args ...any) {
	c.list = append(c.list, fmt.Errorf(format, args...))
}

func (c *problems) err() error {
	const shown = 20
	if more := len(c.list) - shown; more > 0 {
		return errors.Join(append(slices.Clone(c.list[:shown]), fmt.Errorf("and %d more", more))...)
	}
	return errors.Join(c.list...)
}

func (w *world) checkEnded(ctx context.Context) error {
	return eventually(ctx, recoveryTimeout, w.ended)
}

// ended compares the outcome of every job with the expected one.
func (w *world) ended(ctx context.Context) error {
	if !w.created.Load() {
		return errors.New("not all orders were created")
	}
	if !w.fired.Load() {
		return errors.New("not all firings were acknowledged")
	}
	found, err := w.objects(ctx)
	if err != nil {
		return err
	}
	tasks := map[string][]*v1beta1.AgentTask{}
	for i := range found.tasks.Items {
		task := &found.tasks.Items[i]
		id := jobID(task.Spec.Instruction)
		if task.Spec.Type == v1beta1.TaskTool {
			id = task.Name + ".1"
		}
		tasks[id] = append(tasks[id], task)
	}
	var wrong problems
	for _, o := range w.orders {
		for _, top := range o.jobs {
			top.each(func(j *job) { o.compare(&wrong, j, tasks[j.id]) })
		}
	}
	for i := range found.chats.Items {
		w.compareChat(&wrong, &found.chats.Items[i])
	}
	return wrong.err()
}

func (o *order) compare(wrong *problems, j *job, tasks []*v1beta1.AgentTask) {
	switch {
	case o.deleted && len(tasks) > 0:
		wrong.add("job %s was deleted, but there is a task %s", j.id, tasks[0].Name)
	case o.deleted:
	case len(tasks) == 0 && slices.Contains(j.ends, cancelled): // cancelled before it started
	case len(tasks) != 1:
		wrong.add("job %s has %d tasks", j.id, len(tasks))
	default:
		got := outcomeOf(tasks[0])
		if !slices.Contains(j.ends, got) {
			wrong.add("job %s (task %s, %s) is %s, want one of %s: %s", j.id, tasks[0].Name, strings.Join(j.steps, ", "), got, j.ends, conditionText(tasks[0]))
		}
	}
}

func outcomeOf(task *v1beta1.AgentTask) outcome {
	e := outcome{phase: task.Status.Phase}
	if task.Status.Error != nil {
		e.kind = task.Status.Error.Kind
	}
	return e
}

func (e outcome) String() string { return strings.TrimSpace(string(e.phase) + " " + string(e.kind)) }

func conditionText(task *v1beta1.AgentTask) string {
	for _, c := range task.Status.Conditions {
		return c.Reason + ": " + c.Message
	}
	return "it has no condition"
}

// compareChat checks that a chat is waiting if something in it is, and idle otherwise.
func (w *world) compareChat(wrong *problems, chat *v1beta1.AgentChat) {
	if chat.Name == triggerBell {
		if chat.Status.Phase != v1beta1.ChatIdle {
			wrong.add("chat %s is %s, want %s", chat.Name, chat.Status.Phase, v1beta1.ChatIdle)
		}
		return
	}
	i := slices.IndexFunc(w.orders, func(o *order) bool { return o.name == chat.Name })
	if i < 0 || w.orders[i].deleted {
		wrong.add("there is a chat %s", chat.Name)
		return
	}
	want := v1beta1.ChatIdle
	for _, j := range w.orders[i].jobs {
		if slices.Contains(j.ends, waits) {
			want = v1beta1.ChatWaiting
		}
	}
	if chat.Status.Phase != want {
		wrong.add("chat %s is %s, want %s", chat.Name, chat.Status.Phase, want)
	}
}
