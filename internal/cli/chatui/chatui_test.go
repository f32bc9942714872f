// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chatui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/view"
)

// recorder records the person's actions.
type recorder struct {
	did     []string
	whole   string
	changes []terminal.ChangeLine
	err     error
}

func (r *recorder) Changes(context.Context, view.Ask) ([]terminal.ChangeLine, error) {
	return r.changes, r.err
}

func (r *recorder) Attach(path string) error {
	r.did = append(r.did, "attach "+path)
	return r.err
}

func (r *recorder) Send(_ context.Context, text, inReplyTo string) error {
	r.did = append(r.did, fmt.Sprintf("say %q to %q", text, inReplyTo))
	return r.err
}

func (r *recorder) FullArguments(_ context.Context, ask view.Ask) (view.Ask, error) {
	whole, ok := ask.WithArguments(r.whole)
	if !ok {
		return ask, errors.New("the history cannot be read")
	}
	return whole, nil
}

func (r *recorder) Decide(_ context.Context, ask view.Ask, a v1beta1.Approval) error {
	r.did = append(r.did, strings.TrimSpace(fmt.Sprintf("%s %s %q %s", a.Decision, ask.Key(), a.Comment, a.Arguments)))
	return r.err
}

func (r *recorder) Edit(context.Context, view.Ask) terminal.Editor { return nil }

func (r *recorder) Cancel(_ context.Context, task string) error {
	r.did = append(r.did, "cancel "+task)
	return r.err
}

func (r *recorder) Set(_ context.Context, field, value string) error {
	r.did = append(r.did, "set "+field+" "+value)
	return r.err
}

func (r *recorder) New(_ context.Context, name string) (string, error) {
	r.did = append(r.did, "new "+name)
	return "chat-2", r.err
}

func (r *recorder) Diff(context.Context) ([]terminal.ChangeLine, error) { return r.changes, r.err }

// harness drives a model in a test.
type harness struct {
	t       *testing.T
	model   tea.Model
	actions *recorder
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	actions := &recorder{}
	s := &harness{t: t, actions: actions, model: New(t.Context(), "chat", "default", actions, time.Unix(100, 0))}
	s.send(tea.WindowSizeMsg{Width: 80, Height: 24})
	return s
}

// send delivers a message. Commands that act run at once; those that wait for time are skipped.
func (s *harness) send(msg tea.Msg) {
	s.t.Helper()
	var cmd tea.Cmd
	s.model, cmd = s.model.Update(msg)
	if cmd == nil {
		return
	}
	if _, isSnapshot := msg.(Updated); isSnapshot {
		return // it may arm the prompt, which waits for time
	}
	switch result := cmd().(type) {
	case actionDone, fetched, changesRead, created:
		s.model, _ = s.model.Update(result)
	}
}

func (s *harness) keys(keys ...string) {
	s.t.Helper()
	for _, k := range keys {
		switch {
		case k == "enter":
			s.send(tea.KeyPressMsg{Code: tea.KeyEnter})
		case k == "esc":
			s.send(tea.KeyPressMsg{Code: tea.KeyEscape})
		case k == "tab":
			s.send(tea.KeyPressMsg{Code: tea.KeyTab})
		case strings.HasPrefix(k, "ctrl+"):
			s.send(tea.KeyPressMsg{Code: rune(k[5]), Mod: tea.ModCtrl})
		default:
			for _, r := range k {
				s.send(tea.KeyPressMsg{Code: r, Text: string(r)})
			}
		}
	}
}

func (s *harness) screen() string { return ansi.Strip(s.model.(Model).View().Content) }

func (s *harness) shows(texts ...string) {
	s.t.Helper()
	for _, text := range texts {
		if !strings.Contains(s.screen(), text) {
			s.t.Errorf("the screen does not show %q:\n%s", text, s.screen())
		}
	}
}

func (s *harness) hides(text string) {
	s.t.Helper()
	if strings.Contains(s.screen(), text) {
		s.t.Errorf("the screen shows %q:\n%s", text, s.screen())
	}
}

func (s *harness) did(want ...string) {
	s.t.Helper()
	if got := strings.Join(s.actions.did, "; "); got != strings.Join(want, "; ") {
		s.t.Errorf("did %s, want %s", got, want)
	}
}

