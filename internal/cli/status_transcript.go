// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/narrate"
	"github.com/nestor-dev/nestor/internal/client/follow"
	"github.com/nestor-dev/nestor/internal/view"
)

// printFromStatus prints the part of a transcript that statuses hold, for clusters that do not serve the history. With
// --follow it prints it again whenever it changes.
func (o *transcriptOptions) printFromStatus(ctx context.Context, s *session, to target) error {
	scope, task := scopeOf(s.namespace, to)
	emit := o.entryPrinter(s, to.name())
	lastSeq := o.since
	show := func(now view.Snapshot) error {
		entries := statusEntries(now, scope.Chat, task)
		if o.tail > 0 && lastSeq == 0 {
			entries = entries[max(0, len(entries)-int(o.tail)):]
		}
		for _, entry := range entries {
			if entry.Seq <= lastSeq {
				continue
			}
			lastSeq = entry.Seq
			if err := emit(entry); err != nil {
				return err
			}
		}
		return nil
	}
	if !o.follow {
		now, err := follow.ReadSnapshot(ctx, s.api, scope)
		if err != nil {
			return err
		}
		return show(now)
	}
	snapshots, err := follow.Watch(ctx, s.cluster(), scope)
	if err != nil {
		return err
	}
	for now := range snapshots {
		if err := show(now); err != nil {
			return err
		}
		if t := now.Task(task); task != "" && (t == nil || view.Ended(t.Status.Phase)) {
			return nil
		}
	}
	return nil
}

// statusEntries returns entries made from the status of a task's agent, or from the messages of a chat.
func statusEntries(now view.Snapshot, chat, task string) []historyv1.Entry {
	if task == "" {
		return messageEntries(now, chat)
	}
	node := now.Task(task)
	if node == nil {
		return nil
	}
	agent := now.AgentOf(node)
	if agent == nil {
		return nil
	}
	calls := map[string]v1beta1.ToolCallStatus{}
	for _, call := range agent.Status.ToolCalls {
		calls[call.ID] = call
	}
	var entries []historyv1.Entry
	for _, m := range agent.Status.Messages {
		entry := historyv1.Entry{Seq: m.Seq + 1, Kind: entryKinds[m.Role], Content: m.Content, Time: microTime(m.Time)}
		if call, ok := calls[m.ToolCall]; ok && m.Role == v1beta1.TranscriptTool {
			entry.ToolCalls = []historyv1.ToolCall{{ID: call.ID, Tool: call.Tool, Arguments: view.Arguments(call), Phase: historyv1.ToolCallPhase(call.Phase)}}
		}
		entries = append(entries, entry)
	}
	return entries
}

var entryKinds = map[v1beta1.TranscriptRole]historyv1.EntryKind{
	v1beta1.TranscriptSystem: historyv1.EntryStarted, v1beta1.TranscriptUser: historyv1.EntryUser,
	v1beta1.TranscriptAssistant: historyv1.EntryAssistant, v1beta1.TranscriptTool: historyv1.EntryToolResult,
}

func messageEntries(now view.Snapshot, chat string) []historyv1.Entry {
	messages := slices.DeleteFunc(slices.Clone(now.Messages), func(m v1beta1.AgentMessage) bool { return m.Spec.Chat != chat })
	entries := make([]historyv1.Entry, len(messages))
	for i, m := range messages {
		entries[i] = historyv1.Entry{Seq: int64(i + 1), Kind: historyv1.EntryUser, Content: cmp.Or(m.Spec.Content, narrate.DescribeAction(m)), Message: m.Name, User: m.Spec.User, Time: metav1.MicroTime(m.CreationTimestamp)}
		if m.Spec.Role == v1beta1.RoleAssistant || m.Spec.Role == v1beta1.RoleSystem {
			entries[i].Kind = historyv1.EntryAssistant
		}
	}
	return entries
}

func microTime(t *metav1.Time) metav1.MicroTime {
	if t == nil {
		return metav1.MicroTime{}
	}
	return metav1.MicroTime(*t)
}
