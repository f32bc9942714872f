// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agui

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"k8s.io/utils/ptr"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/gateway/run"
	"github.com/nestor-dev/nestor/internal/shorten"
)

// maxDescription bounds the instruction of a sub-agent in its event.
const maxDescription = 500

// The control tools that end a run: their input is the result, which is sent as text.
var endingTools = []string{"submit_result", "submit_error"}

// mapper turns the events of a run into those of one AG-UI stream. It closes everything that it opens before the
// stream ends.
type mapper struct {
	in   *input
	task string
	out  []event
	// state is the client's state, which every snapshot of the state must contain.
	state map[string]any
	// text is the id of the open text message, and written its content. replaced counts the messages that were void.
	text     string
	written  string
	replaced int
	// streamed reports that the text since the last entry was sent while the model wrote it.
	streamed bool
	// calls are the tool calls without a result, in order.
	calls []string
	// children are the open sub-agents, in order.
	children []string
	usage    tokenUsage
	// messages are those of this run, for a snapshot.
	messages []message
}

func newMapper(in *input, task string) *mapper {
	return &mapper{in: in, task: task, state: in.state()}
}

// take returns the events since the last take.
func (m *mapper) take() []event {
	out := m.out
	m.out = nil
	return out
}

func (m *mapper) send(events ...event) { m.out = append(m.out, events...) }

// start begins the stream.
func (m *mapper) start(task *v1beta1.AgentTask) {
	m.send(runStarted{Type: typeRunStarted, ThreadID: m.in.ThreadID, RunID: m.in.RunID, ProtocolVersion: protocolVersion, ParentRunID: m.in.ParentRunID})
	m.sendState(task)
	if len(m.in.Tools) == 0 {
		return
	}
	names := make([]string, len(m.in.Tools))
	for i, t := range m.in.Tools {
		names[i] = t.Name
	}
	m.send(customEvent{typeCustom, "nestor.dev/tools-not-offered", names})
}

// sendState sends the state of the task, under its own key of the client's state.
func (m *mapper) sendState(task *v1beta1.AgentTask) {
	usage := task.Status.Usage
	state := maps.Clone(m.state)
	state["nestor"] = map[string]any{
		"namespace": task.Namespace, "task": task.Name, "role": task.Spec.Role, "phase": cmp.Or(task.Status.Phase, v1beta1.TaskPending),
		"usage": map[string]any{
			"promptTokens": usage.PromptTokens, "completionTokens": usage.CompletionTokens, "totalTokens": usage.TotalTokens, "modelCalls": usage.ModelCalls,
		},
	}
	m.send(stateEvent{typeState, state})
}

// add turns an event into those of the stream. It reports whether the stream ends with it.
func (m *mapper) add(e run.Event) (last bool) {
	switch e.Kind {
	case run.Text:
		m.addText(e)
	case run.Replace:
		m.replace()
	case run.Entry:
		m.addEntry(e.Entry)
	case run.Waiting:
		m.interrupt(e)
		return true
	case run.Working:
		m.sendState(e.Task)
	case run.End:
		m.end(e.Task)
		return true
	}
	return false
}

// addText sends a piece of the answer. The id of its message follows from the position, so that a repeated stream has
// the same one.
func (m *mapper) addText(e run.Event) {
	if m.text == "" {
		m.text = fmt.Sprintf("%s-%d-%d", m.task, e.Cursor.Seq, m.replaced)
		m.send(messageEvent{typeTextStart, m.text, "assistant"})
	}
	m.send(contentEvent{typeTextContent, m.text, e.Text})
	m.written += e.Text
	m.streamed = true
}

// notify sends a message that is not from the run.
func (m *mapper) notify(text string) {
	notice := message{ID: m.task + "-notice-" + digest(m.in.RunID), Role: "assistant", Content: text}
	m.say(notice.ID, text)
	m.messages = append(m.messages, notice)
}

func (m *mapper) say(id, text string) {
	m.send(messageEvent{typeTextStart, id, "assistant"}, contentEvent{typeTextContent, id, text}, messageEvent{Type: typeTextEnd, MessageID: id})
}

func (m *mapper) closeText() {
	if m.text == "" {
		return
	}
	m.send(messageEvent{Type: typeTextEnd, MessageID: m.text})
	m.messages = append(m.messages, message{ID: m.text, Role: "assistant", Content: m.written})
	m.text, m.written = "", ""
}