func chat(waiting ...v1beta1.ChatWaitingItem) view.Snapshot {
	c := v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Name: "chat"}}
	c.Status.Phase, c.Status.Waiting = v1beta1.ChatIdle, waiting
	s := view.Snapshot{Chats: []v1beta1.AgentChat{c}}
	for _, w := range waiting {
		m := v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Name: "post-" + w.Task, Annotations: map[string]string{v1beta1.AnnotationCall: w.ToolCall}}}
		m.Spec.Role, m.Spec.Task, m.Spec.Content = v1beta1.RoleAssistant, w.Task, "Agent X needs input: "+w.Text
		task := v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Name: w.Task}}
		task.Spec.Chat, task.Spec.Role, task.Status.Phase = "chat", "coder", v1beta1.TaskWaiting
		s.Messages, s.Tasks = append(s.Messages, m), append(s.Tasks, task)
	}
	return s
}

func question(task string) v1beta1.ChatWaitingItem {
	return v1beta1.ChatWaitingItem{Task: task, Waiting: v1beta1.Waiting{Kind: v1beta1.WaitingQuestion, Text: "Which one?", ToolCall: "q-" + task}}
}

func approval(task string) v1beta1.ChatWaitingItem {
	return approvalOf(task, "bash", `{"command":"rm x"}`)
}

func TestEnterSendsTheInput(t *testing.T) {
	s := newHarness(t)
	s.send(Updated(chat()))
	s.shows("Nothing has been said yet.")
	s.keys("hello", "enter", "enter")
	s.did(`say "hello" to ""`)
	s.hides("❯ hello")
}

func TestFailedMessageStaysInInput(t *testing.T) {
	s := newHarness(t)
	s.actions.err = errors.New("no right to do that")
	s.keys("hello", "enter")
	s.shows("no right to do that", "❯ hello")
}

func TestAnswerGoesToAskingAgent(t *testing.T) {
	s := newHarness(t)
	s.send(Updated(chat(question("chat-1"))))
	s.shows("? coder (chat-1) asks: Which one?", "enter answers it")
	s.keys("this", "enter", "esc", "never mind", "enter", "esc", "that", "enter")
	s.did(`say "this" to "post-chat-1"`, `say "never mind" to ""`, `say "that" to "post-chat-1"`)
	s.send(Updated(chat()))
	s.hides("Which one?")
}

func TestCallIsShownThenDecidedOnce(t *testing.T) {
	s := newHarness(t)
	s.send(Updated(chat(approval("chat-1"), approval("chat-2"))))
	s.shows("! coder (chat-1) wants to run bash  (1 of 2)", "command: rm x")
	s.hides("ctrl+y approve")
	s.keys("ctrl+y")
	s.did()
	s.shows("only just appeared")

	s.send(armed("chat-2/c-chat-2")) // the timer of another call
	s.keys("ctrl+y")
	s.did()
	s.send(armed("chat-1/c-chat-1"))
	s.shows("ctrl+y approve")
	s.keys("ctrl+y", "ctrl+y")
	s.did("Approve chat-1/c-chat-1 \"\"")

	s.send(Updated(chat(approval("chat-2"))))
	s.send(armed("chat-2/c-chat-2"))
	s.keys("no way", "ctrl+n")
	s.did("Approve chat-1/c-chat-1 \"\"", "Deny chat-2/c-chat-2 \"no way\"")
}

func TestEditedArgumentsApprove(t *testing.T) {
	s := newHarness(t)
	item := approval("chat-1")
	s.send(Updated(chat(item)))
	s.send(armed("chat-1/c-chat-1"))
	s.hides("ctrl+e")
	item.Editable = true
	s.send(Updated(chat(item)))
	s.shows("ctrl+y approve · ctrl+n deny · ctrl+e edit")
	s.keys("careful", "ctrl+e") // the harness opens no editor
	s.send(edited{call: "chat-1/c-chat-1", err: errors.New("the arguments were not changed")})
	s.shows("the arguments were not changed")
	s.send(edited{call: "chat-0/c-chat-0", arguments: "{}"})
	s.shows("the call does not wait any more")
	s.did()
	s.send(edited{call: "chat-1/c-chat-1", arguments: "{}"})
	s.did(`Approve chat-1/c-chat-1 "careful" {}`)
	s.shows("approved bash of chat-1 with changed arguments")
}

