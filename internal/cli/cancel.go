// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/kubewatch"
	"github.com/nestor-dev/nestor/internal/view"
)

type cancelOptions struct {
	wait    bool
	timeout time.Duration
	print   *printFlags
}

func newCancel(f *Factory) *cobra.Command {
	o := cancelOptions{print: newPrintFlags("cancelled")}
	cmd := &cobra.Command{
		Use:   "cancel NAME",
		Short: "Stop a task, or all work of a chat",
		Long: dedent(`
			Stop a task, or all work of a chat.

			If NAME is a task, it stops with everything below it, including model calls in flight. If NAME is a chat, all its
			work stops, including the orchestrator's turn; the chat remains and can still be used. To remove a chat, delete it
			with kubectl.
		`),
		Example: dedent(`
			# Stop one task
			kubectl nestor cancel first-2

			# Stop all work of a chat
			kubectl nestor cancel first

			# Wait until the work has stopped
			kubectl nestor cancel first-2 --wait
		`),
		Args:              argCount(1, 1, "the name of one chat or task"),
		ValidArgsFunction: f.firstArg(chats, tasks(func(t v1beta1.AgentTask) bool { return !view.Ended(t.Status.Phase) })),
		RunE:              f.runE(o.run),
	}
	cmd.Flags().BoolVar(&o.wait, "wait", false, "Wait until the work has stopped.")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 30*time.Second, "How long to wait for the operator.")
	o.print.add(cmd)
	return cmd
}

func (o *cancelOptions) run(ctx context.Context, s *session, args []string) error {
	to, err := s.find(ctx, args[0])
	if err != nil {
		return err
	}
	if to.task != nil && view.Ended(to.task.Status.Phase) {
		return fmt.Errorf("task %s has ended already (%s)", to.task.Name, to.task.Status.Phase)
	}
	ctx, cancel := withTimeout(ctx, o.timeout)
	defer cancel()
	message, err := s.postAndWait(ctx, cancelMessage(to))
	if err != nil {
		return explainTimeout(err, operatorWait)
	}
	if o.wait {
		if err := s.waitStopped(ctx, to); err != nil {
			return explainTimeout(err, "waiting until "+to.name()+" has stopped")
		}
	}
	if to.task != nil {
		return s.printSent(o.print, message, to.task)
	}
	return s.printSent(o.print, message, to.chat)
}

func cancelMessage(to target) v1beta1.AgentMessageSpec {
	switch {
	case to.chat != nil:
		return v1beta1.AgentMessageSpec{Chat: to.chat.Name, Cancel: &v1beta1.Cancel{}}
	case to.task.Spec.Chat != "":
		return v1beta1.AgentMessageSpec{Chat: to.task.Spec.Chat, Cancel: &v1beta1.Cancel{Task: to.task.Name}}
	}
	return v1beta1.AgentMessageSpec{Task: to.task.Name, Cancel: &v1beta1.Cancel{}}
}

// waitStopped waits until all work of a target has ended.
func (s *session) waitStopped(ctx context.Context, to target) error {
	if to.task != nil {
		_, err := kubewatch.Until(ctx, s.api, to.task, &v1beta1.AgentTaskList{}, func(t *v1beta1.AgentTask) bool {
			return view.Ended(t.Status.Phase)
		})
		return err
	}
	_, err := kubewatch.Until(ctx, s.api, to.chat, &v1beta1.AgentChatList{}, func(c *v1beta1.AgentChat) bool {
		return c.Status.Phase == v1beta1.ChatIdle && c.Status.Tasks.Running+c.Status.Tasks.Pending+c.Status.Tasks.Waiting == 0
	})
	return err
}
