// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gemini

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"strings"

	"google.golang.org/genai"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// chunk has the used fields of a response, or of a part of one.
type chunk struct {
	ResponseID     string      `json:"responseId"`
	ModelVersion   string      `json:"modelVersion"`
	Candidates     []candidate `json:"candidates"`
	PromptFeedback struct {
		BlockReason genai.BlockedReason `json:"blockReason"`
	} `json:"promptFeedback"`
	UsageMetadata *wireUsage      `json:"usageMetadata"`
	Error         json.RawMessage `json:"error"`
}

type candidate struct {
	Index   int `json:"index"`
	Content struct {
		Parts []replyPart `json:"parts"`
	} `json:"content"`
	FinishReason  genai.FinishReason `json:"finishReason"`
	FinishMessage string             `json:"finishMessage"`
}

type replyPart struct {
	Text             string        `json:"text"`
	Thought          bool          `json:"thought"`
	ThoughtSignature string        `json:"thoughtSignature"`
	FunctionCall     *functionCall `json:"functionCall"`
}

// readReply reads the reply to a request: a stream of events, a list, or a single response.
func readReply(body io.ReadCloser, req model.Request, api model.API, listen func(model.Delta)) (model.Reply, error) {
	a := accumulator{listen: listen, signatures: map[int]string{}}
	err := wire.ReadBody(body, wire.Parts{
		Whole: a.addWhole,
		Event: func(data []byte) (bool, error) { return false, a.add(data) },
	})
	switch {
	case err != nil:
		return model.Reply{}, err
	case !a.answered:
		failure := wire.Malformed("the provider answered without a reply: the list of candidates is empty")
		failure.Usage = a.usage.usage()
		return model.Reply{}, failure
	case a.finish == "":
		return model.Reply{}, wire.Truncated()
	}
	return a.reply(req, api)
}

// accumulator assembles a reply from its chunks.
type accumulator struct {
	listen          func(model.Delta)
	id, model       string
	finish          genai.FinishReason
	finishMessage   string
	answered        bool // a candidate has arrived, or the request was blocked
	text, reasoning strings.Builder
	calls           []model.ToolCall
	signatures      map[int]string // by index
	usage           *wireUsage
	size            int
}

// textIndex is the key of the text's signature; calls have their index as the key.
const textIndex = -1

// addWhole adds a response that is not a stream of events.
func (a *accumulator) addWhole(data []byte) error {
	if data[0] != '[' {
		return a.add(data)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return wire.NotJSON(err)
	}
	for _, data := range list {
		if err := a.add(data); err != nil {
			return err
		}
	}
	return nil
}

func (a *accumulator) add(data []byte) error {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return wire.NotJSON(err)
	}
	if wire.IsSet(c.Error) {
		return wire.Reported(0, nil, data)
	}
	a.id, a.model = cmp.Or(a.id, c.ResponseID), cmp.Or(a.model, c.ModelVersion)
	a.usage = a.usage.merge(c.UsageMetadata)
	if c.PromptFeedback.BlockReason != "" {
		a.answered, a.finish = true, genai.FinishReasonSafety
	}
	for i := range c.Candidates {
		candidate := &c.Candidates[i]
		if candidate.Index != 0 {
			continue
		}
		a.answered = true
		a.finish = cmp.Or(candidate.FinishReason, a.finish)
		a.finishMessage = cmp.Or(candidate.FinishMessage, a.finishMessage)
		for j := range candidate.Content.Parts {
			if err := a.addPart(&candidate.Content.Parts[j]); err != nil {
				return err
			}
		}
	}
	return nil
}

// partSize is the size that a part counts in addition to its texts.
const partSize = 16

// grow counts what the reply contains so far.
func (a *accumulator) grow(n int) error {
	a.size += n
	return wire.CheckSize(a.size)
}

func (a *accumulator) addPart(p *replyPart) error {
	if err := a.grow(partSize + len(p.Text) + len(p.ThoughtSignature)); err != nil {
		return err
	}
	signed := textIndex
	switch {
	case p.FunctionCall != nil:
		signed = len(a.calls)
		if err := a.addCall(p.FunctionCall); err != nil {
			return err
		}
	case p.Thought:
		if p.Text != "" {
			a.reasoning.WriteString(p.Text)
			a.listen(model.Delta{Reasoning: p.Text})
		}
	case p.Text != "":
		a.text.WriteString(p.Text)
		a.listen(model.Delta{Text: p.Text})
	}
	if p.ThoughtSignature != "" {
		a.signatures[signed] = p.ThoughtSignature
	}
	return nil
}

func (a *accumulator) addCall(call *functionCall) error {
	if err := wire.CheckCall(len(a.calls), call.ID, call.Name); err != nil {
		return err
	}
	var arguments bytes.Buffer
	if len(call.Args) == 0 || json.Compact(&arguments, call.Args) != nil || arguments.String() == "null" {
		arguments.Reset()
		arguments.WriteString("{}")
	}
	if err := a.grow(len(call.Name) + len(call.ID) + arguments.Len()); err != nil {
		return err
	}
	a.listen(model.Delta{ToolCall: &model.ToolCallDelta{Index: len(a.calls), Name: call.Name, Arguments: arguments.String()}})
	a.calls = append(a.calls, model.ToolCall{ID: call.ID, Name: call.Name, Arguments: arguments.String()})
	return nil
}

// reply returns the complete reply. Calls that the API could not parse are an error, because it does not return them.
func (a *accumulator) reply(req model.Request, api model.API) (model.Reply, error) {
	switch a.finish {
	case genai.FinishReasonMalformedFunctionCall, genai.FinishReasonUnexpectedToolCall, genai.FinishReasonTooManyToolCalls:
		failure := wire.Malformed(cmp.Or(a.finishMessage, "the model called a tool in a form that the provider does not understand"))
		failure.Usage = a.usage.usage()
		return model.Reply{}, failure
	}
	reply := model.Reply{
		ID: a.id, Model: a.model, Text: a.text.String(), Reasoning: a.reasoning.String(),
		FinishReason: finishReason(a.finish, len(a.calls) > 0), Usage: a.usage.usage(),
	}
	reply.ToolCalls = wire.FinishCalls(a.calls, reply.FinishReason, req.Messages)
	for i := textIndex; i < len(reply.ToolCalls); i++ {
		signature, ok := a.signatures[i]
		if !ok {
			continue
		}
		data, _ := json.Marshal(signature) // text can always be encoded
		item := model.ReasoningItem{API: api, Model: req.Model, Data: data}
		if i != textIndex {
			item.Call = reply.ToolCalls[i].ID
		}
		reply.ReasoningItems = append(reply.ReasoningItems, item)
	}
	return reply, nil
}

func finishReason(reason genai.FinishReason, calls bool) model.FinishReason {
	switch reason {
	case genai.FinishReasonStop:
		if calls {
			return model.FinishToolCalls
		}
		return model.FinishStop
	case genai.FinishReasonMaxTokens:
		return model.FinishLength
	case genai.FinishReasonSafety, genai.FinishReasonRecitation, genai.FinishReasonLanguage, genai.FinishReasonBlocklist,
		genai.FinishReasonProhibitedContent, genai.FinishReasonSPII, genai.FinishReasonImageSafety,
		genai.FinishReasonImageProhibitedContent, genai.FinishReasonImageRecitation:
		return model.FinishContentFilter
	}
	return model.FinishReason(strings.ToLower(string(reason)))
}