// The reasons of policies are lines of the call: they are on the screen before it can be approved, and stay in the conversation.
func TestCallShowsWhyPoliciesRequireIt(t *testing.T) {
	item := approval("chat-1")
	item.PolicyRules = []v1beta1.WaitingRule{{Policy: "team/writes", Rule: "people", Message: "Ask first."}}
	item.ContentLabels = []v1beta1.ReceivedLabel{{Name: "untrusted", Source: "read", ToolCall: "c1"}}
	request := v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Name: "p", Annotations: map[string]string{v1beta1.AnnotationCall: "c"}}}
	request.Spec = v1beta1.AgentMessageSpec{Chat: "chat", Role: v1beta1.RoleAssistant, Task: "chat-0",
		Content: "Agent Coder asks for approval of `bash` (task chat-0, call c).\nRequired by policy team/earlier, rule r\nArguments:\n{\"command\":\"rm y\"}"}
	now := chat(item)
	now.Messages = append(now.Messages, request)
	s := newHarness(t)
	s.send(Updated(now))
	s.shows("Agent Coder asks for approval of bash (chat-0)", "    Required by policy team/earlier, rule r", "    command: rm y",
		"    Required by policy team/writes, rule people: Ask first.", "    The agent's context is untrusted (since call c1 of read)", "    command: rm x")
}

func TestFailedDecisionCanBeRepeated(t *testing.T) {
	s := newHarness(t)
	s.send(Updated(chat(approval("chat-1"))))
	s.send(armed("chat-1/c-chat-1"))
	s.actions.err = errors.New("the operator does not respond")
	s.keys("ctrl+y")
	s.shows("the operator does not respond")
	s.actions.err = nil
	s.keys("ctrl+y")
	s.did("Approve chat-1/c-chat-1 \"\"", "Approve chat-1/c-chat-1 \"\"")
}

func TestSlashCommands(t *testing.T) {
	s := newHarness(t)
	s.send(Updated(chat(approval("chat-1"), approval("chat-2"))))
	s.keys("/deny chat-2 too risky", "enter", "/approve fine", "enter", "/cancel chat-1", "enter", "/cancel", "enter", "//etc", "enter")
	s.did(`Deny chat-2/c-chat-2 "too risky"`, `Approve chat-1/c-chat-1 "fine"`, "cancel chat-1", "cancel ", `say "/etc" to ""`)
	s.keys("/nonsense", "enter")
	s.shows("there is no command /nonsense", "❯ /nonsense")
}

func TestCancelNeedsKeyTwice(t *testing.T) {
	s := newHarness(t)
	s.send(Updated(chat(question("chat-1"))))
	s.keys("tab", "ctrl+x")
	s.did()
	s.shows("press ctrl+x again to cancel chat-1")
	s.keys("enter", "ctrl+x") // another key resets it
	s.did()
	s.keys("ctrl+x")
	s.did("cancel chat-1")
}

func TestMessageReplacesStreamedReply(t *testing.T) {
	s := newHarness(t)
	s.send(Updated(chat()))
	s.send(Delta{Text: "Hello\x1b[2J wor"})
	s.send(Delta{Text: "ld"})
	s.shows("nestor …", "Hello␛[2J world")
	s.send(Delta{Text: "Again", Reset: true})
	s.hides("world")
	now := chat()
	m := v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Name: "p1"}}
	m.Spec.Role, m.Spec.Content = v1beta1.RoleAssistant, "Again and whole"
	now.Messages = append(now.Messages, m)
	s.send(Updated(now))
	s.shows("Again and whole")
	s.hides("nestor …")
}

func TestFilesAttachToNextMessage(t *testing.T) {
	s := newHarness(t)
	now := chat()
	m := v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Name: "u9"}}
	m.Spec.Role, m.Spec.Content = v1beta1.RoleUser, "See."
	m.Spec.Attachments = []v1beta1.Attachment{{Name: "a.png", MediaType: "image/png", Data: []byte("12345")},
		{Name: "b.csv", MediaType: "text/csv", ConfigMapKeyRef: &v1beta1.ConfigMapKeyRef{Name: "tables", Key: "b"}}}
	now.Messages = append(now.Messages, m)
	s.send(Updated(now))
	s.shows("[image a.png, image/png, 5 bytes]", "[b.csv, text/csv, ConfigMap tables]")
	s.keys(strings.Split("/attach c.png", "")...)
	s.keys("enter")
	s.did("attach c.png")
	s.shows("attached c.png to the next message")
}

