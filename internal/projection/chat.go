// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/shorten"
)

// ChatFacts contains the parts of a chat's status that come from other objects.
type ChatFacts struct {
	Tasks       v1beta1.TaskCounts
	Messages    int32
	LastMessage string
	// LastMessageTime is when LastMessage was created.
	LastMessageTime *metav1.Time
	// Work is the engine's information about the orchestrator.
	Work Work
	// PostRefused is the API server's message about an answer that it rejects.
	PostRefused string
	// ProviderReady is since when the chat's provider is ready. It is only needed after a turn that the model could not
	// answer.
	ProviderReady *metav1.Time
}

func Chat(s agent.State, facts ChatFacts, old v1beta1.AgentChatStatus, generation int64) v1beta1.AgentChatStatus {
	status := v1beta1.AgentChatStatus{
		ObservedGeneration: generation,

		Phase:       v1beta1.ChatIdle,
		Title:       s.Title,
		StartTime:   moment(s.Clock.Started),
		Waiting:     chatWaiting(s),
		Allowances:  chatAllowances(s),
		Tasks:       facts.Tasks,
		Messages:    facts.Messages,
		LastMessage: facts.LastMessage,
		Usage:       usage(s.Usage),

		ContentLabels: contentLabels(s),
		RoleRevision:  s.Config.Role.Revision, PinnedRevisions: pinnedRevisions(s.Config),
		Conditions: withProgress(withCondition(old.Conditions, "AgentChat", ready(s, facts, old.Conditions, generation), s.Clock.Now), "AgentChat", s, facts.Work, generation),
	}
	if slices.ContainsFunc(status.Waiting, func(w v1beta1.ChatWaitingItem) bool { return w.DenyRequesters }) && s.Requesters.Known() {
		status.Requesters = s.Requesters.Users[:min(len(s.Requesters.Users), maxRequesters)]
	}
	// The time changes only together with the name: it never causes a write of its own, also not for all chats after an
	// upgrade.
	if status.LastMessageTime = facts.LastMessageTime; status.LastMessage == old.LastMessage {
		status.LastMessageTime = old.LastMessageTime
	}
	switch {
	case len(status.Waiting) > 0:
		status.Phase = v1beta1.ChatWaiting
	case s.Phase == agent.PhaseRequesting || s.Phase == agent.PhaseActing || s.Children.Pending() > 0:
		status.Phase = v1beta1.ChatRunning
	}
	return status
}

// chatWaiting lists the asks that wait for a person, oldest first.
func chatWaiting(s agent.State) []v1beta1.ChatWaitingItem {
	var items []v1beta1.ChatWaitingItem
	for _, ask := range s.Asks {
		if !ask.Open || len(items) == maxWaiting {
			continue
		}
		item := v1beta1.ChatWaitingItem{Task: ask.Task, Waiting: v1beta1.Waiting{
			Kind: v1beta1.WaitingQuestion, Text: shorten.Head(ask.Text, maxWaitingText), ToolCall: ask.Call, StartTime: moment(ask.StartTime),
		}}
		if ask.Kind == agent.AskApproval {
			item.DenyRequesters, item.Editable, item.ExpireTime = ask.DenyRequesters, ask.Editable, moment(ask.ExpireTime)
			setCall(&item.Waiting, ask.Tool, ask.Arguments)
			item.PolicyReasons = reasons(ask.Policy)
		}
		// The call of a task of type Tool has the task's name; it has no agent.
		if ask.Call == ask.Task {
			item.ToolCall = ""
		} else {
			item.SubAgent = ask.Agent
		}
		items = append(items, item)
	}
	return items
}

// chatAllowances lists the allowances, oldest first.
func chatAllowances(s agent.State) []v1beta1.ChatAllowance {
	var shown []v1beta1.ChatAllowance
	for _, a := range s.Allowances {
		one := v1beta1.ChatAllowance{Name: a.Name, Tool: a.Tool, User: a.User, StartTime: moment(a.At)}
		for _, p := range a.Arguments {
			one.Arguments = append(one.Arguments, v1beta1.ArgumentPattern{Name: p.Name, Pattern: p.Pattern})
		}
		shown = append(shown, one)
	}
	return shown
}

// CountTask adds a task in a phase to the counts of a chat.
func CountTask(counts v1beta1.TaskCounts, phase v1beta1.TaskPhase) v1beta1.TaskCounts {
	switch phase {
	case v1beta1.TaskRunning:
		counts.Running++
	case v1beta1.TaskWaiting:
		counts.Waiting++
	case v1beta1.TaskSuccess:
		counts.Success++
	case v1beta1.TaskFailed:
		counts.Failed++
	case v1beta1.TaskCancelled:
		counts.Cancelled++
	default:
		counts.Pending++
	}
	return counts
}