// replace removes the open message from the conversation: the reply broke off and was requested again, or was no
// result. The protocol has no other way than a snapshot of the conversation without the message.
func (m *mapper) replace() {
	m.streamed = false
	if m.text == "" {
		return
	}
	m.send(messageEvent{Type: typeTextEnd, MessageID: m.text})
	m.text, m.written = "", ""
	m.replaced++
	all := make([]any, 0, len(m.in.Messages)+len(m.messages))
	for _, sent := range m.in.Messages {
		all = append(all, sent)
	}
	for _, own := range m.messages {
		all = append(all, own)
	}
	m.send(messagesEvent{typeMessages, all})
}

func (m *mapper) addEntry(e *historyv1.Entry) {
	m.count(e.Usage)
	if m.streamed && e.Outcome == nil {
		m.replace() // the streamed text is not the result
	}
	switch e.Kind {
	case historyv1.EntryAssistant:
		m.addReply(e)
	case historyv1.EntryChildResult:
		m.closeChild(e)
	case historyv1.EntryToolResult, historyv1.EntryAnswer, historyv1.EntryDecision, historyv1.EntryRestarted, historyv1.EntryCancelled:
		m.addResults(e)
	}
}

// addReply sends a reply of the model: its reasoning, its text unless it was streamed, its tool calls and children.
func (m *mapper) addReply(e *historyv1.Entry) {
	id := fmt.Sprintf("%s-%d", m.task, e.Seq)
	m.closeText()
	if e.Reasoning != "" {
		m.addReasoning(id+"-reasoning", e.Reasoning)
	}
	ends := slices.ContainsFunc(e.ToolCalls, func(c historyv1.ToolCall) bool { return slices.Contains(endingTools, c.Tool) })
	if e.Content != "" && !m.streamed && !ends {
		m.say(id, e.Content)
	}
	m.streamed = false
	reply := message{ID: id, Role: "assistant", Content: e.Content}
	for _, call := range e.ToolCalls {
		if !slices.Contains(endingTools, call.Tool) {
			reply.ToolCalls = append(reply.ToolCalls, m.addCall(id, call))
		}
	}
	if len(reply.ToolCalls) > 0 || (e.Content != "" && !ends) {
		m.messages = append(m.messages, reply)
	}
	for _, child := range e.Children {
		m.openChild(child)
	}
	m.addResults(e)
}

func (m *mapper) addReasoning(id, text string) {
	m.send(
		messageEvent{Type: typeReasoningStart, MessageID: id}, messageEvent{typeReasoningOpen, id, "reasoning"},
		contentEvent{typeReasoningContent, id, text},
		messageEvent{Type: typeReasoningClose, MessageID: id}, messageEvent{Type: typeReasoningEnd, MessageID: id},
	)
}

// callID returns the id of a tool call. Providers reuse ids; the name of the task makes them unique in a thread.
func callID(task, call string) string { return task + "/" + call }

func (m *mapper) addCall(parent string, call historyv1.ToolCall) toolCall {
	id := callID(m.task, call.ID)
	m.send(toolEvent{typeToolStart, id, call.Tool, parent}, argsEvent{typeToolArgs, id, call.Arguments}, toolEvent{Type: typeToolEnd, ToolCallID: id})
	m.calls = append(m.calls, id)
	return toolCall{ID: id, Type: "function", Function: function{call.Tool, call.Arguments}}
}

// addResults sends the results of the calls of an entry that have ended.
func (m *mapper) addResults(e *historyv1.Entry) {
	for _, call := range e.ToolCalls {
		if slices.Contains(endingTools, call.Tool) {
			continue
		}
		switch call.Phase {
		case historyv1.ToolCallSuccess, historyv1.ToolCallFailed, historyv1.ToolCallDenied, historyv1.ToolCallUnknown:
			text := call.Result
			if e.Kind != historyv1.EntryAssistant {
				text = cmp.Or(text, e.Content)
			}
			m.addResult(callID(m.task, call.ID), cmp.Or(text, string(call.Phase)), e.Seq)
		}
	}
}

func (m *mapper) addResult(call, text string, seq int64) {
	id := fmt.Sprintf("%s-%d", call, seq)
	m.send(resultEvent{typeToolResult, id, call, text, "tool"})
	m.messages = append(m.messages, message{ID: id, Role: "tool", Content: text, ToolCallID: call})
	m.calls = slices.DeleteFunc(m.calls, func(open string) bool { return open == call })
}

