// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/scripted"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// replyCase is a script and the reply that it must become.
type replyCase struct {
	script  string
	want    model.Reply
	outcome model.Outcome
}

const noUsage = "\nusage: {omit: true}"

func testReplies(t *testing.T, s Subject) {
	cases := map[string]replyCase{}
	for _, group := range []map[string]replyCase{textCases(s.API), callCases(), endCases()} {
		for name, tc := range group {
			cases[name] = tc
		}
	}
	for name, tc := range argumentCases() {
		if !isGoogle(s.API) { // its arguments are always an object; see TestMalformedCall in its package
			cases[name] = tc
		}
	}
	refusal := replyCase{
		script:  Reply("refusal: I cannot help with that." + noUsage),
		want:    model.Reply{Refusal: "I cannot help with that.", FinishReason: model.FinishStop},
		outcome: model.OutcomeRefused,
	}
	if isGoogle(s.API) || s.API == model.Bedrock { // their refusals are a filter
		refusal.want, refusal.outcome = model.Reply{FinishReason: model.FinishContentFilter}, model.OutcomeFiltered
	}
	cases["refusal"] = refusal
	if s.API == model.Anthropic { // its filter is a refusal
		filtered := cases["content filter"]
		filtered.want, filtered.outcome = model.Reply{Refusal: "There", FinishReason: model.FinishStop}, model.OutcomeRefused
		cases["content filter"] = filtered
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := s.complete(t, tc.script)
			if err != nil {
				t.Fatalf("complete: %v", err)
			}
			got.ID, got.Model, got.ReasoningItems = "", "", nil
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("reply (-want +got):\n%s", diff)
			}
			if got.Outcome() != tc.outcome {
				t.Errorf("outcome is %s, want %s", got.Outcome(), tc.outcome)
			}
		})
	}
}

// isGoogle reports whether an API is that of Gemini, in either place.
func isGoogle(api model.API) bool { return api == model.Gemini || api == model.Vertex }

func textCases(api model.API) map[string]replyCase {
	f := newForm(api)
	answer := model.Reply{Text: "There are three.", FinishReason: model.FinishStop}
	stream := f.text.begin + f.text.piece("There are ") + f.text.piece("three.") + f.end
	is := func(script string) replyCase {
		return replyCase{script: script, want: answer, outcome: model.OutcomeAnswer}
	}
	cases := map[string]replyCase{
		"text in many chunks":       is(Reply("text: There are three.\nchunkSize: 3" + noUsage)),
		"text in a single chunk":    is(Reply("text: There are three.\nchunkSize: 1000" + noUsage)),
		"answered without a stream": is(Reply("text: There are three.\nunstreamed: true" + noUsage)),
		"reasoning is kept apart": {
			script:  Reply("text: There are three.\nreasoning: Let me count.\nchunkSize: 4" + noUsage),
			want:    model.Reply{Text: "There are three.", Reasoning: "Let me count.", FinishReason: model.FinishStop},
			outcome: model.OutcomeAnswer,
		},
		"reasoning without a stream": {
			script:  Reply("text: There are three.\nreasoning: Let me count.\nunstreamed: true" + noUsage),
			want:    model.Reply{Text: "There are three.", Reasoning: "Let me count.", FinishReason: model.FinishStop},
			outcome: model.OutcomeAnswer,
		},
	}
	raw := func(contentType, body string) replyCase {
		tc := is(RawReply(contentType, body))
		tc.want.Usage = rawUsage(api)
		return tc
	}
	plain := is(RawReply("text/event-stream", f.whole("There are three.")))
	cases["without a stream although the type says stream"] = plain
	cases["a stream although the type says JSON"] = raw("application/json", stream)
	if f.frame != nil {
		return cases
	}
	cases["a stream with comments and no final empty line"] = raw("text/event-stream", ": keep-alive\n\n"+strings.TrimRight(stream, "\n"))
	cases["a stream with carriage returns"] = raw("text/event-stream", strings.ReplaceAll(stream, "\n", "\r\n"))
	return cases
}

// rawUsage is the usage in the streams of a form.
func rawUsage(api model.API) *model.Usage {
	if api == model.Anthropic {
		return &model.Usage{PromptTokens: 1, CompletionTokens: 3, TotalTokens: 4}
	}
	return nil
}

func toolCall(id, name, arguments string) model.ToolCall {
	return model.ToolCall{ID: id, Name: name, Arguments: arguments}
}

func callCases() map[string]replyCase {
	const script = "toolCalls:\n- {id: a, name: ls, arguments: {path: .}}\n- {id: b, name: read, arguments: {path: go.mod}}"
	both := []model.ToolCall{toolCall("a", "ls", `{"path":"."}`), toolCall("b", "read", `{"path":"go.mod"}`)}
	is := func(body string, calls ...model.ToolCall) replyCase {
		return replyCase{Reply(body + noUsage), model.Reply{ToolCalls: calls, FinishReason: model.FinishToolCalls}, model.OutcomeToolCalls}
	}
	withText := is("text: I look.\nreasoning: Where?\n"+script+"\nchunkSize: 3", both...)
	withText.want.Text, withText.want.Reasoning = "I look.", "Where?"
	return map[string]replyCase{
		"arguments in many chunks":    is(script+"\nchunkSize: 1", both...),
		"arguments in one chunk":      is(script+"\nchunkSize: 1000", both...),
		"tool calls without a stream": is(script+"\nunstreamed: true", both...),
		"text, reasoning and calls":   withText,
		"an unknown tool passes":      is("toolCalls: [{id: a, name: functions.no_such_tool, arguments: {x: 1}}]", toolCall("a", "functions.no_such_tool", `{"x":1}`)),
		"large numbers are exact": is("toolCalls: [{id: a, name: ls, arguments: '{\"n\":12345678901234567890}'}]",
			toolCall("a", "ls", `{"n":12345678901234567890}`)),
		"duplicate and missing IDs become unique": is("toolCalls:\n- {id: same, name: ls}\n- {id: same, name: ls}\n- {id: '', name: ls}\n- {id: same-2, name: ls}",
			toolCall("same", "ls", "{}"), toolCall("same-2", "ls", "{}"), toolCall("call-3", "ls", "{}"), toolCall("same-2-2", "ls", "{}")),
	}
}

