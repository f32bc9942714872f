// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/scripted"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// The smallest images that pass a check of their first bytes.
const (
	png  = "\x89PNG\r\n\x1a\nfirst"
	jpeg = "\xff\xd8\xffsecond"
)

func pngImage() model.Image  { return model.Image{MediaType: "image/png", Data: []byte(png)} }
func jpegImage() model.Image { return model.Image{MediaType: "image/jpeg", Data: []byte(jpeg)} }

// FullRequest returns a request that has every field, with awkward values. The scripted model is strict: if it answers,
// the real API accepts the request.
func FullRequest() model.Request {
	temperature := 0.2
	return model.Request{
		Model: "scripted",
		Messages: []model.Message{
			{Role: model.RoleSystem, Text: "You are helpful."},
			{Role: model.RoleUser, Text: "What is on these?", Images: []model.Image{pngImage()}},
			{Role: model.RoleAssistant, Text: "I look.", ToolCalls: []model.ToolCall{
				{ID: "a", Name: "read_image", Arguments: `{"path":"a.png"}`},
				{
					ID: "b", Name: "functions.read image", Arguments: `{"path": `,
					ArgumentsError: "the arguments are not a JSON object",
				},
				{ID: "c/1:2", Name: "", Arguments: `{}`},
			}},
			{Role: model.RoleTool, ToolCallID: "a", Text: "1 image", Images: []model.Image{jpegImage()}},
			{Role: model.RoleTool, ToolCallID: "b", Text: "bad arguments"},
			{Role: model.RoleTool, ToolCallID: "c/1:2", Text: ""},
			{Role: model.RoleAssistant},
			{Role: model.RoleUser, Images: []model.Image{jpegImage()}},
			{Role: model.RoleUser, Text: "And then?"},
			{Role: model.RoleAssistant, Refusal: "I cannot."},
			{Role: model.RoleUser, Text: "How many files are there?"},
		},
		Tools: []model.Tool{
			{
				Name: "read_image", Description: "Reads an image.",
				Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`),
			},
			{Name: "current_time"},
		},
		ToolChoice:      "auto",
		Temperature:     &temperature,
		MaxOutputTokens: 4096,
		IdempotencyKey:  "agent-1/7",
	}
}

func testFullRequest(t *testing.T, s Subject) {
	requests := map[string]model.Request{"all fields": FullRequest()}
	for _, choice := range []string{"", "none", "required"} {
		req := FullRequest()
		req.ToolChoice = choice
		requests["tool choice "+choice] = req
	}
	efforts := []model.ReasoningEffort{model.EffortNone, model.EffortLow, model.EffortMedium, model.EffortHigh}
	for _, effort := range efforts {
		req := FullRequest()
		req.ReasoningEffort = effort
		requests["effort "+string(effort)] = req
		req.MaxOutputTokens = 64
		requests["a small limit and effort "+string(effort)] = req
	}
	bare := FullRequest()
	bare.Tools, bare.ToolChoice, bare.Temperature, bare.MaxOutputTokens = nil, "", nil, 0
	requests["no tools and no settings"] = bare
	for name, req := range requests {
		t.Run(name, func(t *testing.T) {
			p := s.play(t, Reply("text: Three."), scripted.Options{})
			got, err := p.client(t, wire.Endpoint{}).Complete(t.Context(), req, nil)
			if err != nil || got.Text != "Three." {
				t.Fatalf("got %+v, %v", got, err)
			}
			request := p.requests()[0]
			if key := request.header.Get("Idempotency-Key"); key != "agent-1/7" {
				t.Errorf("the idempotency key is %q", key)
			}
			if n := len(p.requests()); n != 1 {
				t.Errorf("%d requests were sent", n)
			}
		})
	}
}

func testStoredRequest(t *testing.T, s Subject) {
	p := s.play(t, Reply("text: Three."), scripted.Options{})
	client := p.client(t, wire.Endpoint{})
	stored, err := json.Marshal(FullRequest())
	if err != nil {
		t.Fatal(err)
	}
	var restored model.Request
	if err := json.Unmarshal(stored, &restored); err != nil {
		t.Fatal(err)
	}
	// Images are stored separately, by digest.
	for i, m := range FullRequest().Messages {
		for j, image := range m.Images {
			restored.Messages[i].Images[j].Data = image.Data
		}
	}
	for _, req := range []model.Request{FullRequest(), restored} {
		if _, err := client.Complete(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
	}
	requests := p.requests()
	if diff := cmp.Diff(string(requests[0].body), string(requests[1].body)); diff != "" {
		t.Errorf("the restored request differs:\n%s", diff)
	}
}

// loop is a conversation that continues with the replies of a client.
type loop struct {
	t      *testing.T
	client model.Client
	req    model.Request
	ids    map[string]bool // of all calls so far
}

// next calls the model and appends its reply, with a result for each call.
func (l *loop) next() model.Reply {
	l.t.Helper()
	got, err := l.client.Complete(l.t.Context(), l.req, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	// The conversation continues with the reply as the ledger stores it.
	stored, err := json.Marshal(got)
	if err != nil {
		l.t.Fatal(err)
	}
	var restored model.Reply
	if err := json.Unmarshal(stored, &restored); err != nil {
		l.t.Fatal(err)
	}
	if diff := cmp.Diff(got, restored); diff != "" {
		l.t.Errorf("the stored reply differs:\n%s", diff)
	}
	l.req.Messages = append(l.req.Messages, restored.Message())
	for i, call := range restored.ToolCalls {
		if l.ids[call.ID] {
			l.t.Errorf("the ID %s was used before in this history", call.ID)
		}
		l.ids[call.ID] = true
		result := model.Message{Role: model.RoleTool, ToolCallID: call.ID, Text: fmt.Sprintf("result %d", i)}
		l.req.Messages = append(l.req.Messages, result)
	}
	return got
}

func (s Subject) loop(t *testing.T, script string) (*loop, *provider) {
	t.Helper()
	p := s.play(t, script, scripted.Options{})
	req := Question()
	req.Tools = []model.Tool{{Name: "ls"}, {Name: "read", Parameters: json.RawMessage(`{"type":"object"}`)}}
	return &loop{t: t, client: p.client(t, wire.Endpoint{}), req: req, ids: map[string]bool{}}, p
}

// testRepliesSentBack sends the model's replies back, including calls with invalid arguments and repeated ids.
func testRepliesSentBack(t *testing.T, s Subject) {
	broken := `"{broken"`
	if isGoogle(s.API) {
		broken = "{}" // its arguments are always an object
	}
	l, _ := s.loop(t, `
rules:
- match: {turn: 1}
  reply: {toolCalls: [{id: x, name: "bad name", arguments: `+broken+`}, {id: x, name: ls}, {id: "", name: ls}]}
- match: {turn: 2}
  reply: {text: More., toolCalls: [{id: x, name: ls}, {id: "", name: ls}]}
- match: {turn: 3}
  reply: {}
- match: {turn: 4, toolResult: {}}
  reply: {text: Wrong.}
- match: {turn: 4}
  reply: {text: Done.}
`)
	l.next()
	l.next()
	l.next()
	l.req.Messages = append(l.req.Messages, model.Message{Role: model.RoleUser, Text: "Go on."})
	if got := l.next(); got.Text != "Done." {
		t.Errorf("got %+v", got)
	}
}

const reasoningScript = `
rules:
- match: {turn: 1}
  reply: {reasoning: Let me look., toolCalls: [{id: a, name: ls}, {id: b, name: read, arguments: {path: go.mod}}]}
- match: {turn: 2}
  reply: {reasoning: One more., text: Wait., toolCalls: [{id: c, name: ls}]}
- match: {turn: 3}
  reply: {reasoning: Enough., text: Three.}
- match: {turn: 4}
  reply: {text: Done.}
`

// testReasoningSentBack runs a tool loop with a model that reasons. The strict server refuses a request in which
// reasoning is missing or changed.
func testReasoningSentBack(t *testing.T, s Subject) {
	for _, effort := range []model.ReasoningEffort{"", model.EffortLow, model.EffortHigh} {
		t.Run("effort "+string(effort), func(t *testing.T) {
			l, p := s.loop(t, reasoningScript)
			l.req.ReasoningEffort = effort
			first := l.next()
			l.next()
			l.next()
			l.req.Messages = append(l.req.Messages, model.Message{Role: model.RoleUser, Text: "Thanks."})
			if got := l.next(); got.Text != "Done." {
				t.Errorf("got %+v", got)
			}
			if s.API == model.OpenAI {
				return // it returns reasoning only for people
			}
			if len(first.ReasoningItems) == 0 {
				t.Fatal("the reply has no reasoning items")
			}
			for _, item := range first.ReasoningItems {
				if item.API != s.API || item.Model != "scripted" {
					t.Errorf("item %+v", item)
				}
				for i, r := range p.requests()[1:] {
					if !bytes.Contains(r.body, item.Data) {
						t.Errorf("request %d lacks the item %s: %s", i+2, item.Data, r.body)
					}
				}
			}
		})
	}
}

// testForeignReasoning continues a conversation that had another API or model before: its reasoning is left out.
func testForeignReasoning(t *testing.T, s Subject) {
	l, p := s.loop(t, Reply("text: Three."))
	l.req.ReasoningEffort = model.EffortLow
	const foreign = "foreign-item"
	items := []model.ReasoningItem{
		{API: s.API, Model: "another", Data: json.RawMessage(`{"type":"reasoning","data":"` + foreign + `"}`)},
		{API: s.API, Model: "another", Call: "a", Data: json.RawMessage(`"` + foreign + `"`)},
	}
	thinking := json.RawMessage(`{"type":"thinking","thinking":"` + foreign + `","signature":"` + foreign + `"}`)
	apis := []model.API{
		model.OpenAI, model.OpenAIResponses, model.Anthropic, model.Gemini, model.Bedrock, model.Vertex,
	}
	for _, api := range apis {
		if api != s.API {
			items = append(items, model.ReasoningItem{API: api, Model: "scripted", Data: thinking},
				model.ReasoningItem{API: api, Model: "scripted", Call: "a", Data: json.RawMessage(`"` + foreign + `"`)})
		}
	}
	calls := []model.ToolCall{{ID: "a", Name: "ls", Arguments: "{}"}}
	l.req.Messages = append(l.req.Messages,
		model.Message{Role: model.RoleAssistant, ToolCalls: calls, ReasoningItems: items},
		model.Message{Role: model.RoleTool, ToolCallID: "a", Text: "go.mod"})
	if got := l.next(); got.Text != "Three." {
		t.Errorf("got %+v", got)
	}
	for _, r := range p.requests() {
		if bytes.Contains(r.body, []byte(foreign)) {
			t.Errorf("reasoning of another model was sent: %s", r.body)
		}
	}
}

// testPrefixIsStable checks that consecutive requests of an agent have the same bytes up to the new messages, so that
// the provider's prompt cache is used.
func testPrefixIsStable(t *testing.T, s Subject) {
	l, p := s.loop(t, reasoningScript)
	l.req.ReasoningEffort = model.EffortLow
	l.req.Messages[1].Images = []model.Image{pngImage()}
	for range 3 {
		l.next()
	}
	requests := p.requests()
	for i := 1; i < len(requests); i++ {
		before, after := split(t, requests[i-1].body), split(t, requests[i].body)
		if diff := cmp.Diff(before.rest, after.rest); diff != "" {
			t.Errorf("request %d differs outside the messages:\n%s", i+1, diff)
		}
		if len(after.messages) <= len(before.messages) {
			t.Fatalf("request %d has %d messages after %d", i+1, len(after.messages), len(before.messages))
		}
		for j, message := range before.messages {
			if diff := cmp.Diff(message, after.messages[j]); diff != "" {
				t.Errorf("message %d of request %d differs:\n%s", j, i+1, diff)
			}
		}
	}
}

// prompt is the body of a request: the list of messages, which grows, and everything else in its order.
type prompt struct {
	messages []string
	rest     string
}

// split splits the body of a request. Cache marks are removed: they move with the newest message and are not part of
// the prompt.
func split(t *testing.T, body []byte) prompt {
	t.Helper()
	for _, mark := range []string{`,"cache_control":{"type":"ephemeral"}`, `,{"cachePoint":{"type":"default"}}`} {
		body = bytes.ReplaceAll(body, []byte(mark), nil)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"messages", "input", "contents"} {
		list, ok := fields[field]
		if !ok {
			continue
		}
		var elements []json.RawMessage
		if err := json.Unmarshal(list, &elements); err != nil {
			t.Fatal(err)
		}
		out := prompt{rest: strings.Replace(string(body), string(list), "", 1)}
		for _, element := range elements {
			out.messages = append(out.messages, string(element))
		}
		return out
	}
	t.Fatalf("the body has no messages: %s", body)
	return prompt{}
}

// testImages sends images in a user message and in tool results.
func testImages(t *testing.T, s Subject) {
	first, second := base64.StdEncoding.EncodeToString([]byte(png)), base64.StdEncoding.EncodeToString([]byte(jpeg))
	l, p := s.loop(t, Reply("text: Three."))
	l.req.Messages[1].Images = []model.Image{pngImage(), {MediaType: "image/gif", Size: 99}}
	calls := []model.ToolCall{{ID: "a", Name: "ls", Arguments: "{}"}, {ID: "b", Name: "read", Arguments: "{}"}}
	l.req.Messages = append(l.req.Messages,
		model.Message{Role: model.RoleAssistant, ToolCalls: calls},
		model.Message{Role: model.RoleTool, ToolCallID: "a", Text: "1 image", Images: []model.Image{jpegImage()}},
		model.Message{Role: model.RoleTool, ToolCallID: "b", Text: "none"})
	request := l.req
	l.next()
	request.TextOnly = true
	if _, err := l.client.Complete(t.Context(), request, nil); err != nil {
		t.Fatal(err)
	}
	withImages, textOnly := string(p.requests()[0].body), string(p.requests()[1].body)
	const prunedNote = "[There was an image here (image/gif, 99 bytes). It is no longer stored.]"
	types := []string{"image/png", "image/jpeg"}
	if s.API == model.Bedrock {
		types = []string{`"format":"png"`, `"format":"jpeg"`}
	}
	for _, part := range append(types, first, second, prunedNote) {
		if !strings.Contains(withImages, part) {
			t.Errorf("%s is not in the request: %s", part, withImages)
		}
	}
	const note = "[There is an image here (image/jpeg, 9 bytes), which you cannot see: images are not shown to you.]"
	if strings.Contains(textOnly, first) || strings.Contains(textOnly, second) || !strings.Contains(textOnly, note) {
		t.Errorf("a model without images gets: %s", textOnly)
	}
}

func testInvalidSchema(t *testing.T, s Subject) {
	p := s.play(t, Reply("text: Three."), scripted.Options{})
	req := Question()
	req.Tools = []model.Tool{{Name: "ls", Parameters: json.RawMessage(`[]`)}}
	_, err := p.client(t, wire.Endpoint{}).Complete(t.Context(), req, nil)
	got := Failure(t, err)
	if got.Kind != model.BadRequest || !strings.Contains(got.Message, "the schema of tool ls is not a JSON object") {
		t.Errorf("got %v", err)
	}
	if len(p.requests()) != 0 {
		t.Error("a request was sent")
	}
}