// openChild sends the start of a sub-agent or tool run.
func (m *mapper) openChild(child historyv1.ChildRun) {
	if slices.Contains(m.children, child.Name) {
		return
	}
	m.children = append(m.children, child.Name)
	m.send(stepEvent{typeStepStarted, child.Name})
	if !m.in.modern() {
		return
	}
	started := subagentStarted{
		Type: typeSubagentStarted, SubagentRunID: child.Name, Name: cmp.Or(child.Role, child.Tool, child.Name),
		Description: shorten.Head(child.Instruction, maxDescription),
	}
	if child.ToolCall != "" {
		started.ParentToolCallID = callID(m.task, child.ToolCall)
	}
	m.send(started)
}

// closeChild sends the end of a sub-agent. One that was started in an earlier stream of the run is started here as
// well.
func (m *mapper) closeChild(e *historyv1.Entry) {
	m.openChild(historyv1.ChildRun{Name: e.Child})
	ended := subagentEnded{Type: typeSubagentFinished, SubagentRunID: e.Child, Result: e.Content}
	if e.Error != "" {
		ended = subagentEnded{Type: typeSubagentError, SubagentRunID: e.Child, Message: cmp.Or(e.Content, e.Error), Code: e.Error}
	}
	m.endChild(e.Child, ended)
	m.addResults(e)
}

func (m *mapper) endChild(name string, ended subagentEnded) {
	if m.in.modern() {
		m.send(ended)
	}
	m.send(stepEvent{typeStepFinished, name})
	m.children = slices.DeleteFunc(m.children, func(open string) bool { return open == name })
}

// interrupt ends the stream because the run waits for a person.
func (m *mapper) interrupt(e run.Event) {
	i := interruptOf(m.task, *e.Ask, e.Cursor)
	m.closeText()
	for _, child := range slices.Clone(m.children) {
		suspended := &outcome{Type: outcomeSuspended, InterruptIDs: []string{i.ID}}
		m.endChild(child, subagentEnded{Type: typeSubagentFinished, SubagentRunID: child, Outcome: suspended})
	}
	if !m.in.modern() {
		m.say(askPrefix+i.ID, e.Ask.Text())
	}
	m.sendState(e.Task)
	m.finish(&outcome{Type: outcomeInterrupt, Interrupts: []interrupt{i}}, nil)
}

// end ends the stream because the run has ended.
func (m *mapper) end(task *v1beta1.AgentTask) {
	m.closeText()
	for _, call := range slices.Clone(m.calls) {
		m.addResult(call, "The run ended before this call did.", 0)
	}
	for _, child := range slices.Clone(m.children) {
		m.endChild(child, subagentEnded{Type: typeSubagentError, SubagentRunID: child, Message: "The run ended before this agent did."})
	}
	m.sendState(task)
	switch task.Status.Phase {
	case v1beta1.TaskSuccess:
		m.finish(&outcome{Type: outcomeSuccess}, task.Status.Result)
	case v1beta1.TaskCancelled:
		m.finish(&outcome{Type: outcomeCancelled}, nil)
	default:
		failed := runError{Type: typeRunError, Message: "The run failed.", Usage: m.used()}
		if cause := task.Status.Error; cause != nil {
			failed.Message, failed.Code = cmp.Or(cause.Message, failed.Message), string(cause.Kind)
		}
		m.send(failed)
	}
}

func (m *mapper) finish(o *outcome, result *v1beta1.TaskResult) {
	end := runFinished{Type: typeRunFinished, ThreadID: m.in.ThreadID, RunID: m.in.RunID, Outcome: o, Usage: m.used()}
	if result != nil {
		end.Result = result
	}
	m.send(end)
}

// fail ends the stream because the run can no longer be followed.
func (m *mapper) fail(message, code string) {
	m.send(runError{Type: typeRunError, Message: message, Code: code})
}

// count adds the usage of a model call, or of a child with everything below it. The usage of a stream is that of its
// own entries.
func (m *mapper) count(u *historyv1.TokenUsage) {
	if u == nil {
		return
	}
	m.usage.InputTokens += ptr.Deref(u.PromptTokens, 0)
	m.usage.OutputTokens += ptr.Deref(u.CompletionTokens, 0)
	m.usage.CachedInputTokens += ptr.Deref(u.CachedTokens, 0)
	m.usage.ReasoningTokens += ptr.Deref(u.ReasoningTokens, 0)
	m.usage.TotalTokens = m.usage.InputTokens + m.usage.OutputTokens
}

func (m *mapper) used() []tokenUsage {
	if m.usage == (tokenUsage{}) {
		return nil
	}
	return []tokenUsage{m.usage}
}
