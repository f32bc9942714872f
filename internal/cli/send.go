// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/narrate"
	"github.com/nestor-dev/nestor/internal/client/follow"
	"github.com/nestor-dev/nestor/internal/view"
)

type sendOptions struct {
	wait, follow bool
	attach       []string
	timeout      time.Duration
	print        *printFlags
}

func newSend(f *Factory) *cobra.Command {
	o := sendOptions{print: newPrintFlags("created")}
	cmd := &cobra.Command{
		Use:   "send NAME MESSAGE",
		Short: "Send a message to a chat, or answer an agent's question",
		Long: dedent(`
			Send a message to a chat, or answer an agent's question.

			If NAME is a chat, the message goes to its orchestrator. If NAME is a task whose agent has asked a question, the
			message is the answer and goes directly to that agent. With "-" or without MESSAGE, the message is read from standard
			input.

			Without --wait or --follow, the command prints the name of the message and exits when the message is stored. If the chat
			cannot handle it, because its role, for example, does not exist, the exit code is 3.

			` + exitCodes + `
		`),
		Example: dedent(`
			# Ask, and print the answer
			kubectl nestor send first "What is 17 * 23?" --wait

			# Print everything that happens meanwhile
			kubectl nestor send first "Review the authentication module." --follow

			# Answer the question of the agent that works on the task first-1
			kubectl nestor send first-1 "It is 2024"

			# Send the content of a file as the message
			kubectl nestor send first --wait < request.md

			# Attach an image and a table
			kubectl nestor send first "Does the chart show the table?" --attach chart.png --attach table.csv --wait
		`),
		Args:              argCount(1, -1, "the name of a chat or task, and the message"),
		ValidArgsFunction: f.firstArg(chats, tasks(asksQuestion)),
		RunE:              f.runE(o.run),
	}
	cmd.Flags().BoolVar(&o.wait, "wait", false, "Wait until the work is done and print the answer.")
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "Wait until nothing continues without you, and print messages and tasks meanwhile.")
	cmd.Flags().StringArrayVar(&o.attach, "attach", nil, "Attach a file: an image (PNG, JPEG, GIF, WebP) or text. Up to 8 times, together at most 512 KiB.")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "With --wait or --follow: give up after this time, for example 5m. 0 waits forever. The work continues.")
	o.print.add(cmd)
	return cmd
}

func asksQuestion(t v1beta1.AgentTask) bool {
	return t.Status.Waiting != nil && t.Status.Waiting.Kind == v1beta1.WaitingQuestion
}

func (o *sendOptions) run(ctx context.Context, s *session, args []string) error {
	content, err := s.readMessage(args[1:])
	if err != nil {
		return err
	}
	attachments, err := readAttachments(nil, o.attach...)
	if err != nil {
		return err
	}
	to, err := s.find(ctx, args[0])
	if err != nil {
		return err
	}
	ctx, cancel := withTimeout(ctx, o.timeout)
	defer cancel()
	if to.task != nil && to.task.Spec.Chat == "" {
		return o.answerStandalone(ctx, s, to.task, v1beta1.AgentMessageSpec{Task: to.task.Name, Content: content, Attachments: attachments})
	}
	spec := v1beta1.AgentMessageSpec{Content: content, Attachments: attachments}
	chat := ""
	if to.chat != nil {
		chat = to.chat.Name
	} else {
		chat = to.task.Spec.Chat
		if spec.InReplyTo, err = s.questionOf(ctx, to.task); err != nil {
			return err
		}
	}
	if !o.wait && !o.follow {
		spec.Chat = chat
		if err := o.sendOnly(ctx, s, spec); err != nil || to.chat == nil {
			return err
		}
		return cannotHandle(chat, blockedBy(to.chat))
	}
	return explainTimeout(o.sendAndWait(ctx, s, chat, spec), "waiting for an answer in "+chat)
}

// readMessage returns the message from the arguments or from standard input.
func (s *session) readMessage(args []string) (string, error) {
	content := strings.Join(args, " ")
	if content == "-" || len(args) == 0 {
		if isTerminal(s.In) && len(args) == 0 {
			return "", usagef("there is no message: write it after the name, or pipe it into the command")
		}
		data, err := io.ReadAll(s.In)
		if err != nil {
			return "", fmt.Errorf("read the message from standard input: %w", err)
		}
		content = string(data)
	}
	content = strings.TrimSpace(content)
	if content == "" {
		return "", usagef("the message is empty")
	}
	return content, nil
}

