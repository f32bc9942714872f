// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"slices"
	"strings"
)

// InputKind is what an input of an orchestrator is.
type InputKind string

// What an input is.
const (
	// InputMessage: the person said something.
	InputMessage InputKind = "Message"
	// InputResults: delegated work came to an end.
	InputResults InputKind = "Results"
	// InputQuestion: an agent asks something that the conversation may already answer.
	InputQuestion InputKind = "Question"
	// InputResumed: work that a limit had stopped may go on.
	InputResumed InputKind = "Resumed"
)

// Input is something that the next turn of an orchestrator is about.
type Input struct {
	Kind InputKind `json:"kind"`
	Text string    `json:"text"`
	// Message is the person's message.
	Message string `json:"message,omitempty"`
	// Trigger is the message that caused the work whose results these are.
	Trigger string `json:"trigger,omitempty"`
	// Agent and Call are who asks.
	Agent string `json:"agent,omitempty"`
	Call  string `json:"call,omitempty"`
	// Thread is what the input goes back to: the person's message, or the one that caused the work that it is about.
	Thread string `json:"thread,omitempty"`
	// Images belong to the results of a tool.
	Images []Image `json:"images,omitempty"`
}

// Turn is what an orchestrator's turn is about.
type Turn struct {
	// InReplyTo is the message that the turn's answer is a reply to: the newest of the person's, or the one that caused
	// the work whose results are looked at. Work that the turn starts has it as its trigger.
	InReplyTo string `json:"inReplyTo,omitempty"`
	// Quiet says that the turn is only about agents' questions: the person is not disturbed with what it says.
	Quiet bool `json:"quiet,omitempty"`
	// Number counts the turns from 1, and Since is when this one began.
	Number int  `json:"number,omitempty"`
	Since  Time `json:"since,omitempty"`
	// Thread is the message that everything in the turn goes back to, also if the turn is no reply to it; Follows says that an
	// earlier turn has taken it.
	Thread  string `json:"thread,omitempty"`
	Follows bool   `json:"follows,omitempty"`
	// Said is what the person said in the messages of the turn, at most maxSaid bytes of it.
	Said string `json:"said,omitempty"`
}

// maxSaid is how much of a person's messages is kept to recognise an answer that is passed on.
const maxSaid = 8192

// beginTurn takes everything that has arrived into one turn, unless too many turns have passed without a person.
func beginTurn(s State) State {
	if limit := s.Config.Limits.MaxTurnsPerMessage; limit > 0 && s.Window.Turns >= limit {
		return pause(s, PausedTurnLimit)
	}
	if reached := s.Window.Reached; reached != "" {
		return pause(s, reached)
	}
	s.Window.Turns++
	inputs := s.Inbox
	s.Trouble, s.Bailout = nil, nil
	s.Iterations, s.Loop, s.Clock.Active = 0, Loop{}, 0
	if note := s.openQuestions(); note != "" {
		s = s.hear(note)
	}
	s = s.take(inputs)
	s.Turn.Number++
	s.Turn.Since = s.Clock.Now
	return request(s)
}

// take moves inputs into the history and tells the senders of messages.
func (s State) take(inputs []Input) State {
	s.Inbox, s.Turn = nil, Turn{Quiet: true, Number: s.Turn.Number, Thread: threadOf(inputs)}
	s = s.nobodySpoke()
	s.Turn.Follows = !slices.ContainsFunc(inputs, func(in Input) bool { return in.Kind == InputMessage })
	for _, in := range inputs {
		s.History = s.History.Append(Message{Speaker: User, Text: in.Text, Images: in.Images, At: s.Clock.Now})
		s.Turn.Quiet = s.Turn.Quiet && in.Kind == InputQuestion
		switch in.Kind {
		case InputMessage:
			s.Turn.InReplyTo = in.Message
			said := s.Turn.Said + "\n" + in.Text
			s.Turn.Said = strings.ToValidUTF8(said[:min(len(said), maxSaid)], "")
			s = s.send(Item{ID: "handled/" + in.Message, Kind: ItemHandled, Message: in.Message})
			s = s.personSpoke()
		case InputResults, InputResumed:
			if s.Turn.InReplyTo == "" {
				s.Turn.InReplyTo = in.Trigger
			}
		}
	}
	return s
}

// endTurn posts the orchestrator's answer, if there is one, and lets the next turn begin.
func endTurn(s State, text string) State {
	s = s.say(text).postQuestions()
	s.Phase = PhaseIdle
	if reached := s.Window.Reached; reached != "" {
		return pause(s, reached)
	}
	return s
}

