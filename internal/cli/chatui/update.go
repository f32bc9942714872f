// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chatui

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/shorten"
	"github.com/nestor-dev/nestor/internal/view"
)

func (m Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case Updated:
		m, cmd = m.onSnapshot(view.Snapshot(msg))
	case Delta:
		m = m.onDelta(msg)
	case ticked:
		m.now, cmd = time.Time(msg), tick()
		m = m.dropUnpostedReply()
	case armed:
		m.prompt = m.prompt.arm(msg)
	case edited:
		m, cmd = m.onEdited(msg)
	case actionDone:
		m = m.onAction(msg)
	case created:
		m.next, cmd = string(msg), tea.Quit
	case fetched:
		m = m.onFetched(msg)
	case changesRead:
		m.changes = m.changes.read(msg)
	case Problems:
		m.problems = msg
	case WatchEnded:
		m.notice = notice{fmt.Sprintf("lost the watch of the chat: %v", msg.Err), true}
	case tea.KeyPressMsg:
		m, cmd = m.handleKey(msg)
	case tea.PasteMsg:
		m.focused, m.changes, m.notice = false, changesView{}, notice{}
		m.input, cmd = m.input.Update(msg)
	default:
		m.input, cmd = m.input.Update(msg)
	}
	return m.layout(), cmd
}

func (m Model) onSnapshot(s view.Snapshot) (Model, tea.Cmd) {
	m.snapshot, m.loaded = s, true
	if m.posted(m.streams[""]) {
		m.dropStream("") // a message has the streamed reply now
	}
	for _, task := range s.Tasks {
		if view.Ended(task.Status.Phase) {
			m.dropStream(task.Name)
		}
	}
	if _, questions := m.firstAsk(v1beta1.WaitingQuestion); questions == 0 {
		m.toOrchestrator = false
	}
	ask, approvals := m.firstAsk(v1beta1.WaitingApproval)
	if approvals == 0 {
		m.prompt = prompt{}
		return m.closeStaleChanges(), nil
	}
	m, cmd := m.showApproval(ask)
	return m.closeStaleChanges(), cmd
}

// showApproval shows a call in the panel and, if the status has only the beginning, fetches the rest.
func (m Model) showApproval(ask view.Ask) (Model, tea.Cmd) {
	shown := m.prompt.key == ask.Key()
	var cmd tea.Cmd
	m.prompt, cmd = m.prompt.forCall(ask.Key())
	if shown || !ask.Truncated {
		return m, cmd
	}
	return m, tea.Batch(cmd, m.fetch(ask))
}

// fetched is a call with its full arguments, or the error of reading them.
type fetched struct {
	ask view.Ask
	err error
}

func (m Model) fetch(ask view.Ask) tea.Cmd {
	return func() tea.Msg {
		whole, err := m.actions.FullArguments(m.ctx, ask)
		return fetched{whole, err}
	}
}

func (m Model) onFetched(f fetched) Model {
	if f.err != nil {
		m.notice = notice{f.err.Error(), true}
		return m
	}
	m.fullAsk = f.ask
	return m
}

// recentMessages limits the search for the message of a reply.
const recentMessages = 8

// posted reports whether a recent message of the orchestrator has the reply, as far as it has streamed in.
func (m Model) posted(reply string) bool {
	reply = strings.TrimSpace(reply)
	messages := m.snapshot.Messages
	for _, message := range messages[max(0, len(messages)-recentMessages):] {
		content := strings.TrimSpace(message.Spec.Content)
		if message.Spec.Role != v1beta1.RoleAssistant || reply == "" || content == "" {
			continue
		}
		if strings.HasPrefix(content, reply) || strings.HasPrefix(reply, content) { // a long one is posted in parts
			return true
		}
	}
	return false
}

// unpostedReplyTimeout is how long a complete reply stays without a message: some replies of an orchestrator are not posted.
const unpostedReplyTimeout = 5 * time.Second

// dropUnpostedReply drops a complete reply that was not posted within unpostedReplyTimeout.
func (m Model) dropUnpostedReply() Model {
	if !m.replyEnded.IsZero() && m.now.Sub(m.replyEnded) > unpostedReplyTimeout {
		m.dropStream("")
		m.replyEnded = time.Time{}
	}
	return m
}

func (m Model) dropStream(agent string) {
	delete(m.streams, agent)
	delete(m.reasoning, agent)
}

// reasoningLine returns the newest part of an agent's reasoning as one line, or "".
func (m Model) reasoningLine(agent string, width int) string {
	text := terminal.Line(m.reasoning[agent])
	if text == "" {
		return ""
	}
	const label = "reasoning: "
	return label + shorten.Tail(text, max(1, width-len(label)))
}

// maxReasoning is how much of a reasoning is kept, in characters: one line of it is shown.
const maxReasoning = 500

func (m Model) onDelta(p Delta) Model {
	if p.Agent == "" {
		m.replyEnded = time.Time{}
	}
	if p.Complete != "" {
		m.streams[""], m.replyEnded = p.Complete, m.now
		delete(m.reasoning, "")
		if m.posted(p.Complete) {
			m.dropStream("")
		}
		return m
	}
	if p.Reset {
		m.dropStream(p.Agent)
	}
	if p.Reasoning != "" {
		m.reasoning[p.Agent] = shorten.Tail(m.reasoning[p.Agent]+p.Reasoning, maxReasoning)
	}
	if p.Text != "" {
		m.streams[p.Agent] += p.Text
	}
	return m
}

// actionDone is the outcome of the person's action.
type actionDone struct {
	done string // the notice for success
	text string // the input to restore after a failure
	err  error
}

func (m Model) onAction(a actionDone) Model {
	if a.err == nil {
		m.notice = notice{a.done, false}
		return m
	}
	m.notice = notice{a.err.Error(), true}
	m.prompt.decided = false
	if m.input.Value() == "" {
		m.input.SetValue(a.text)
	}
	return m
}