func (o *sendOptions) sendOnly(ctx context.Context, s *session, spec v1beta1.AgentMessageSpec) error {
	message, err := s.post(ctx, spec)
	if err != nil {
		return err
	}
	return s.print(o.print, message)
}

// blockedBy returns what a person must do before a chat can handle a message, or nil.
func blockedBy(chat *v1beta1.AgentChat) error {
	stalled := meta.FindStatusCondition(chat.Status.Conditions, v1beta1.ConditionStalled)
	if stalled == nil || stalled.Status != metav1.ConditionTrue || stalled.Reason == v1beta1.ReasonHistoryLost {
		return nil // a message to a chat without its history starts a new conversation
	}
	return errors.New(stalled.Reason + ": " + stalled.Message)
}

// cannotHandle returns the error of a message that is stored, but waits in a chat that needs something else first.
func cannotHandle(chat string, reason error) error {
	if reason == nil {
		return nil
	}
	return exitf(exitFailed, "the message is stored, but chat %s cannot handle it yet: %w", chat, reason)
}

// sendAndWait sends a message and waits until it has been handled.
func (o *sendOptions) sendAndWait(ctx context.Context, s *session, chat string, spec v1beta1.AgentMessageSpec) error {
	e, err := s.openExchange(ctx, chat)
	if err != nil {
		return err
	}
	emit := func(view.Snapshot) {}
	if o.follow {
		narrator, out := narrate.New(chat), s.humanOutput()
		narrator.Skip(e.now)
		e.followed = true
		emit = func(now view.Snapshot) {
			for _, line := range narrator.Lines(now) {
				fmt.Fprintln(out, line)
			}
		}
	}
	if err := e.send(ctx, spec); err != nil {
		return err
	}
	progress, err := e.finish(ctx, emit)
	if err != nil {
		s.noticeIfInterrupted(ctx, "the work continues: `kubectl nestor tree %s` shows it, `kubectl nestor cancel %s` stops it", chat, chat)
		return err
	}
	if !o.follow {
		if err := o.printAnswers(s, e.answers()); err != nil {
			return err
		}
	}
	return e.exitError(progress)
}

func (o *sendOptions) printAnswers(s *session, answers []v1beta1.AgentMessage) error {
	if o.print.format != "" {
		return s.print(o.print, &v1beta1.AgentMessageList{Items: answers})
	}
	for i, m := range answers {
		if i > 0 {
			fmt.Fprintln(s.Out)
		}
		fmt.Fprintln(s.Out, narrate.Text(m))
	}
	return nil
}

// answerStandalone answers the question of a standalone task and, with --wait or --follow, waits for the task.
func (o *sendOptions) answerStandalone(ctx context.Context, s *session, task *v1beta1.AgentTask, spec v1beta1.AgentMessageSpec) error {
	message, err := s.post(ctx, spec)
	if err != nil {
		return err
	}
	if !o.wait && !o.follow {
		return s.print(o.print, message)
	}
	if err := s.waitHandled(ctx, message); err != nil {
		return err
	}
	return explainTimeout(s.waitForTask(ctx, task, o.print), "waiting for the task "+task.Name)
}

// questionOf returns the name of the posted message with the question of a chat's task.
func (s *session) questionOf(ctx context.Context, task *v1beta1.AgentTask) (string, error) {
	now, err := follow.ReadSnapshot(ctx, s.api, follow.Scope{Namespace: s.namespace, Chat: task.Spec.Chat})
	if err != nil {
		return "", err
	}
	for _, ask := range now.Asks(task.Spec.Chat) {
		if ask.Task == task.Name && ask.Kind == v1beta1.WaitingQuestion && ask.Message != "" {
			return ask.Message, nil
		}
	}
	return "", fmt.Errorf("the agent of %s does not wait for an answer: to write to the orchestrator, use the chat's name, %s", task.Name, task.Spec.Chat)
}
