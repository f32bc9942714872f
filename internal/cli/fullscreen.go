// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	tea "charm.land/bubbletea/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/chatui"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/client/follow"
	"github.com/nestor-dev/nestor/internal/view"
)

// runFullScreen shows a chat, and those that are created in it, until the person leaves.
func (s *session) runFullScreen(ctx context.Context, chat string) error {
	in := *s
	// Notices and the warnings of the server would be written over the screen.
	in.ErrOut, in.warnings.out = io.Discard, io.Discard
	defer func() { in.warnings.out = s.ErrOut }()
	for next := chat; next != ""; {
		var err error
		if next, err = in.showChat(ctx, chat); err != nil {
			return err
		}
		if next != "" {
			chat = next
		}
	}
	s.noticef("The agents keep running. To return to the chat: kubectl nestor chat %s", chat)
	return nil
}

// showChat shows a chat until the person leaves. It returns the chat to open next, or "".
func (s *session) showChat(ctx context.Context, chat string) (next string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	snapshots, err := follow.Watch(ctx, s.cluster(), follow.Scope{Namespace: s.namespace, Chat: chat})
	if err != nil {
		return "", err
	}
	model := chatui.New(ctx, chat, s.namespace, newChatActions(s, chat), s.now())
	program := tea.NewProgram(model, tea.WithContext(ctx), tea.WithInput(s.In), tea.WithOutput(s.Out), tea.WithEnvironment(s.environ), tea.WithoutSignalHandler())
	streams := newStreams(s.history(), program.Send)
	go func() {
		for now := range snapshots {
			streams.follow(ctx, chat, now)
			program.Send(chatui.Updated(now))
		}
		if ctx.Err() == nil {
			program.Send(chatui.WatchEnded{Err: errors.New("the watch ended")})
		}
	}()
	go func() {
		for now := range s.watchProblems(ctx) {
			program.Send(chatui.Problems(problemLines(now)))
		}
	}()
	end, err := program.Run()
	if err != nil && ctx.Err() == nil {
		return "", fmt.Errorf("show the chat: %w", err)
	}
	last, _ := end.(chatui.Model)
	return last.Next(), nil
}

// chatActions performs the actions of the screen in the cluster.
type chatActions struct {
	s    *session
	chat string
	// attached are the attachments of the next message.
	attached *attachments
}

// attachments are files that wait for the next message. Actions run concurrently.
type attachments struct {
	mu    sync.Mutex
	files []v1beta1.Attachment
}

func newChatActions(s *session, chat string) chatActions {
	return chatActions{s: s, chat: chat, attached: &attachments{}}
}

func (a chatActions) Attach(path string) error {
	a.attached.mu.Lock()
	defer a.attached.mu.Unlock()
	files, err := readAttachments(a.attached.files, path)
	if err == nil {
		a.attached.files = files
	}
	return err
}

// take returns the attachments for a message. They wait for the next one if it is not sent.
func (a chatActions) take() (files []v1beta1.Attachment, restore func()) {
	a.attached.mu.Lock()
	defer a.attached.mu.Unlock()
	files, a.attached.files = a.attached.files, nil
	return files, func() {
		a.attached.mu.Lock()
		defer a.attached.mu.Unlock()
		a.attached.files = append(files, a.attached.files...)
	}
}

func (a chatActions) Send(ctx context.Context, text, inReplyTo string) error {
	files, restore := a.take()
	_, err := a.s.post(ctx, v1beta1.AgentMessageSpec{Chat: a.chat, Content: text, InReplyTo: inReplyTo, Attachments: files})
	if err != nil {
		restore()
	}
	return explain(err)
}

func (a chatActions) FullArguments(ctx context.Context, ask view.Ask) (view.Ask, error) {
	ctx, cancel := withTimeout(ctx, actionTimeout)
	defer cancel()
	return a.s.fullArguments(ctx, ask)
}

func (a chatActions) Changes(ctx context.Context, ask view.Ask) ([]terminal.ChangeLine, error) {
	ctx, cancel := withTimeout(ctx, actionTimeout)
	defer cancel()
	now, err := follow.ReadSnapshot(ctx, a.s.api, follow.Scope{Namespace: a.s.namespace, Chat: a.chat})
	if err != nil {
		return nil, err
	}
	reader := changesReader{s: a.s, now: now}
	return reader.read(ctx, ask)
}

func (a chatActions) Decide(ctx context.Context, ask view.Ask, approval v1beta1.Approval) error {
	if err := a.s.checkMayDecide(ctx, ask); err != nil {
		return err
	}
	return a.postAndWait(ctx, decisionMessage(ask, approval))
}

func (a chatActions) Edit(ctx context.Context, ask view.Ask) terminal.Editor {
	return newArgumentsEditor(ctx, a.s, ask)
}

func (a chatActions) Set(ctx context.Context, field, value string) error {
	ctx, cancel := withTimeout(ctx, actionTimeout)
	defer cancel()
	chat, err := a.s.getChat(ctx, a.chat)
	if err != nil {
		return explain(err)
	}
	if field == "role" {
		if err := a.s.warnMissing(ctx, value, ""); err != nil {
			return err
		}
	}
	before := client.MergeFrom(chat.DeepCopy())
	switch field {
	case "role":
		chat.Spec.Role = value
	case "model":
		chat.Spec.Model = value
	}
	return explain(a.s.api.Patch(ctx, chat, before))
}

func (a chatActions) New(ctx context.Context, name string) (string, error) {
	ctx, cancel := withTimeout(ctx, actionTimeout)
	defer cancel()
	created, err := a.s.createChat(ctx, a.s.newChatObject(name))
	return created, explain(err)
}

func (a chatActions) Diff(ctx context.Context) ([]terminal.ChangeLine, error) {
	ctx, cancel := withTimeout(ctx, actionTimeout)
	defer cancel()
	_, changes, err := a.s.workspaceChanges(ctx, "chat/"+a.chat)
	if err != nil {
		return nil, explain(err)
	}
	var lines []terminal.ChangeLine
	for line := range strings.Lines(changes.Diff) {
		line = strings.TrimSuffix(line, "\n")
		lines = append(lines, terminal.ChangeLine{Text: line, InDiff: !strings.HasPrefix(line, "diff ")})
	}
	return lines, nil
}

func (a chatActions) Cancel(ctx context.Context, task string) error {
	return a.postAndWait(ctx, v1beta1.AgentMessageSpec{Chat: a.chat, Cancel: &v1beta1.Cancel{Task: task}})
}

func (a chatActions) postAndWait(ctx context.Context, spec v1beta1.AgentMessageSpec) error {
	message, err := a.s.post(ctx, spec)
	if err != nil {
		return explain(err)
	}
	ctx, cancel := withTimeout(ctx, actionTimeout)
	defer cancel()
	return explainTimeout(a.s.waitHandled(ctx, message), "the operator does not respond")
}