// argumentCases have arguments that are not an object.
func argumentCases() map[string]replyCase {
	is := func(arguments, wrong, finish string) replyCase {
		tc := replyCase{
			script: Reply("toolCalls: [{id: a, name: ls, arguments: '" + arguments + "'}]" + noUsage),
			want: model.Reply{
				ToolCalls:    []model.ToolCall{{ID: "a", Name: "ls", Arguments: arguments, ArgumentsError: wrong}},
				FinishReason: model.FinishToolCalls,
			},
			outcome: model.OutcomeToolCalls,
		}
		if finish != "" {
			tc.script, tc.want.FinishReason = tc.script+"    finishReason: "+finish+"\n", model.FinishReason(finish)
		}
		return tc
	}
	none := is("", "", "")
	none.want.ToolCalls[0].Arguments = "{}"
	return map[string]replyCase{
		"no arguments": none,
		"malformed arguments are kept and marked":          is(`{"path": `, "the arguments are not a JSON object: unexpected end of JSON input", ""),
		"arguments that are JSON but no object are marked": is(`[1]`, "the arguments are JSON, but not an object", ""),
		"arguments cut at the output limit":                is(`{"path": "a`, "the arguments were cut off at the output limit; make the call again with shorter arguments", "length"),
	}
}

// endCases end for another reason than that the answer is complete.
func endCases() map[string]replyCase {
	return map[string]replyCase{
		"output limit": {
			script:  Reply("text: There are\nfinishReason: length" + noUsage),
			want:    model.Reply{Text: "There are", FinishReason: model.FinishLength},
			outcome: model.OutcomeTruncated,
		},
		"output limit without a stream": {
			script:  Reply("text: There are\nfinishReason: length\nunstreamed: true" + noUsage),
			want:    model.Reply{Text: "There are", FinishReason: model.FinishLength},
			outcome: model.OutcomeTruncated,
		},
		"content filter": {
			script:  Reply("text: There\nfinishReason: content_filter" + noUsage),
			want:    model.Reply{Text: "There", FinishReason: model.FinishContentFilter},
			outcome: model.OutcomeFiltered,
		},
		"empty":                  {Reply(noUsage), model.Reply{FinishReason: model.FinishStop}, model.OutcomeEmpty},
		"empty without a stream": {Reply("unstreamed: true" + noUsage), model.Reply{FinishReason: model.FinishStop}, model.OutcomeEmpty},
	}
}

func testUsage(t *testing.T, s Subject) {
	const usage = "\nusage: {promptTokens: 100, cachedTokens: 60, completionTokens: 20, reasoningTokens: 5}"
	want := &model.Usage{PromptTokens: 100, CachedTokens: 60, CompletionTokens: 20, ReasoningTokens: 5, TotalTokens: 120}
	if s.API == model.Bedrock {
		want.ReasoningTokens = 0 // it does not count them
	}
	for name, tc := range map[string]struct {
		script string
		want   *model.Usage
	}{
		"of a text":            {Reply("text: Three." + usage), want},
		"of tool calls":        {Reply("toolCalls: [{name: ls}]" + usage), want},
		"of a truncated reply": {Reply("text: Three\nfinishReason: length" + usage), want},
		"without a stream":     {Reply("text: Three.\nunstreamed: true" + usage), want},
		"omitted is unknown":   {Reply("text: Three." + noUsage), nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := s.complete(t, tc.script)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Usage); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
		})
	}
}

func testDeltas(t *testing.T, s Subject) {
	const script = "text: There are three files in it.\nreasoning: I count them.\ntoolCalls: [{name: ls, arguments: {path: .}}, {name: read, arguments: {path: go.mod}}]\nchunkSize: 4"
	client := s.play(t, Reply(script), scripted.Options{}).client(t, wire.Endpoint{})
	var text, reasoning strings.Builder
	calls := map[int]*model.ToolCall{}
	pieces := 0
	got, err := client.Complete(t.Context(), Question(), func(d model.Delta) {
		pieces++
		text.WriteString(d.Text)
		reasoning.WriteString(d.Reasoning)
		if d.ToolCall == nil {
			return
		}
		if calls[d.ToolCall.Index] == nil {
			calls[d.ToolCall.Index] = &model.ToolCall{}
		}
		calls[d.ToolCall.Index].Name += d.ToolCall.Name
		calls[d.ToolCall.Index].Arguments += d.ToolCall.Arguments
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Text != "There are three files in it." || text.String() != got.Text || got.Reasoning != "I count them." || reasoning.String() != got.Reasoning || pieces < 12 {
		t.Errorf("%d pieces, text %q, reasoning %q, reply %+v", pieces, text.String(), reasoning.String(), got)
	}
	if len(got.ToolCalls) != 2 || len(calls) != 2 {
		t.Fatalf("deltas of %d calls, reply %+v", len(calls), got)
	}
	for i, call := range got.ToolCalls {
		if calls[i].Name != call.Name || calls[i].Arguments != call.Arguments {
			t.Errorf("call %d: pieces give %+v, the reply %+v", i, calls[i], call)
		}
	}
}
