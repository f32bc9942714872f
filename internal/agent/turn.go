// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nestor-dev/nestor/internal/shorten"
)

type InputKind string

// The kinds of inputs.
const (
	// InputMessage: a person sent a message.
	InputMessage InputKind = "Message"
	// InputResults: delegated work ended.
	InputResults InputKind = "Results"
	// InputQuestion: an agent asks a question that the conversation may already answer.
	InputQuestion InputKind = "Question"
	// InputResumed: work that a limit had stopped may continue.
	InputResumed InputKind = "Resumed"
)

// Input is an input of an orchestrator's next turn.
type Input struct {
	Kind InputKind `json:"kind"`
	Text string    `json:"text"`
	// Message is the name of the person's message.
	Message string `json:"message,omitempty"`
	// Trigger is the message that caused the work with these results.
	Trigger string `json:"trigger,omitempty"`
	// Agent and Call identify a question.
	Agent string `json:"agent,omitempty"`
	Call  string `json:"call,omitempty"`
	// Thread is the person's message, or the one that caused the work that the input is about.
	Thread string `json:"thread,omitempty"`
	// PersonText is the text of the person's message if Text contains more than that.
	PersonText string `json:"personText,omitempty"`
	// Images are part of a tool's results, or attached to the person's message.
	Images []Image `json:"images,omitempty"`
}

// Turn describes the current turn of an orchestrator.
type Turn struct {
	// InReplyTo is the message that the turn's answer replies to: the newest of the person, or the one that caused the work with
	// the results. It is the trigger of tasks that the turn starts.
	InReplyTo string `json:"inReplyTo,omitempty"`
	// QuestionsOnly reports that the turn contains only questions of agents, so that its text is not posted.
	QuestionsOnly bool `json:"questionsOnly,omitempty"`
	// Number counts the turns from 1; Since is when this one began.
	Number    int  `json:"number,omitempty"`
	StartTime Time `json:"startTime,omitempty"`
	// Thread is the message that led to the turn, even if the turn does not reply to it. Continues reports that the message
	// belongs to an earlier turn.
	Thread    string `json:"thread,omitempty"`
	Continues bool   `json:"continues,omitempty"`
	// PersonText is the text of the person's messages in the turn, at most maxPersonText bytes.
	PersonText string `json:"personText,omitempty"`
}

// maxPersonText bounds the text that is kept to recognise an answer that is passed on.
const maxPersonText = 8192

// beginTurn begins a turn with everything in the inbox, unless the limits of the window are reached.
func beginTurn(s State) State {
	if limit := s.Config.Limits.MaxTurnsPerMessage; limit > 0 && s.Window.Turns >= limit {
		return pause(s, PausedTurnLimit)
	}
	if reached := s.Window.LimitReached; reached != "" {
		return pause(s, reached)
	}
	s.Window.Turns++
	inputs := s.Inbox
	s.TurnFailure, s.LimitReached = nil, nil
	s.Iterations, s.Loop, s.Defect, s.Clock.Active = 0, Loop{}, Defect{}, 0
	if note := s.openQuestionsNote(); note != "" {
		s = s.appendUserText(note)
	}
	s = s.consumeInputs(inputs)
	s.Turn.Number++
	s.Turn.StartTime = s.Clock.Now
	return requestModelCall(s)
}

// consumeInputs moves inputs into the history and confirms messages as handled.
func (s State) consumeInputs(inputs []Input) State {
	s.Inbox, s.Turn = nil, Turn{QuestionsOnly: true, Number: s.Turn.Number, Thread: threadOf(inputs)}
	s = s.clearPersonReplied()
	s.Turn.Continues = !slices.ContainsFunc(inputs, func(in Input) bool { return in.Kind == InputMessage })
	for _, in := range inputs {
		s.History = s.History.Append(Message{Speaker: User, Text: in.Text, Images: in.Images, At: s.Clock.Now})
		s.Turn.QuestionsOnly = s.Turn.QuestionsOnly && in.Kind == InputQuestion
		switch in.Kind {
		case InputMessage:
			s.Turn.InReplyTo = in.Message
			text := s.Turn.PersonText + "\n" + cmp.Or(in.PersonText, in.Text)
			s.Turn.PersonText = shorten.HeadBytes(text, maxPersonText)
			s = s.enqueue(Item{ID: "handled/" + in.Message, Kind: ItemHandled, Message: in.Message})
			s = s.markPersonReplied()
		case InputResults, InputResumed:
			if s.Turn.InReplyTo == "" {
				s.Turn.InReplyTo = in.Trigger
			}
		}
	}
	return s
}

// endTurn posts the orchestrator's answer, if there is one, and returns to PhaseIdle.
func endTurn(s State, text string, truncated bool) State {
	notice := NoticeFinished
	if s.Window.LimitReached != "" {
		notice = "" // the pause has one
	}
	s = s.postReply(text, truncated, notice).postQuestions()
	s.Phase = PhaseIdle
	if reached := s.Window.LimitReached; reached != "" {
		return pause(s, reached)
	}
	return s
}

// postReply posts a reply of the model, unless the turn contains only questions of agents.
func (s State) postReply(text string, truncated bool, notice Notice) State {
	if text == "" || s.Turn.QuestionsOnly {
		return s
	}
	return s.post(Item{Text: text, InReplyTo: s.Turn.InReplyTo, Truncated: truncated, Notice: notice})
}

