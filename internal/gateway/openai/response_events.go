// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"net/http"

	"github.com/nestor-dev/nestor/internal/gateway"
	"github.com/nestor-dev/nestor/internal/gateway/run"
	"github.com/nestor-dev/nestor/internal/view"
)

// The states of a response.
const (
	statusInProgress = "in_progress"
	statusCompleted  = "completed"
	statusFailed     = "failed"
	statusCancelled  = "cancelled"
)

// response is a response of the API. Fields without a meaning for runs have the values that clients expect.
type response struct {
	ID          string            `json:"id"`
	Object      string            `json:"object"`
	CreatedAt   int64             `json:"created_at"`
	Status      string            `json:"status"`
	Background  bool              `json:"background"`
	Error       *responseError    `json:"error"`
	Incomplete  *string           `json:"incomplete_details"`
	Instruction *string           `json:"instructions"`
	Model       string            `json:"model"`
	Output      []item            `json:"output"`
	Parallel    bool              `json:"parallel_tool_calls"`
	Previous    *string           `json:"previous_response_id"`
	Store       bool              `json:"store"`
	ToolChoice  string            `json:"tool_choice"`
	Tools       []string          `json:"tools"`
	Usage       *responseUsage    `json:"usage"`
	Metadata    map[string]string `json:"metadata"`

	// of is the exchange, with what the response shows.
	of exchange
}

// responseError is the error in a response. OpenAI's has no Type and Param, but clients expect them.
type responseError struct {
	Type    string  `json:"type"`
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Param   *string `json:"param"`
}

type responseUsage struct {
	Input        int64 `json:"input_tokens"`
	InputDetails struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	Output        int64 `json:"output_tokens"`
	OutputDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	Total int64 `json:"total_tokens"`
}

// item is a message in the output.
type item struct {
	ID      string       `json:"id"`
	Type    string       `json:"type"`
	Status  string       `json:"status"`
	Role    string       `json:"role"`
	Content []outputText `json:"content"`
}

type outputText struct {
	Type        string   `json:"type"`
	Text        string   `json:"text"`
	Annotations []string `json:"annotations"`
}

func (d door) newResponse(e exchange, model string) response {
	id := e.id()
	e.shown = ""
	return response{
		ID: id, of: e, Object: "response", CreatedAt: d.now().Unix(), Status: statusInProgress, Model: model, Output: []item{}, Store: true,
		Parallel: true, ToolChoice: "auto", Tools: []string{}, Metadata: e.metadata(),
	}
}

// show adds the reference of an ask to the ID of the response, so that a decision in reply applies to that ask only.
// The ID in the first events of a stream does not have it yet.
func (r *response) show(ask run.Ask) {
	r.of.shown = ask.Ref()
	r.ID = r.of.id()
}

// add adds a message to the output. An ask is a message of its own, whose ID names it.
func (r *response) add(text string) {
	if text != "" {
		r.Output = append(r.Output, newItem(r.itemID(), statusCompleted, text))
	}
}

func (r response) itemID() string { return itemPrefix + r.of.encode() }

func newItem(id, status, text string) item {
	made := item{ID: id, Type: "message", Status: status, Role: "assistant", Content: []outputText{}}
	if status == statusCompleted {
		made.Content = append(made.Content, newText(text))
	}
	return made
}

func newText(text string) outputText {
	return outputText{Type: "output_text", Text: text, Annotations: []string{}}
}

// finish completes a response with the last event of the exchange.
func (r *response) finish(e run.Event) {
	r.Status = statusCompleted
	addState(r.Metadata, e)
	if u := usageOf(e); u != nil {
		r.Usage = &responseUsage{Input: u.Prompt, Output: u.Completion, Total: u.Total}
	}
	if err := failure(e); err != nil {
		_, body := describe(err)
		r.Status, r.Error = statusFailed, &responseError{Type: body.Type, Code: "run_failed", Message: body.Message}
		if body.Code != nil {
			r.Error.Code = *body.Code
		}
		if e.Task != nil && e.Task.Status.Phase == "Cancelled" {
			r.Status = statusCancelled
		}
	}
}

