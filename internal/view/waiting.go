// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/plainjson"
	"github.com/nestor-dev/nestor/internal/shorten"
)

// Ask is a question or an approval that waits for a person.
type Ask struct {
	Kind v1beta1.WaitingKind `json:"kind"`
	// Chat is empty for a standalone task.
	Chat string `json:"chat,omitempty"`
	Task string `json:"task"`
	Role string `json:"role,omitempty"`
	// Agent is the sub-agent that waits, which may be below the task.
	Agent string `json:"agent,omitempty"`
	// Call is the ID of the tool call. It is empty for the approval of a task of type Tool, which has only one call.
	Call string `json:"call,omitempty"`
	// Tool and Arguments describe a call that needs approval. Arguments is JSON, or a shortened text for people if it is
	// Truncated.
	Tool      string `json:"tool,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	// Question is the text of a question.
	Question string `json:"question,omitempty"`
	// Message is the posted message with the ask, to which an answer replies. It is empty for a standalone task.
	Message string `json:"message,omitempty"`
	// Digest identifies the call that needs approval. It is empty if the operator is of a release without digests.
	Digest string `json:"digest,omitempty"`
	// DenyRequesters means that the people who requested the work may not decide. Requesters lists them; it is empty if
	// they are not known.
	DenyRequesters bool     `json:"denyRequesters,omitempty"`
	Requesters     []string `json:"-"`
	// Editable means that the call can be approved with changed arguments.
	Editable bool `json:"editable,omitempty"`
	// Reasons are lines on why policies require the approval, and until when people can decide.
	Reasons []string `json:"reasons,omitempty"`
	// Barred is why the user of For may not decide.
	Barred Bar `json:"barred,omitempty"`
	// StartTime is when the work began to wait. It is zero if the operator is of a release that does not record it.
	StartTime time.Time `json:"startTime,omitzero"`
	// ExpireTime is until when people can decide. It is zero without a limit.
	ExpireTime time.Time `json:"expireTime,omitzero"`
	// Truncated means that Arguments or Question are truncated; the ledger has them in full.
	Truncated bool `json:"truncated,omitempty"`
}

// Bar is why a user may not decide about a call.
type Bar string

// Values of Bar.
const (
	// BarRequester: the user requested the work.
	BarRequester Bar = "requester"
	// BarUnknown: it is not known who requested the work.
	BarUnknown Bar = "unknown"
)

// For returns the ask as it is for a user.
func (a Ask) For(user string) Ask {
	switch {
	case !a.DenyRequesters:
	case len(a.Requesters) == 0:
		a.Barred = BarUnknown
	case slices.Contains(a.Requesters, user):
		a.Barred = BarRequester
	}
	return a
}

// reasonLines describes why policies require an approval, as the posted request does, and until when people can decide.
func reasonLines(p v1beta1.PolicyReasons, expires *metav1.Time) []string {
	reasons := agent.Reasons{MoreRules: int(p.PolicyRulesOmitted), MoreLabels: int(p.ContentLabelsOmitted)}
	for _, r := range p.PolicyRules {
		reasons.Rules = append(reasons.Rules, agent.Verdict{Policy: r.Policy, Rule: r.Rule, Message: r.Message})
	}
	for _, l := range p.ContentLabels {
		reasons.Labels = append(reasons.Labels, agent.Label{Name: l.Name, Source: l.Source, Call: l.ToolCall})
	}
	lines := reasons.Lines()
	if expires != nil {
		lines = append(lines, "Expires at "+expires.UTC().Format("2006-01-02 15:04:05 UTC")+".")
	}
	return lines
}

func timeOf(t *metav1.Time) time.Time { return ptr.Deref(t, metav1.Time{}).Time }

// WithArguments returns the ask with the given arguments, and reports whether they match the digest.
func (a Ask) WithArguments(arguments string) (Ask, bool) {
	if a.Digest != "" && agent.CallDigest(a.Tool, arguments) != a.Digest {
		return a, false
	}
	a.Arguments, a.Truncated = arguments, false
	return a, true
}

// IsAbout reports whether the ask may be about a call of a history, which WithArguments then compares. A call that is
// asked about again has another id than in the reply of the model.
func (a Ask) IsAbout(id, tool string) bool { return id == a.Call || a.Digest != "" && tool == a.Tool }

// CheckMayDecide returns an error if a user may not decide about a call.
func (a Ask) CheckMayDecide(user string) error {
	switch a.For(user).Barred {
	case BarUnknown:
		return fmt.Errorf("the role or a policy of this call does not let requesters decide, and the requester is unknown, because a message or the task has no spec.user: cancel the work and request it again")
	case BarRequester:
		return fmt.Errorf("the role or a policy of this call does not let requesters decide, and you (%s) requested the work: another user must decide", user)
	}
	return nil
}

// Key returns a key that is unique among asks.
func (a Ask) Key() string { return a.Task + "/" + a.Call }

// Asks returns the open asks of a chat, or those of standalone tasks if the name is empty, oldest first.
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
		ask := s.withPostedText(chatAsk(c, item))
		if ask.Kind == v1beta1.WaitingQuestion && ask.Message == "" {
			continue // the orchestrator may still answer it; otherwise it will be posted
		}
		asks = append(asks, ask)
	}
	return asks
}

func chatAsk(chat *v1beta1.AgentChat, item v1beta1.ChatWaitingItem) Ask {
	ask := NewAsk(chat.Name, item.Task, item.Waiting)
	if ask.Requesters = chat.Status.Requesters; ask.DenyRequesters && len(ask.Requesters) > 0 && chat.Spec.User != "" {
		ask.Requesters = append(slices.Clip(ask.Requesters), chat.Spec.User)
	}
	return ask
}

// standaloneAsks returns the asks of standalone tasks and everything below them. A sub-agent may wait for several
// approvals; the status of its task has only the first.
func (s Snapshot) standaloneAsks() []Ask {
	var asks []Ask
	for _, task := range s.Tasks {
		if task.Spec.Chat != "" || task.Status.Waiting == nil || waitsForDescendant(task) {
			continue
		}
		first := s.withPostedText(NewAsk("", task.Name, *task.Status.Waiting))
		top := s.rootTask(task)
		first.Requesters = Requesters(&top)
		asks = append(asks, first)
		if sub := s.AgentOf(&task); sub != nil && first.Kind == v1beta1.WaitingApproval {
			asks = append(asks, otherCalls(first, sub.Status.ToolCalls)...)
		}
	}
	return asks
}

// Requesters returns the people who requested a standalone task: its creator, or the author of its trigger and the
// person who fired that. It is empty if they are not known.
func Requesters(task *v1beta1.AgentTask) []string {
	switch {
	case task.Spec.User == "":
		return nil
	case task.Spec.FireUser == "":
		return []string{task.Spec.User}
	}
	return []string{task.Spec.User, task.Spec.FireUser}
}

// waitsForDescendant reports whether the ask of a task belongs to a sub-agent below it, whose own task has it too.
func waitsForDescendant(task v1beta1.AgentTask) bool {
	return task.Status.Waiting.SubAgent != "" && task.Status.Waiting.SubAgent != task.Status.SubAgent
}

func otherCalls(first Ask, calls []v1beta1.ToolCallStatus) []Ask {
	var asks []Ask
	for _, call := range calls {
		if call.Phase != v1beta1.ToolCallWaitingForApproval || call.ID == first.Call {
			continue
		}
		other := first
		other.Call, other.Tool, other.Arguments, other.Digest = call.ID, call.Tool, Arguments(call), call.ArgumentsDigest
		other.Truncated, other.Reasons = call.ArgumentsOmitted, reasonLines(call.PolicyReasons, call.ExpireTime)
		other.ExpireTime, other.Editable = timeOf(call.ExpireTime), call.Editable
		asks = append(asks, other)
	}
	return asks
}

// Arguments returns the arguments of a call in a status as JSON, or an ellipsis if they were left out.
func Arguments(call v1beta1.ToolCallStatus) string {
	if call.ArgumentsOmitted {
		return shorten.Ellipsis
	}
	return textOf(call.Arguments)
}

func textOf(arguments *runtime.RawExtension) string {
	if arguments == nil {
		return ""
	}
	return string(plainjson.Unescape(arguments.Raw))
}

// RootTask returns the name of the standalone task at the root of a task, which may have the workspace of all tasks
// below it.
func (s Snapshot) RootTask(name string) string {
	if task := s.Task(name); task != nil {
		return s.rootTask(*task).Name
	}
	return name
}

func (s Snapshot) rootTask(task v1beta1.AgentTask) v1beta1.AgentTask {
	for range len(s.Tasks) {
		parent := task.Labels[v1beta1.LabelParent]
		i := slices.IndexFunc(s.Tasks, func(t v1beta1.AgentTask) bool { return parent != "" && AgentName(&t) == parent })
		if i < 0 {
			break
		}
		task = s.Tasks[i]
	}
	return task
}

// NewAsk returns the ask in a status.
func NewAsk(chat, task string, w v1beta1.Waiting) Ask {
	ask := Ask{Kind: w.Kind, Chat: chat, Task: task, Agent: w.SubAgent, Call: w.ToolCall, Digest: w.ArgumentsDigest, DenyRequesters: w.DenyRequesters}
	ask.StartTime = timeOf(w.StartTime)
	if w.Kind == v1beta1.WaitingQuestion {
		ask.Question, ask.Truncated = w.Text, strings.HasSuffix(w.Text, shorten.Ellipsis)
		return ask
	}
	ask.Reasons, ask.ExpireTime, ask.Editable = reasonLines(w.PolicyReasons, w.ExpireTime), timeOf(w.ExpireTime), w.Editable
	ask.Tool, ask.Arguments, ask.Truncated = w.Tool, textOf(w.Arguments), w.ArgumentsOmitted
	if w.ArgumentsOmitted {
		ask.Arguments = strings.TrimPrefix(w.Text, w.Tool+" ")
	}
	return ask
}

// withPostedText adds the role, the posted message and its full text to an ask.
func (s Snapshot) withPostedText(ask Ask) Ask {
	if task := s.Task(ask.Task); task != nil {
		ask.Role = task.Spec.Role
	}
	var content strings.Builder // a long request is posted in parts
	for _, m := range s.Messages {
		call := m.Annotations[v1beta1.AnnotationCall]
		if m.Spec.Task != ask.Task || call == "" || (call != ask.Call && (ask.Call != "" || call != ask.Task)) {
			continue
		}
		ask.Message = cmp.Or(ask.Message, m.Name)
		content.WriteString(m.Spec.Content)
	}
	if posted, ok := PostedRequest(content.String()); ok && ask.Kind == v1beta1.WaitingApproval && posted.Tool == ask.Tool {
		ask, _ = ask.WithArguments(posted.Arguments)
	}
	return ask
}
