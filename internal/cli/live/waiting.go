// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
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
	// Digest is the digest of the call that needs approval. Empty: the operator is of a release that knew none.
	Digest string
	// Separation says that nobody may decide who asked for the work, and Askers who did; they are not known if there are none.
	Separation bool
	Askers     []string
	// Cut says that Arguments or Question are not whole; the ledger has all of it.
	Cut bool
}

// WithArguments returns the ask with other arguments, and whether they are whole: whether the digest is theirs.
func (a Ask) WithArguments(arguments string) (Ask, bool) {
	if a.Digest != "" && agent.CallDigest(a.Tool, arguments) != a.Digest {
		return a, false
	}
	a.Arguments, a.Cut = arguments, false
	return a, true
}

// MayDecide says whether a user may decide about a call, and if not, why.
func (a Ask) MayDecide(user string) error {
	switch {
	case !a.Separation:
		return nil
	case len(a.Askers) == 0:
		return fmt.Errorf("the role of this call lets nobody decide who asked for the work, and it is not known who did, because a message or the task has no spec.user: cancel the work and ask for it anew")
	case slices.Contains(a.Askers, user):
		return fmt.Errorf("the role of this call lets nobody decide who asked for the work, and you (%s) did: somebody else must decide", user)
	}
	return nil
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
		if ask.Askers = c.Status.Askers; ask.Separation && len(ask.Askers) > 0 && c.Spec.User != "" {
			ask.Askers = append(slices.Clip(ask.Askers), c.Spec.User)
		}
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
		if task.Spec.Chat != "" || task.Status.Waiting == nil || fromBelow(task) {
			continue
		}
		first := s.complete(newAsk("", task.Name, *task.Status.Waiting))
		if top := s.top(task); top.Spec.User != "" {
			first.Askers = []string{top.Spec.User}
		}
		asks = append(asks, first)
		if sub := s.AgentOf(&task); sub != nil && first.Kind == v1alpha1.WaitingApproval {
			asks = append(asks, otherCalls(first, sub.Status.ToolCalls)...)
		}
	}
	return asks
}

// fromBelow says that what a task waits for is what a sub-agent below it waits for, whose own task says so too.
func fromBelow(task v1alpha1.AgentTask) bool {
	return task.Status.Waiting.SubAgent != "" && task.Status.Waiting.SubAgent != task.Status.SubAgent
}

func otherCalls(first Ask, calls []v1alpha1.ToolCallStatus) []Ask {
	var asks []Ask
	for _, call := range calls {
		if call.Phase != v1alpha1.ToolCallAwaitingApproval || call.ID == first.Call {
			continue
		}
		other := first
		other.Call, other.Tool, other.Arguments, other.Digest = call.ID, call.Tool, call.Arguments, call.ArgumentsDigest
		other.Cut = other.isCut(call.Arguments)
		asks = append(asks, other)
	}
	return asks
}

// cutMark ends a text that the operator has shortened to fit into a status.
const cutMark = "…"

// isCut reports whether arguments from a status were shortened.
func (a Ask) isCut(arguments string) bool {
	if a.Digest != "" {
		return agent.CallDigest(a.Tool, arguments) != a.Digest
	}
	return strings.HasSuffix(arguments, cutMark)
}

// top is the standalone task that a task belongs to.
func (s Snapshot) top(task v1alpha1.AgentTask) v1alpha1.AgentTask {
	for range len(s.Tasks) {
		parent := task.Labels[v1alpha1.LabelParent]
		i := slices.IndexFunc(s.Tasks, func(t v1alpha1.AgentTask) bool { return parent != "" && AgentName(&t) == parent })
		if i < 0 {
			break
		}
		task = s.Tasks[i]
	}
	return task
}

func newAsk(chat, task string, w v1alpha1.Waiting) Ask {
	ask := Ask{Kind: w.Kind, Chat: chat, Task: task, Call: w.ToolCall, Digest: w.ArgumentsDigest, Separation: w.Separation, Cut: strings.HasSuffix(w.Text, cutMark)}
	if w.Kind == v1alpha1.WaitingQuestion {
		ask.Question = w.Text
		return ask
	}
	ask.Tool, ask.Arguments, _ = strings.Cut(w.Text, " ")
	ask.Cut = ask.isCut(ask.Arguments)
	return ask
}

// complete adds what other objects know of an ask: the role, the posted message, and with it the whole text.
func (s Snapshot) complete(ask Ask) Ask {
	if task := s.Task(ask.Task); task != nil {
		ask.Role = task.Spec.Role
	}
	var content strings.Builder // a long request is posted in parts
	for _, m := range s.Messages {
		call := m.Annotations[v1alpha1.AnnotationCall]
		if m.Spec.About != ask.Task || call == "" || (call != ask.Call && (ask.Call != "" || call != ask.Task)) {
			continue
		}
		ask.Message = cmp.Or(ask.Message, m.Name)
		content.WriteString(m.Spec.Content)
	}
	head, whole, found := strings.Cut(content.String(), ":\n")
	if ask.Kind == v1alpha1.WaitingApproval && found && strings.Contains(head, ask.Tool) {
		ask, _ = ask.WithArguments(whole)
	}
	return ask
}
