// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted_test

import (
	"errors"
	"flag"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/openai"
	"github.com/nestor-dev/nestor/internal/model/scripted"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the transcripts in testdata/scenarios")

// TestScenarios plays every scenario of the design documents with all built-in scripts at once, like the demo. A file
// is a transcript; lines that begin with "user>" are the user's input, and "chat" starts a new chat.
func TestScenarios(t *testing.T) {
	scripts, err := scripted.Demo()
	if err != nil {
		t.Fatal(err)
	}
	listening := httptest.NewServer(scripted.NewServer(scripted.Options{Scripts: scripts, NoDelay: true}))
	defer listening.Close()
	client, err := openai.NewClient(wire.Endpoint{BaseURL: listening.URL + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	if err != nil || len(files) < 6 {
		t.Fatalf("found %d scenarios, want at least 6: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
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
		})
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

// TestFailuresScript plays each failure and its second attempt.
func TestFailuresScript(t *testing.T) {
	const passed = "It did not fail this time."
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
		t.Run(input, func(t *testing.T) {
			script, err := scripted.Builtin("failures")
			if err != nil {
				t.Fatal(err)
			}
			_, url := serve(t, scripted.Options{Scripts: []*scripted.Script{script}})
			client, err := openai.NewClient(wire.Endpoint{BaseURL: url + "/v1", Timeout: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			var got [2]string
			for i := range got {
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
			if got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}