// failTurn ends a turn with an error and posts the reason. The next input starts a new turn.
func failTurn(s State, failure Failure) State {
	s.TurnFailure = &failure
	s = s.post(Item{System: true, Text: textFailure(failure), InReplyTo: s.Turn.InReplyTo, Notice: NoticeFailed})
	s = s.postQuestions()
	s.Phase = PhaseIdle
	return s
}

// messageArrived adds a person's message to the inbox. A reply to a posted question is also sent directly to the agent that
// asked.
func messageArrived(s State, f MessageArrived) State {
	if s.Config.Kind != Orchestrator || s.Seen.has(f.Message) {
		return s
	}
	s.Seen = s.Seen.with(f.Message)
	s = s.addRequester(f.User, f.Unnamed).addRequester(f.FireUser, false).resetWindow(f.TreeUsage)
	s.Requesters.Trigger = s.Requesters.Trigger || f.Trigger
	s = s.withLabels(attachedLabels(f.Labels, f.Images), SourceMessage, f.Message)
	in := Input{Kind: InputMessage, Text: f.Text, Message: f.Message, Thread: f.Message, Images: f.Images}
	if i := s.findAnsweredQuestion(f); i >= 0 {
		in.Text, in.PersonText = textForwarded(s.Asks[i], f.Text), f.Text
		s = s.answerAsk(i, f.Text, f.User, f.Images, f.Labels)
	}
	s.Inbox = append(slices.Clip(s.Inbox), in)
	return s
}

// cancelInChat stops the turn and every task of the chat. A single task is cancelled by an event of its own agent.
func cancelInChat(s State, f Cancelled) State {
	if f.Message != "" && s.Seen.has(f.Message) {
		return s
	}
	s = cancelAll(s, f)
	if f.Message == "" {
		return s
	}
	s.Seen = s.Seen.with(f.Message)
	return s.enqueue(Item{ID: "handled/" + f.Message, Kind: ItemHandled, Message: f.Message})
}

// cancelAll stops the turn and every task. Pending inputs are part of what is cancelled: they are added to the history, and late
// results of cancelled work start no turn. The text that had arrived of a reply stays: the person has read it.
func cancelAll(s State, f Cancelled) State {
	working := func(c Child) bool { return c.pending() && !c.Cancel }
	if s.Phase == PhaseIdle && len(s.Inbox) == 0 && !slices.ContainsFunc(s.Children.Live, working) {
		return s
	}
	s = abandonBatch(s.keepStoppedReply(f.Reply).stopModelCall(f), textCancelled)
	s = s.consumeInputs(s.Inbox).appendUserText("[" + textCancelled + "]")
	s.Children.Groups = slices.Clone(s.Children.Groups)
	for i := range s.Children.Groups {
		s.Children.Groups[i].Detached, s.Children.Groups[i].Dropped = true, true
	}
	s.Children = s.Children.cancel(everyChild)
	s.LimitReached = nil
	s.Phase = PhaseIdle
	return s
}

// keepStoppedReply adds the beginning of the reply in flight to the history and to the chat. A summary is not for people.
func (s State) keepStoppedReply(text string) State {
	if s.ModelCall == nil || s.ModelCall.Purpose == PurposeCompact || s.ModelCall.Purpose == PurposeContext || strings.TrimSpace(text) == "" {
		return s
	}
	s.History = s.History.Append(Message{Speaker: Assistant, Text: text, At: s.Clock.Now})
	if s.Turn.QuestionsOnly {
		return s
	}
	return s.post(Item{Text: text, InReplyTo: s.Turn.InReplyTo, Stopped: true})
}

func (c Children) hasEnded(name string) bool {
	return slices.ContainsFunc(c.Ended, func(e EndedChild) bool { return e.Name == name })
}

func cancelTask(s State, c BatchCall) (State, BatchCall) {
	var in struct {
		Task string `json:"task"`
	}
	if err := jsonInto(c.Arguments, &in); err != nil {
		return s, c.done(ToolFailed, textBadArguments(c.Tool, err))
	}
	in.Task = s.Children.currentName(in.Task)
	i := s.Children.find(in.Task)
	if i < 0 || !s.Children.Live[i].pending() {
		return s, c.done(ToolFailed, fmt.Sprintf("There is no running task %q. Running: %s.", in.Task, s.Children.runningNames()))
	}
	s.Children = s.Children.cancel(func(child Child) bool { return child.Name == in.Task })
	return s, c.done(ToolSucceeded, fmt.Sprintf("Task %s is being cancelled.", in.Task))
}

// maxPost is the longest message that the API accepts, in characters.
const maxPost = 65536

// post adds a message for the chat to the outbox. Text that is too long becomes several messages, in order.
func (s State) post(item Item) State {
	parts, notice := split(item.Text, maxPost), item.Notice
	for i, part := range parts {
		s.Posts++
		item.Continues, item.Notice = i > 0, ""
		if i == len(parts)-1 {
			item.Notice = notice
		}
		item.ID, item.Kind, item.Text = fmt.Sprintf("post/%d", s.Posts), ItemPost, part
		if s.Config.ConversationID != "" {
			item.Name = fmt.Sprintf("%s-post-%d", s.Config.nameBase(), s.Posts)
		}
		s = s.enqueue(item)
	}
	return s
}

func (s State) enqueue(item Item) State {
	s.Outbox = append(slices.Clip(s.Outbox), item)
	return s
}

// split cuts text into parts of at most limit characters.
func split(text string, limit int) []string {
	var parts []string
	count, start := 0, 0
	for i := range text {
		if count == limit {
			parts = append(parts, text[start:i])
			count, start = 0, i
		}
		count++
	}
	return append(parts, text[start:])
}
