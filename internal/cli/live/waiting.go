// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"slices"
	"strings"

	"github.com/nestor-dev/nestor/api/v1alpha1"
)

// Ask is one thing that waits for the person.
type Ask struct {
	Kind v1alpha1.WaitingKind
	// Chat is empty for a standalone task.
	Chat, Task, Role string
	// Call is the id of the call; for an approval it is empty if the task is of type Tool, which is one call.
	Call string
	// Tool and Arguments are those of a call that needs approval.
	Tool, Arguments string
	// Question is what an agent asks.
	Question string
	// Message is the posted message that holds the ask, to which an answer replies. Empty for a standalone task.
	Message string
	// Cut says that Arguments or Question are not whole; the posted message, or the ledger, has all of it.
	Cut bool
}

// Key tells an ask from every other.
func (a Ask) Key() string { return a.Task + "/" + a.Call }

// Asks lists what waits for the person in a chat, or with an empty name in standalone tasks, the oldest first.
func (s Snapshot) Asks(chat string) []Ask {
	if chat == "" {
		return s.standaloneAsks()
	}
	c := s.Chat(chat)
	if c == nil {
		return nil
	}
	var asks []Ask
	for _, item := range c.Status.Waiting {
		ask := s.complete(newAsk(chat, item.Task, item.Waiting))
		if ask.Kind == v1alpha1.WaitingQuestion && ask.Message == "" {
			continue // the orchestrator may yet answer it; the person is asked when it is posted
		}
		asks = append(asks, ask)
	}
	return asks
}

// standaloneAsks lists the asks of standalone tasks and what is below them. A sub-agent may wait for several approvals
// at once; its task's status names the first.
func (s Snapshot) standaloneAsks() []Ask {
	var asks []Ask
	for _, task := range s.Tasks {
		if task.Spec.Chat != "" || task.Status.Waiting == nil {
			continue
		}
		first := s.complete(newAsk("", task.Name, *task.Status.Waiting))
		asks = append(asks, first)
		if agent := s.Agent(task.Name); agent != nil && first.Kind == v1alpha1.WaitingApproval {
			asks = append(asks, otherCalls(first, agent.Status.ToolCalls)...)
		}
	}
	return asks
}

func otherCalls(first Ask, calls []v1alpha1.ToolCallStatus) []Ask {
	var asks []Ask
	for _, call := range calls {
		if call.Phase != v1alpha1.ToolCallAwaitingApproval || call.ID == first.Call {
			continue
		}
		other := first
		other.Call, other.Tool, other.Arguments = call.ID, call.Tool, call.Arguments
		other.Cut = strings.HasSuffix(call.Arguments, cutMark)
		asks = append(asks, other)
	}
	return asks
}

// cutMark ends a text that the operator has shortened to fit into a status.
const cutMark = "…"

func newAsk(chat, task string, w v1alpha1.Waiting) Ask {
	ask := Ask{Kind: w.Kind, Chat: chat, Task: task, Call: w.ToolCall, Cut: strings.HasSuffix(w.Text, cutMark)}
	if w.Kind == v1alpha1.WaitingQuestion {
		ask.Question = w.Text
		return ask
	}
	ask.Tool, ask.Arguments, _ = strings.Cut(w.Text, " ")
	return ask
}

// complete adds what other objects know of an ask: the role, the posted message, and with it the whole text.
func (s Snapshot) complete(ask Ask) Ask {
	if task := s.Task(ask.Task); task != nil {
		ask.Role = task.Spec.Role
	}
	i := slices.IndexFunc(s.Messages, func(m v1alpha1.AgentMessage) bool {
		call := m.Annotations[v1alpha1.AnnotationCall]
		return m.Spec.About == ask.Task && call != "" && (call == ask.Call || (ask.Call == "" && call == ask.Task))
	})
	if i < 0 {
		return ask
	}
	ask.Message = s.Messages[i].Name
	if head, whole, found := strings.Cut(s.Messages[i].Spec.Content, ":\n"); ask.Kind == v1alpha1.WaitingApproval && found && strings.Contains(head, ask.Tool) {
		ask.Arguments, ask.Cut = whole, false
	}
	return ask
}
