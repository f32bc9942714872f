// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted_test

import (
	"errors"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/anthropic"
	"github.com/nestor-dev/nestor/internal/model/gemini"
	"github.com/nestor-dev/nestor/internal/model/openai"
	"github.com/nestor-dev/nestor/internal/model/responses"
	"github.com/nestor-dev/nestor/internal/model/scripted"
	"github.com/nestor-dev/nestor/internal/model/wire"
	"github.com/nestor-dev/nestor/test/patience"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the transcripts in testdata/scenarios")

// TestScenarios plays every scenario of the design documents with all built-in scripts at once, like the demo, on each
// API with the same transcripts. A file is a transcript; lines that begin with "user>" are the user's input, "user>
// /deny TOOL" denies the next call of a tool, and "chat" starts a new chat.
func TestScenarios(t *testing.T) {
	scripts, err := scripted.Demo()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	if err != nil || len(files) < 6 {
		t.Fatalf("found %d scenarios, want at least 6: %v", len(files), err)
	}
	for api, newClient := range clients() {
		server, url := serve(t, scripted.Options{Scripts: scripts, NoDelay: true})
		client, err := newClient(wire.Endpoint{BaseURL: url})
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			t.Run(string(api)+"/"+filepath.Base(file), func(t *testing.T) { playScenario(t, client, file) })
		}
		for _, request := range server.Requests() {
			if request.API != api || request.Status != http.StatusOK {
				t.Errorf("%s: a request used %s and got %d: %s", api, request.API, request.Status, request.Error)
			}
		}
	}
}

// clients returns how to make a client of each API for the address of a server.
func clients() map[model.API]func(wire.Endpoint) (model.Client, error) {
	return map[model.API]func(wire.Endpoint) (model.Client, error){
		model.OpenAI: func(e wire.Endpoint) (model.Client, error) {
			e.BaseURL += "/v1"
			return openai.NewClient(e)
		},
		model.OpenAIResponses: func(e wire.Endpoint) (model.Client, error) {
			e.BaseURL += "/v1"
			return responses.NewClient(e)
		},
		model.Anthropic: func(e wire.Endpoint) (model.Client, error) { return anthropic.NewClient(e) },
		model.Gemini:    func(e wire.Endpoint) (model.Client, error) { return gemini.NewClient(e) },
	}
}

func playScenario(t *testing.T, client model.Client, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, chat := range strings.Split(string(data), "chat\n")[1:] {
		s := &simulator{t: t, client: client, inputs: userLines(chat)}
		got.WriteString("chat\n" + strings.Join(s.run(), "\n") + "\n")
	}
	if *rewrite {
		if err := os.WriteFile(file, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(data), got.String()); diff != "" {
		t.Errorf("the transcript differs (-want +got); if that is right, run with -rewrite:\n%s", diff)
	}
}

func userLines(chat string) []string {
	var input []string
	for line := range strings.Lines(chat) {
		if text, ok := strings.CutPrefix(line, "user> "); ok {
			input = append(input, strings.TrimSpace(text))
		}
	}
	return input
}

// TestFailuresScript plays each failure and its second attempt on each API.
func TestFailuresScript(t *testing.T) {
	const passed = "It did not fail this time."
	for api, newClient := range clients() {
		for input, want := range map[string][2]string{
			"a rate limit":     {"RateLimited", passed},
			"a server error":   {"Transient", passed},
			"an overload":      {"Overloaded", passed},
			"a cut stream":     {"Transient", passed},
			"malformed JSON":   {"Malformed", passed},
			"a hang":           {"TimedOut", passed},
			"an empty reply":   {"Empty", passed},
			"a context":        {"ContextTooLong", passed},
			"broken arguments": {"ToolCalls", "ToolCalls"},
			"an unknown tool":  {"ToolCalls", "ToolCalls"},
			"a bad key":        {"Unauthorized", "Unauthorized"},
			"a bad request":    {"BadRequest", "BadRequest"},
			"an unknown model": {"UnknownModel", "UnknownModel"},
			"a content filter": {"Filtered", "Filtered"},
			"a refusal":        {"Refused", "Refused"},
			"a truncation":     {"Truncated", "Truncated"},
		} {
			t.Run(string(api)+"/"+input, func(t *testing.T) {
				if other := otherOutcome(api, input); other != "" {
					want = [2]string{other, other}
				}
				if got := fail(t, newClient, input); got != want {
					t.Errorf("got %v, want %v", got, want)
				}
			})
		}
	}
}

// otherOutcome returns the outcome of a failure that an API cannot express, or "".
func otherOutcome(api model.API, input string) string {
	switch {
	case api == model.Anthropic && input == "a content filter": // its filter refuses
		return "Refused"
	case api == model.Gemini && input == "a refusal": // it has only filters
		return "Filtered"
	case api == model.Gemini && input == "broken arguments": // it drops such a call and reports it
		return "Malformed"
	}
	return ""
}

// fail asks twice for a failure and returns the outcomes.
func fail(t *testing.T, newClient func(wire.Endpoint) (model.Client, error), input string) (got [2]string) {
	t.Helper()
	script, err := scripted.Builtin("failures")
	if err != nil {
		t.Fatal(err)
	}
	_, url := serve(t, scripted.Options{Scripts: []*scripted.Script{script}})
	for i := range got {
		timeout := patience.Limit()
		if input == "a hang" && i == 0 {
			timeout = 2 * time.Second
		}
		client, err := newClient(wire.Endpoint{BaseURL: url, Timeout: timeout})
		if err != nil {
			t.Fatal(err)
		}
		reply, err := client.Complete(t.Context(), model.Request{
			Model: "scripted", Messages: []model.Message{{Role: model.RoleUser, Text: "Fail with " + input}},
		}, nil)
		var failed *model.Error
		switch {
		case errors.As(err, &failed):
			got[i] = string(failed.Kind)
		case reply.Outcome() == model.OutcomeAnswer:
			got[i] = reply.Text
		default:
			got[i] = string(reply.Outcome())
		}
	}
	return got
}