// wholeResponse waits for the end of the exchange. If the request created the response (isNew), a failure of the run
// is an error of the request, because clients use the output of a response without checking its status.
func wholeResponse(w http.ResponseWriter, r *http.Request, caller *run.Caller, e exchange, out response, isNew bool) error {
	var whole reply
	for event, err := range e.follow(r.Context(), caller) {
		if err == nil && isNew {
			err = failure(event)
		}
		if err != nil {
			return err
		}
		if event.Kind == run.Replace {
			whole.replace()
			continue
		}
		before := whole.text.String()
		piece := whole.add(event)
		switch event.Kind {
		case run.Waiting:
			out.add(before)
			out.show(*event.Ask)
			out.add(piece)
			out.finish(event)
		case run.End:
			out.add(whole.text.String())
			out.finish(event)
		}
	}
	gateway.WriteJSON(w, http.StatusOK, out)
	return nil
}

// currentResponse returns the state of an exchange. It does not wait for the end of a task.
func currentResponse(w http.ResponseWriter, r *http.Request, caller *run.Caller, e exchange, out response) error {
	if e.chat == "" {
		task, err := caller.Task(r.Context(), e.namespace, e.task)
		if err != nil {
			return err
		}
		out.Model, out.CreatedAt = e.namespace+"/"+task.Spec.Role, task.CreationTimestamp.Unix()
		ask, err := caller.OpenAsk(r.Context(), task)
		if err != nil {
			return err
		}
		if !view.Ended(task.Status.Phase) && (ask == nil || ask.ID() == e.answered) {
			out.Background = true
			gateway.WriteJSON(w, http.StatusOK, out)
			return nil
		}
	}
	return wholeResponse(w, r, caller, e, out, false)
}

// Sequence numbers follow from the recorded history, so that another replica can continue a stream: the entry before
// the event, and the bytes of text after that entry.
const (
	numbersPerEntry = 1 << 24
	// beforeText is the number of events before the first piece of text.
	beforeText = 3
	// afterText is where the numbers of the events after the text begin.
	afterText = numbersPerEntry / 2
	// firstNumber is that of the first event after the beginning of a stream.
	firstNumber = 2
)

// noticeCursor is the position of a notice, before the recorded history.
var noticeCursor = run.Cursor{Seq: -1, Offset: firstNumber}

// number returns the sequence number of a piece of text that ends at a cursor.
func number(c run.Cursor) int64 { return (c.Seq+1)*numbersPerEntry + beforeText + int64(c.Offset) }

// cursorOf returns the position after an event.
func cursorOf(number int64, begin run.Cursor) run.Cursor {
	c := run.Cursor{Seq: number/numbersPerEntry - 1}
	if rest := number % numbersPerEntry; rest < afterText {
		c.Offset = int(max(0, rest-beforeText))
	}
	if c.Seq < begin.Seq {
		return begin
	}
	return c
}

// responseStream writes the events of a response.
type responseStream struct {
	out   *gateway.EventStream
	after int64 // events up to this number are skipped
	body  response
	reply reply
	// open reports that a message has begun, and item is its ID.
	open bool
	item string
}

// streamEvent is an event of the API. Fields that an event does not have are omitted.
type streamEvent struct {
	Type     string      `json:"type"`
	Number   int64       `json:"sequence_number"`
	Response *response   `json:"response,omitempty"`
	Index    *int        `json:"output_index,omitempty"`
	Part     *outputText `json:"part,omitempty"`
	Content  *int        `json:"content_index,omitempty"`
	ItemID   string      `json:"item_id,omitempty"`
	Item     *item       `json:"item,omitempty"`
	Delta    *string     `json:"delta,omitempty"`
	Text     *string     `json:"text,omitempty"`
	Logprobs *[]string   `json:"logprobs,omitempty"`
}

func (s *responseStream) send(e streamEvent) error {
	if e.Number <= s.after {
		return nil
	}
	return s.out.Send(e.Type, e)
}

// fail sends an error. Some clients read its fields in the event, and others in an object of it.
func (s *responseStream) fail(number int64, problem apiError) error {
	if number <= s.after {
		return nil
	}
	return s.out.Send("error", map[string]any{
		"type": "error", "sequence_number": number, "code": problem.Code, "message": problem.Message, "param": problem.Param, "error": problem,
	})
}