// say posts what the model said to the person, unless the turn is only about agents' questions.
func (s State) say(text string) State {
	if text == "" || s.Turn.Quiet {
		return s
	}
	return s.post(Item{Text: text, InReplyTo: s.Turn.InReplyTo})
}

// failTurn ends a turn that could not be finished and says why. The next input tries again.
func failTurn(s State, trouble Trouble) State {
	s.Trouble = &trouble
	s = s.post(Item{System: true, Text: textTrouble(trouble), InReplyTo: s.Turn.InReplyTo})
	s = s.postQuestions()
	s.Phase = PhaseIdle
	return s
}

// messageArrived puts what the person said into the inbox. A reply to a posted question also goes straight to the agent
// that asked.
func messageArrived(s State, f MessageArrived) State {
	if s.Config.Kind != Orchestrator || s.Seen.has(f.Message) {
		return s
	}
	s.Seen = s.Seen.with(f.Message)
	s = s.askedBy(f.By, f.Unnamed).openWindow(f.Spent)
	in := Input{Kind: InputMessage, Text: f.Text, Message: f.Message, Thread: f.Message}
	if i := s.answeredBy(f); i >= 0 {
		in.Text = textForwarded(s.Asks[i], f.Text)
		s = s.replyTo(i, f.Text)
	}
	s.Inbox = append(slices.Clip(s.Inbox), in)
	return s
}

// cancelInChat stops the turn and every task of the chat. A message that cancels one task is a change of that task's spec and does not get here.
func cancelInChat(s State, f Cancelled) State {
	if f.Message != "" && s.Seen.has(f.Message) {
		return s
	}
	s = cancelAll(s)
	if f.Message == "" {
		return s
	}
	s.Seen = s.Seen.with(f.Message)
	return s.send(Item{ID: "handled/" + f.Message, Kind: ItemHandled, Message: f.Message})
}

// cancelAll stops the turn and every task. What has arrived and was not looked at belongs to what is cancelled; it stays
// in the history, and late results of cancelled work start no turn.
func cancelAll(s State) State {
	working := func(c Child) bool { return c.pending() && !c.Cancel }
	if s.Phase == PhaseIdle && len(s.Inbox) == 0 && !slices.ContainsFunc(s.Children.Live, working) {
		return s
	}
	s = abandonBatch(s.hangUp(Usage{}), textCancelled)
	s = s.take(s.Inbox).hear("[" + textCancelled + "]")
	s.Children.Groups = slices.Clone(s.Children.Groups)
	for i := range s.Children.Groups {
		s.Children.Groups[i].Detached, s.Children.Groups[i].Dropped = true, true
	}
	s.Children = s.Children.cancel(everyChild)
	s.Bailout = nil
	s.Phase = PhaseIdle
	return s
}

func (c Children) hasEnded(name string) bool {
	return slices.ContainsFunc(c.Ended, func(e Ended) bool { return e.Name == name })
}

func cancelTask(s State, c Call) (State, Call) {
	var in struct {
		Task string `json:"task"`
	}
	if err := jsonInto(c.Arguments, &in); err != nil {
		return s, c.done(ToolFailed, textBadArguments(c.Tool, err))
	}
	in.Task = s.Children.current(in.Task)
	i := s.Children.find(in.Task)
	if i < 0 || !s.Children.Live[i].pending() {
		return s, c.done(ToolFailed, fmt.Sprintf("There is no running task %q. Running: %s.", in.Task, s.Children.running()))
	}
	s.Children = s.Children.cancel(func(child Child) bool { return child.Name == in.Task })
	return s, c.done(ToolSucceeded, fmt.Sprintf("Task %s is being cancelled.", in.Task))
}

// maxPost is the longest message that the API takes, in characters.
const maxPost = 65536

// post puts a message for the main chat into the outbox; one that is too long becomes several, in order.
func (s State) post(item Item) State {
	for _, part := range split(item.Text, maxPost) {
		s.Posts++
		item.ID, item.Kind, item.Text = fmt.Sprintf("post/%d", s.Posts), ItemPost, part
		if s.Config.Conversation != "" {
			item.Name = fmt.Sprintf("%s-post-%d", s.Config.nameBase(), s.Posts)
		}
		s = s.send(item)
	}
	return s
}

// send puts an item into the outbox.
func (s State) send(item Item) State {
	s.Outbox = append(slices.Clip(s.Outbox), item)
	return s
}

// split cuts a text into parts of at most limit characters.
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
