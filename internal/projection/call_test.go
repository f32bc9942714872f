// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/test/jsontext"
)

func TestLongArgumentsHideNoOthers(t *testing.T) {
	long := strings.Repeat("x", 8000)
	for _, arguments := range []string{
		`{"message":"` + long + `","changes":"nestor/x: 1 files"}`,
		`{"changes":"nestor/x: 1 files","message":"` + long + `"}`,
		`{"message":"` + strings.Repeat("é", 900) + `","more":["` + long + `"],"changes":"nestor/x: 1 files"}`,
	} {
		got := callText("publish_changes", arguments)
		if !strings.Contains(got, `"changes":"nestor/x: 1 files"`) || !strings.Contains(got, `"message":"`) || utf8.RuneCountInString(got) > maxWaitingText {
			t.Errorf("%d characters: %s", utf8.RuneCountInString(got), got)
		}
	}
}

// A person decides from the object in a status, so it must be what the tool gets.
func TestArgumentsAreExactOrOmitted(t *testing.T) {
	fits := `{"a":"` + strings.Repeat("x", maxArguments-len(`{"a":""}`)) + `"}`
	for text, want := range map[string]string{
		"":                              "",
		`{}`:                            `{}`,
		`{"b": 1, "a": {"c": [1.5]}}`:   `{"a":{"c":[1.5]},"b":1}`,
		fits:                            fits,
		fits[:6] + "x" + fits[6:]:       "omitted",
		`{"n":9007199254740993}`:        `{"n":9007199254740993}`,
		`{"n":12345678901234567890123}`: "omitted",
		`{"n":0.1234567890123456789}`:   "omitted",
		`{"path":"a","path":"b"}`:       "omitted",
		`{"a":`:                         "omitted",
		`["a"]`:                         "omitted",
		`no JSON`:                       "omitted",
	} {
		got := ""
		arguments, omitted := callArguments(text)
		switch {
		case arguments != nil && !omitted:
			got = string(arguments.Raw)
		case omitted:
			got = "omitted"
		}
		if got != want {
			t.Errorf("callArguments(%s) is %s, want %s", text, got, want)
		}
	}
}

// The statuses of agents whose calls have JSON everywhere.
func TestStatusesHaveNoJSONInStrings(t *testing.T) {
	call := agent.ToolCall{ID: "c1", Tool: "bash", Arguments: `{"command":"make"}`}
	sub, task := shown(Work{}, play(subAgent(), replies("", call)("m1")))
	chat := &v1beta1.AgentChat{Status: Chat(play(agent.Config{Kind: agent.Orchestrator, Name: "chat"},
		agent.Asked{Agent: "chat-2", Task: "chat-2", Call: "c", Kind: agent.AskApproval, Tool: "bash", Arguments: call.Arguments},
	), ChatFacts{}, v1beta1.AgentChatStatus{}, 1)}
	for _, object := range []any{sub, task, chat} {
		found, err := jsontext.Find(object)
		if err != nil || len(found) > 0 {
			t.Errorf("%T: %q %v", object, found, err)
		}
	}
}

func TestCallTextsAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		arguments := rapid.String().Draw(t, "arguments")
		if rapid.Bool().Draw(t, "valid") {
			fields := map[string]string{}
			for range rapid.IntRange(0, 30).Draw(t, "fields") {
				fields[rapid.String().Draw(t, "name")] = rapid.StringN(0, 3000, -1).Draw(t, "value")
			}
			encoded, err := json.Marshal(fields)
			if err != nil {
				t.Fatal(err)
			}
			arguments = string(encoded)
		}
		got := callText("tool", arguments)
		if utf8.RuneCountInString(got) > maxWaitingText || !utf8.ValidString(got) {
			t.Fatalf("%d characters: %q", utf8.RuneCountInString(got), got)
		}
		if whole := "tool " + arguments; utf8.RuneCountInString(whole) <= maxWaitingText && utf8.ValidString(whole) && got != whole {
			t.Fatalf("got %q", got)
		}
	})
}
