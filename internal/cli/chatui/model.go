// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chatui

import (
	"context"
	"time"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/view"
)

// Actions are what the person can do in a chat.
type Actions interface {
	// Send sends a message. With inReplyTo it answers the question in the message of that name.
	Send(ctx context.Context, text, inReplyTo string) error
	// Attach attaches a file to the next message.
	Attach(path string) error
	// FullArguments returns an ask with the full arguments of its call.
	FullArguments(ctx context.Context, ask view.Ask) (view.Ask, error)
	// Changes returns what a call would change in a file. It returns no lines for arguments that cannot be shown as a diff.
	Changes(ctx context.Context, ask view.Ask) ([]terminal.ChangeLine, error)
	// Decide decides about a tool call, with the decision, comment and arguments of an approval.
	Decide(ctx context.Context, ask view.Ask, approval v1beta1.Approval) error
	// Edit returns the editor for the arguments of a call.
	Edit(ctx context.Context, ask view.Ask) terminal.Editor
	// Cancel stops a task, or with an empty name all the work of the chat.
	Cancel(ctx context.Context, task string) error
	// Set sets a field of the chat's spec, role or model, from the next turn on.
	Set(ctx context.Context, field, value string) error
	// New creates a chat, and returns its name. An empty name is generated.
	New(ctx context.Context, name string) (string, error)
	// Diff returns the changes of the workspace.
	Diff(ctx context.Context) ([]terminal.ChangeLine, error)
}

// Updated is sent when the chat has changed.
type Updated view.Snapshot

// Delta is a delta of a streamed reply.
type Delta struct {
	// Agent is the sub-agent that replies, or "" for the orchestrator.
	Agent string
	Text  string
	// Reasoning is the next part of the model's reasoning before the text.
	Reasoning string
	// Reset drops the text so far: the call is retried, or a message has the complete reply.
	Reset bool
	// Complete is the complete reply of the orchestrator. Its message may arrive before or after it.
	Complete string
}

// WatchEnded is sent when the watch of the chat has ended.
type WatchEnded struct{ Err error }

// Problems are sentences about what keeps agents from working, shown below the header while they last.
type Problems []string

// Model is the state of the screen. Use New.
type Model struct {
	ctx       context.Context //nolint:containedctx // commands that Bubble Tea runs need one, and it passes none
	chat      string
	namespace string // the namespace, for the header
	actions   Actions

	width, height int
	now           time.Time
	snapshot      view.Snapshot
	streams       map[string]string
	reasoning     map[string]string // the newest part of the reasoning before the text in streams
	replyEnded    time.Time         // when the orchestrator's reply in streams was complete
	loaded        bool              // a snapshot has arrived

	input         textarea.Model
	pane          viewport.Model
	blocks        []blockSpan // where the blocks are in the pane, in order
	focused       bool        // on the blocks rather than on the input
	selected      string      // the task of the selected block
	expanded      map[string]bool
	pendingCancel string // the task to cancel if the key is pressed again

	prompt         prompt
	changes        changesView
	recall         recall
	next           string   // the chat to open after this one
	chosenCall     string   // the call that the person named, shown before others
	fullAsk        view.Ask // the shown call with its full arguments, if the status has only the beginning
	toOrchestrator bool     // send the input to the orchestrator although a question waits
	notice         notice
	problems       Problems
	pages          *markdownCache
}

// notice is a message in the footer.
type notice struct {
	text    string
	isError bool
}

func New(ctx context.Context, chat, namespace string, actions Actions, now time.Time) Model {
	input := textarea.New()
	input.Prompt, input.ShowLineNumbers = "❯ ", false
	input.CharLimit, input.MaxContentHeight = maxMessage, maxMessage
	input.DynamicHeight, input.MinHeight, input.MaxHeight = true, 1, 6
	input.KeyMap.InsertNewline = key.NewBinding(key.WithKeys("alt+enter", "shift+enter", "ctrl+j"))
	input.SetStyles(inputStyles())
	input.SetVirtualCursor(false)
	input.Focus()
	return Model{
		ctx: ctx, chat: chat, namespace: namespace, actions: actions, now: now, width: 80, height: 24,
		streams: map[string]string{}, reasoning: map[string]string{}, expanded: map[string]bool{}, input: input, pane: viewport.New(), pages: newMarkdownCache(),
	}
}

// Next returns the chat that the person created to continue there, or "".
func (m Model) Next() string { return m.next }

// maxMessage is the maximum length of a message.
const maxMessage = 65536

// Init starts the clock.
func (m Model) Init() tea.Cmd { return tick() }

// ticked is sent every second.
type ticked time.Time

func tick() tea.Cmd {
	return tea.Tick(time.Second, func(t time.Time) tea.Msg { return ticked(t) })
}

// status returns the chat's status, or an empty one before the first snapshot.
func (m Model) status() v1beta1.AgentChatStatus {
	if c := m.snapshot.Chat(m.chat); c != nil {
		return c.Status
	}
	return v1beta1.AgentChatStatus{}
}

// firstAsk returns the first ask of a kind and how many there are.
func (m Model) firstAsk(kind v1beta1.WaitingKind) (first view.Ask, count int) {
	for _, ask := range m.snapshot.Asks(m.chat) {
		if ask.Kind != kind {
			continue
		}
		if count == 0 || (kind == v1beta1.WaitingApproval && ask.Key() == m.chosenCall) {
			first = ask
		}
		count++
	}
	if first.Truncated && m.fullAsk.Key() == first.Key() {
		return m.fullAsk, count
	}
	return first, count
}
