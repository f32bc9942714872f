// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/gateway"
	"github.com/nestor-dev/nestor/internal/gateway/run"
)

type responseRequest struct {
	Model        string `json:"model"`
	Input        input  `json:"input"`
	Instructions string `json:"instructions"`
	Previous     string `json:"previous_response_id"`
	Stream       bool   `json:"stream"`
	Background   bool   `json:"background"`
	Text         struct {
		Format format `json:"format"`
	} `json:"text"`
	Metadata map[string]string `json:"metadata"`
}

var refusedInResponses = map[string]string{
	"tools": whyTools, "tool_choice": whyTools, "top_logprobs": "a run has no token probabilities.", "conversation": "use previous_response_id, or metadata.chat.",
	"prompt": "the prompt of a run is that of its role.", "max_tool_calls": "set the limits in the AgentRole.",
}

// input is the input of a response: text, or a list of messages.
type input struct{ turns []turn }

func (i *input) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		i.turns = []turn{{Role: "user", Text: text}}
		return nil
	}
	var items []struct {
		Type    string  `json:"type"`
		ID      string  `json:"id"`
		Role    string  `json:"role"`
		Content content `json:"content"`
	}
	if err := json.Unmarshal(data, &items); err != nil {
		return err
	}
	for n, item := range items {
		switch item.Type {
		case "", "message":
			i.turns = append(i.turns, turn{Role: item.Role, Text: item.Content.text, Images: item.Content.images, item: item.ID})
		case "item_reference":
			i.turns = append(i.turns, turn{Role: "assistant", item: item.ID, reference: true})
		case "reasoning": // it is not a part of the conversation
		default:
			return badf("input", "input[%d] has the type %q: send messages and references to messages.", n, item.Type)
		}
	}
	return nil
}

// repliesTo returns the response that the user's last messages reply to, if the input has the ID of its message. Then
// references to earlier responses need not be resolved, because the run has them in its memory.
func (i input) repliesTo() (*exchange, error) {
	var last *exchange
	for _, t := range i.turns {
		if t.Role != "assistant" {
			continue
		}
		item, err := parseID("input", itemPrefix, t.item)
		if err != nil && t.reference {
			return nil, err
		}
		last = item // nil without an ID of this server
	}
	if last == nil && slices.ContainsFunc(i.turns, func(t turn) bool { return t.reference }) {
		return nil, badf("input", "An item_reference must be to the last reply of the conversation: "+
			"send the text of the earlier replies, or previous_response_id.")
	}
	return last, nil
}

// reference is the content of a response's ID.
type reference struct {
	Namespace string `json:"n"`
	Task      string `json:"t,omitempty"`
	Chat      string `json:"c,omitempty"`
	Message   string `json:"m,omitempty"`
	Seq       int64  `json:"s,omitempty"`
	Answered  string `json:"a,omitempty"`
	Typed     bool   `json:"d,omitempty"`
	Shown     string `json:"k,omitempty"`
	Notice    notice `json:"x,omitempty"`
}

// The prefixes of the IDs of responses and of the messages in them.
const (
	idPrefix   = "resp_"
	itemPrefix = "msg_"
)

// id returns the ID of a response. It contains the exchange, because nothing is stored about it.
func (e exchange) id() string { return idPrefix + e.encode() }