// streamResponse streams an exchange, after the event with the given number.
func streamResponse(w http.ResponseWriter, r *http.Request, caller *run.Caller, e exchange, body response, after int64) {
	if after >= 0 {
		e.from = cursorOf(after, e.from)
	}
	continued := e.from.Offset > 0
	s := &responseStream{
		out: gateway.NewEventStream(w), after: after, body: body, open: continued, reply: reply{continued: continued}, item: body.itemID(),
	}
	defer s.out.Close()
	if s.send(streamEvent{Type: "response.created", Number: 0, Response: &body}) != nil ||
		s.send(streamEvent{Type: "response.in_progress", Number: 1, Response: &body}) != nil {
		return
	}
	for event, err := range e.follow(r.Context(), caller) {
		if err != nil {
			_, problem := describe(err)
			_ = s.fail(after+1, problem) // the client may have disconnected
			return
		}
		if s.handle(event) != nil {
			return
		}
	}
}

// zero is the index of the only part of a message.
var zero = 0

// endNumber is how far the number of the last event is from that of the event that ends the exchange.
const endNumber = 10

func (s *responseStream) handle(e run.Event) error {
	n := number(e.Cursor)
	if e.Kind == run.Waiting || e.Kind == run.End {
		n = number(run.Cursor{Seq: e.Cursor.Seq, Offset: afterText})
	}
	last := n + endNumber
	first := max(firstNumber, n-n%numbersPerEntry)
	before := s.reply.text.String()
	piece := s.reply.add(e)
	if e.Kind == run.Waiting {
		s.body.show(*e.Ask)
		if s.open { // the text before the ask is a message of its own
			if err := s.close(n, before); err != nil {
				return err
			}
			first, n = n+3, n+5
		}
	}
	if piece != "" {
		if err := s.begin(first); err != nil {
			return err
		}
		delta := streamEvent{Type: "response.output_text.delta", Number: n, ItemID: s.item, Content: &zero, Delta: &piece, Logprobs: &[]string{}}
		if err := s.sendAt(delta); err != nil {
			return err
		}
	}
	switch {
	case e.Kind == run.Waiting:
		return s.end(n+1, last, piece, e)
	case e.Kind == run.End && e.Task != nil: // the stream may have begun in the middle of the answer
		text := e.Answer
		if s.reply.notice != "" {
			text = s.reply.notice + "\n\n" + text
		}
		return s.end(n+1, last, text, e)
	case e.Kind == run.End:
		return s.end(n+1, last, s.reply.text.String(), e)
	}
	return nil
}

// sendAt sends an event of the open message.
func (s *responseStream) sendAt(e streamEvent) error {
	e.Index = new(len(s.body.Output))
	return s.send(e)
}

// begin sends the events before the first piece of a message.
func (s *responseStream) begin(n int64) error {
	if s.open {
		return nil
	}
	s.open, s.item = true, s.body.itemID()
	if err := s.sendAt(streamEvent{Type: "response.output_item.added", Number: n, Item: new(newItem(s.item, statusInProgress, ""))}); err != nil {
		return err
	}
	return s.sendAt(streamEvent{Type: "response.content_part.added", Number: n + 1, ItemID: s.item, Content: &zero, Part: new(newText(""))})
}

// close sends the events after a message.
func (s *responseStream) close(n int64, text string) error {
	made := newItem(s.item, statusCompleted, text)
	for i, event := range []streamEvent{
		{Type: "response.output_text.done", ItemID: made.ID, Content: &zero, Text: &text, Logprobs: &[]string{}},
		{Type: "response.content_part.done", ItemID: made.ID, Content: &zero, Part: &made.Content[0]},
		{Type: "response.output_item.done", Item: &made},
	} {
		event.Number = n + int64(i)
		if err := s.sendAt(event); err != nil {
			return err
		}
	}
	s.body.Output = append(s.body.Output, made)
	s.open = false
	return nil
}

// end sends the events at the end of an exchange. text is that of the last message.
func (s *responseStream) end(n, last int64, text string, e run.Event) error {
	if s.open || text != "" {
		if !s.open {
			s.item = s.body.itemID()
		}
		if err := s.close(n, text); err != nil {
			return err
		}
	}
	s.body.finish(e)
	kind := "response.completed"
	if err := failure(e); err != nil {
		kind = "response.failed"
		_, problem := describe(err)
		if err := s.fail(n+9, problem); err != nil {
			return err
		}
	}
	return s.send(streamEvent{Type: kind, Number: last, Response: &s.body})
}