func TestReasoningIsOneLineWhileStreaming(t *testing.T) {
	s := newHarness(t)
	s.send(Updated(chat()))
	s.send(Delta{Reasoning: "First I look\x1b[2J at it.\n"})
	s.shows("nestor …", "reasoning: First I look␛[2J at it.")
	s.send(Delta{Reasoning: strings.Repeat("Then I go on. ", 200) + "Now I know."})
	s.shows("reasoning: …", "Now I know.")
	s.hides("First I look")
	s.send(Delta{Text: "It is 42."})
	s.shows("Now I know.", "It is 42.")
	s.send(Delta{Complete: "It is 42."})
	s.shows("It is 42.")
	s.hides("Now I know.")

	s.send(Delta{Reasoning: "Of a call that failed."})
	s.send(Delta{Reasoning: "Again.", Reset: true})
	s.hides("Of a call that failed.")
	s.shows("reasoning: Again.")
}

func TestTextBesideToolCallStays(t *testing.T) {
	s := newHarness(t)
	s.send(Updated(chat()))
	s.send(Delta{Text: "Let me ask a resear"})
	other := chat()
	m := v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Name: "p1"}}
	m.Spec.Role, m.Spec.Content = v1beta1.RoleAssistant, "Agent Coder needs input: Which one?"
	other.Messages = append(other.Messages, m)
	s.send(Updated(other)) // a message of another agent
	s.shows("nestor …", "Let me ask a resear")
	s.send(Delta{Complete: "Let me ask a researcher."})
	s.shows("nestor …", "Let me ask a researcher.")
	m.Name, m.Spec.Content = "p2", "Let me ask a researcher."
	other.Messages = append(other.Messages, m)
	s.send(Updated(other))
	s.shows("Let me ask a researcher.")
	s.hides("nestor …")
	s.send(Delta{Complete: "Let me ask a researcher."}) // the stream may lag
	s.hides("nestor …")

	s.send(Delta{Complete: "Nobody posts this."})
	s.shows("Nobody posts this.")
	s.send(ticked(time.Unix(110, 0)))
	s.hides("Nobody posts this.")
}

func TestProblemsAreShown(t *testing.T) {
	s := newHarness(t)
	now := chat()
	now.Err = errors.New("connection refused")
	s.send(Updated(now))
	s.shows("connection lost, retrying:  connection refused")
	now.Err, now.Chats = nil, nil
	s.send(Updated(now))
	s.shows("this chat has been deleted")
	now = chat()
	now.Chats[0].Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionReady, Status: metav1.ConditionFalse, Reason: "ProviderNotFound", Message: "Create it."}}
	s.send(Updated(now))
	s.shows("ProviderNotFound: Create it.")
}

func TestEverythingFitsIntoAnyWindow(t *testing.T) {
	long := approval("chat-1")
	long.Arguments.Raw = []byte(`{"command":"` + strings.Repeat(`line\n`, 60) + strings.Repeat("x", 300) + `"}`)
	for _, size := range [][2]int{{80, 24}, {40, 10}, {20, 6}, {10, 4}, {200, 60}, {1, 1}} {
		s := newHarness(t)
		s.send(Updated(chat(long, question("chat-2"))))
		s.keys(strings.Repeat("long words ", 40), "ctrl+o")
		s.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		for _, line := range strings.Split(s.screen(), "\n") {
			if ansi.StringWidth(line) > size[0] && size[0] >= 10 {
				t.Errorf("at %v a line is too long: %q", size, line)
			}
		}
		if lines := strings.Count(s.screen(), "\n") + 1; lines > size[1] && size[1] >= 10 {
			t.Errorf("at %v there are %d lines:\n%s", size, lines, s.screen())
		}
	}
}