// encode returns the ID without a prefix.
func (e exchange) encode() string {
	text, err := json.Marshal(reference{e.namespace, e.task, e.chat, e.message, e.from.Seq, e.answered, e.typed, e.shown, e.notice})
	if err != nil {
		panic(err) // impossible: the fields are strings, numbers and a bool
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// parseID parses the ID of a response, or of its message. param is the field that has it.
func parseID(param, prefix, id string) (*exchange, error) {
	encoded, ok := strings.CutPrefix(id, prefix)
	text, err := base64.RawURLEncoding.DecodeString(encoded)
	var r reference
	if !ok || err != nil || json.Unmarshal(text, &r) != nil || r.Namespace == "" || (r.Task == "") == (r.Chat == "") {
		return nil, badf(param, "%q is not the ID of a response, or of a message in one, of this server.", id)
	}
	return &exchange{
		namespace: r.Namespace, task: r.Task, chat: r.Chat, message: r.Message, from: run.Cursor{Seq: r.Seq}, answered: r.Answered,
		typed: r.Typed && r.Chat == "", shown: r.Shown, notice: r.Notice,
	}, nil
}

// createResponse serves POST /v1/responses.
func (d door) createResponse(w http.ResponseWriter, r *http.Request, caller *run.Caller) error {
	var in responseRequest
	if err := decodeBody(r, &in, refusedInResponses); err != nil {
		return err
	}
	q := request{model: in.Model, metadata: in.Metadata, turns: in.Input.turns, schemaParam: "text.format"}
	q.key, q.repeated = header(r)
	if in.Instructions != "" {
		q.turns = append([]turn{{Role: "developer", Text: in.Instructions}}, q.turns...)
	}
	var err error
	if q.schema, err = in.Text.Format.schema(q.schemaParam); err != nil {
		return err
	}
	if in.Previous != "" {
		q.previous, err = parseID("previous_response_id", idPrefix, in.Previous)
	} else {
		q.previous, err = in.Input.repliesTo()
	}
	if err != nil {
		return err
	}
	if q.target, err = parseModel(in.Model); err != nil && q.previous == nil {
		return err
	}
	e, err := q.begin(r.Context(), caller)
	if err != nil {
		return err
	}
	out := d.newResponse(e, in.Model)
	if in.Previous != "" {
		out.Previous = &in.Previous
	}
	switch {
	case in.Stream:
		streamResponse(w, r, caller, e, out, -1)
	case in.Background:
		out.Background = true
		gateway.WriteJSON(w, http.StatusOK, out)
	default:
		return wholeResponse(w, r, caller, e, out, true)
	}
	return nil
}

func (e exchange) read(ctx context.Context, caller *run.Caller) error {
	if e.chat == "" {
		_, err := caller.Task(ctx, e.namespace, e.task)
		return err
	}
	return caller.API.Get(ctx, client.ObjectKey{Namespace: e.namespace, Name: e.chat}, &v1beta1.AgentChat{})
}

// getResponse serves GET /v1/responses/ID: it streams from a position, or returns the current state.
func (d door) getResponse(w http.ResponseWriter, r *http.Request, caller *run.Caller) error {
	e, err := parseID("response_id", idPrefix, r.PathValue("id"))
	if err != nil {
		return err
	}
	if err := e.read(r.Context(), caller); err != nil {
		return err
	}
	out := d.newResponse(*e, "")
	if r.URL.Query().Get("stream") != "true" {
		return currentResponse(w, r, caller, *e, out)
	}
	after := int64(-1)
	if text := r.URL.Query().Get("starting_after"); text != "" {
		if after, err = strconv.ParseInt(text, 10, 64); err != nil || after < 0 {
			return badf("starting_after", "starting_after is a sequence number, not %q.", text)
		}
	}
	streamResponse(w, r, caller, *e, out, after)
	return nil
}

// cancelResponse serves POST /v1/responses/ID/cancel.
func (d door) cancelResponse(w http.ResponseWriter, r *http.Request, caller *run.Caller) error {
	e, err := parseID("response_id", idPrefix, r.PathValue("id"))
	if err == nil && e.chat != "" {
		err = badf("response_id", "This response belongs to a chat: cancel its work with kubectl nestor cancel %s.", e.chat)
	}
	if err == nil {
		err = caller.Cancel(r.Context(), e.namespace, e.task, "cancel")
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	e.cancelled = true
	return wholeResponse(w, r, caller, *e, d.newResponse(*e, ""), false)
}
