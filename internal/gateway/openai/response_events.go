// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"net/http"

	"github.com/nestor-dev/nestor/internal/client/live"
	"github.com/nestor-dev/nestor/internal/gateway"
	"github.com/nestor-dev/nestor/internal/gateway/run"
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
}

// responseError is the error in a response. Type and Param are not in OpenAI's, but clients expect them.
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
	return response{
		ID: e.id(), Object: "response", CreatedAt: d.now().Unix(), Status: statusInProgress, Model: model, Output: []item{}, Store: true,
		Parallel: true, ToolChoice: "auto", Tools: []string{}, Metadata: e.metadata(),
	}
}

// newItem returns the message of a response.
func (r response) newItem(status, text string) item {
	made := item{ID: "msg_" + r.ID[len(idPrefix):], Type: "message", Status: status, Role: "assistant", Content: []outputText{}}
	if status == statusCompleted {
		made.Content = append(made.Content, newText(text))
	}
	return made
}

func newText(text string) outputText {
	return outputText{Type: "output_text", Text: text, Annotations: []string{}}
}

// finish completes a response with the last event of the exchange.
func (r *response) finish(text string, e run.Event) {
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
	if text != "" {
		r.Output = []item{r.newItem(statusCompleted, text)}
	}
}

// wholeResponse waits for the end of the exchange. isNew means that the request created the response: then the failure
// of the run is the failure of the request, because clients read the output of a response without looking at its
// status.
func (d door) wholeResponse(w http.ResponseWriter, r *http.Request, caller *run.Caller, e exchange, out response, isNew bool) {
	var said reply
	for event, err := range e.follow(r.Context(), caller) {
		if err == nil && isNew {
			err = failure(event)
		}
		if err != nil {
			d.WriteError(w, err)
			return
		}
		if event.Kind == run.Replace {
			said = reply{} // nothing was sent yet
			continue
		}
		said.add(event)
		if event.Kind == run.Waiting || event.Kind == run.End {
			out.finish(said.text.String(), event)
		}
	}
	gateway.WriteJSON(w, http.StatusOK, out)
}

// currentResponse returns the state of an exchange without waiting for its end.
func (d door) currentResponse(w http.ResponseWriter, r *http.Request, caller *run.Caller, e exchange, out response) {
	if e.chat == "" {
		task, err := caller.Task(r.Context(), e.namespace, e.task)
		if err != nil {
			d.WriteError(w, err)
			return
		}
		out.Model, out.CreatedAt = e.namespace+"/"+task.Spec.Role, task.CreationTimestamp.Unix()
		ask, err := caller.OpenAsk(r.Context(), task)
		if err != nil {
			d.WriteError(w, err)
			return
		}
		if !live.Ended(task.Status.Phase) && (ask == nil || ask.ID() == e.answered) {
			out.Background = true
			gateway.WriteJSON(w, http.StatusOK, out)
			return
		}
	}
	d.wholeResponse(w, r, caller, e, out, false)
}

// Sequence numbers are a function of the recorded history, so that a stream can be continued on another replica: the entry before the event,
// and the bytes of the text after it.
const (
	numbersPerEntry = 1 << 24
	// beforeText is the number of events before the first piece of a text.
	beforeText = 3
	// afterText is where the numbers of the events after a text begin.
	afterText = numbersPerEntry / 2
)

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
	said  reply
	open  bool
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
	return s.out.Send(e.Type, "", e)
}

// fail sends an error. Some clients read its fields in the event, and others in an object of it.
func (s *responseStream) fail(number int64, problem apiError) error {
	if number <= s.after {
		return nil
	}
	return s.out.Send("error", "", map[string]any{
		"type": "error", "sequence_number": number, "code": problem.Code, "message": problem.Message, "param": problem.Param, "error": problem,
	})
}

// streamResponse streams an exchange, after the event with the given number.
func (d door) streamResponse(w http.ResponseWriter, r *http.Request, caller *run.Caller, e exchange, body response, after int64) {
	begin := e.from
	if after >= 0 {
		e.from = cursorOf(after, begin)
	}
	s := &responseStream{out: gateway.NewEventStream(w), after: after, body: body, open: e.from.Offset > 0, said: reply{continued: e.from.Offset > 0}}
	defer s.out.Close()
	if s.send(streamEvent{Type: "response.created", Number: 0, Response: &body}) != nil || s.send(streamEvent{Type: "response.in_progress", Number: 1, Response: &body}) != nil {
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

// zero is the index of the only message and its only part.
var zero = 0

func (s *responseStream) handle(e run.Event) error {
	n := number(e.Cursor)
	if e.Kind == run.Waiting || e.Kind == run.End {
		n = number(run.Cursor{Seq: e.Cursor.Seq, Offset: afterText})
	}
	if piece := s.said.add(e); piece != "" {
		if err := s.begin(n); err != nil {
			return err
		}
		id := s.body.newItem(statusInProgress, "").ID
		if err := s.send(streamEvent{Type: "response.output_text.delta", Number: n, ItemID: id, Index: &zero, Content: &zero, Delta: &piece, Logprobs: &[]string{}}); err != nil {
			return err
		}
	}
	if e.Kind == run.Waiting || e.Kind == run.End {
		return s.end(n, e)
	}
	return nil
}

// begin sends the events before the first piece of text.
func (s *responseStream) begin(n int64) error {
	if s.open {
		return nil
	}
	s.open = true
	first := n - n%numbersPerEntry
	made := s.body.newItem(statusInProgress, "")
	if err := s.send(streamEvent{Type: "response.output_item.added", Number: first, Index: &zero, Item: &made}); err != nil {
		return err
	}
	part := newText("")
	return s.send(streamEvent{Type: "response.content_part.added", Number: first + 1, ItemID: made.ID, Index: &zero, Content: &zero, Part: &part})
}

// end sends the events at the end of an exchange.
func (s *responseStream) end(n int64, e run.Event) error {
	text := s.said.text.String()
	if e.Kind == run.End && e.Task != nil {
		text = e.Answer // the stream may have begun in the middle of it
	}
	s.body.finish(text, e)
	if s.open || text != "" {
		made := s.body.newItem(statusCompleted, text)
		part := made.Content[0]
		for i, event := range []streamEvent{
			{Type: "response.output_text.done", ItemID: made.ID, Index: &zero, Content: &zero, Text: &text, Logprobs: &[]string{}},
			{Type: "response.content_part.done", ItemID: made.ID, Index: &zero, Content: &zero, Part: &part},
			{Type: "response.output_item.done", Index: &zero, Item: &made},
		} {
			event.Number = n + 1 + int64(i)
			if err := s.send(event); err != nil {
				return err
			}
		}
	}
	kind := "response.completed"
	if err := failure(e); err != nil {
		kind = "response.failed"
		_, problem := describe(err)
		if err := s.fail(n+9, problem); err != nil {
			return err
		}
	}
	return s.send(streamEvent{Type: kind, Number: n + 10, Response: &s.body})
}