func TestNarrowWindowShowsWholeAnswer(t *testing.T) {
	s := newHarness(t)
	now := chat()
	m := v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Name: "p1"}}
	m.Spec.Role = v1beta1.RoleAssistant
	m.Spec.Content = "- Security: tokens are compared in constant time, but errors tell an attacker whether a user exists.\n\n```\n" +
		"a line of code that is a good deal longer than the window is wide\n```\n"
	now.Messages = append(now.Messages, m)
	s.send(Updated(now))
	for width := 30; width < 90; width++ {
		s.send(tea.WindowSizeMsg{Width: width, Height: 30})
		for _, word := range strings.Fields(strings.NewReplacer("- ", "", "`", "").Replace(m.Spec.Content)) {
			if !strings.Contains(s.screen(), word) {
				t.Fatalf("at %d columns %q is lost:\n%s", width, word, s.screen())
			}
		}
	}
}

func approvalOf(task, tool, arguments string) v1beta1.ChatWaitingItem {
	return v1beta1.ChatWaitingItem{Task: task, Waiting: v1beta1.Waiting{
		Kind: v1beta1.WaitingApproval, Text: tool + " " + arguments, Tool: tool, Arguments: &runtime.RawExtension{Raw: []byte(arguments)}, ToolCall: "c-" + task,
	}}
}

// longApproval returns a call whose arguments do not fit into a status.
func longApproval(task string) (item v1beta1.ChatWaitingItem, arguments string) {
	arguments = `{"command":"` + strings.Repeat(`echo line\n`, 100) + `echo the\u202e end"}`
	item = approval(task)
	item.Text, item.ArgumentsDigest = "bash "+arguments[:200]+"…", agent.CallDigest("bash", arguments)
	item.Arguments, item.ArgumentsOmitted = nil, true
	return item, arguments
}

func TestLongCallIsShownBeforeApproval(t *testing.T) {
	s := newHarness(t)
	item, arguments := longApproval("chat-1")
	s.send(Updated(chat(item)))
	s.send(armed("chat-1/c-chat-1"))
	s.shows("the arguments are cut here")
	s.keys("ctrl+y")
	s.did()
	s.shows("the history cannot be read")

	s.actions.whole = arguments
	s.keys("ctrl+y")
	s.did()
	s.hides("cut here")
	s.keys("ctrl+y")
	s.did()
	s.shows("read the whole call first", "lines 1 to 8 of 102")
	for range 20 {
		s.send(tea.KeyPressMsg{Code: tea.KeyPgDown})
	}
	s.shows(`echo the\u202e end`, "of 102")
	s.keys("ctrl+y")
	s.did("Approve chat-1/c-chat-1 \"\"")
}

func TestLongCallCanBeDeniedUnread(t *testing.T) {
	s := newHarness(t)
	item, _ := longApproval("chat-1")
	s.send(Updated(chat(item)))
	s.send(armed("chat-1/c-chat-1"))
	s.keys("ctrl+n")
	s.did("Deny chat-1/c-chat-1 \"\"")
}

func TestApproveLongCallByName(t *testing.T) {
	s := newHarness(t)
	item, arguments := longApproval("chat-2")
	s.actions.whole = arguments
	s.send(Updated(chat(approval("chat-1"), item)))
	s.keys("/approve chat-2", "enter")
	s.did()
	s.shows("coder (chat-2) wants to run bash", "read it below")
}

func TestWaitStateIsShown(t *testing.T) {
	s := newHarness(t)
	now := chat()
	now.Chats[0].Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionReady, Status: metav1.ConditionTrue, Reason: "PausedLoop", Message: "The same delegation came five times."}}
	s.send(Updated(now))
	s.shows("paused (PausedLoop): The same delegation came five times.")
	now.Chats[0].Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionReady, Status: metav1.ConditionFalse, Reason: "QuotaExhausted", Message: "It resets at noon."}}
	s.send(Updated(now))
	s.shows("waits (QuotaExhausted): It resets at noon.")
	now = chat()
	task := v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Name: "chat-1"}}
	task.Spec.Chat, task.Status.Phase = "chat", v1beta1.TaskRunning
	task.Status.Conditions = []metav1.Condition{{Type: "Reconciling", Status: metav1.ConditionTrue, Reason: "RateLimited", Message: "Slow down."}}
	now.Tasks = append(now.Tasks, task)
	s.send(Updated(now))
	s.shows("waits (RateLimited): Slow down.")
}
