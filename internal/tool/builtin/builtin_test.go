// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package builtin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/builtin"
)

// outputs is a fake ledger of full outputs, by agent and call.
type outputs map[string]string

func (o outputs) FullOutput(_ context.Context, agent, callID string) (builtin.Recorded, error) {
	text, ok := o[agent+"/"+callID]
	if !ok {
		return builtin.Recorded{}, fmt.Errorf("call %s of %s: %w", callID, agent, builtin.ErrNoResult)
	}
	if text == pruned {
		return builtin.Recorded{}, fmt.Errorf("call %s of %s: %w", callID, agent, builtin.ErrPruned)
	}
	return builtin.Recorded{Text: text, Labels: []string{"tracker"}}, nil
}

// pruned marks an output that was deleted.
const pruned = "pruned"

func TestReadResultReportsPrunedOutput(t *testing.T) {
	set := makeSet(t, builtin.Options{Results: outputs{"agent-1/call_9": pruned}})
	if result := execute(t, set, builtin.ReadResult, `{"call_id": "call_9"}`); !strings.Contains(result.Text, `The output of call "call_9" was deleted because of its age.`) {
		t.Errorf("got %q", result.Text)
	}
}

func makeSet(t *testing.T, options builtin.Options) tool.Set {
	t.Helper()
	set, err := builtin.New(options)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func execute(t *testing.T, set tool.Set, name, arguments string) tool.Result {
	t.Helper()
	return tool.Executor{}.Execute(t.Context(), set, tool.Invocation{
		ID: "call_1", Name: name, Arguments: json.RawMessage(arguments), Namespace: "team-a", Agent: "agent-1",
	})
}

func TestToolsAreReadOnlyAndNamed(t *testing.T) {
	set := makeSet(t, builtin.Options{Results: outputs{}, Search: &builtin.Search{}})
	if diff := cmp.Diff(builtin.Names(), set.Names()); diff != "" {
		t.Errorf("names (-listed +made):\n%s", diff)
	}
	for _, made := range set.Tools() {
		if spec := made.Spec(); !spec.ReadOnly || len(spec.Description) < 40 {
			t.Errorf("%s: read-only %v, description %q", spec.Name, spec.ReadOnly, spec.Description)
		}
	}
}

func TestUnconfiguredToolsAreNotOffered(t *testing.T) {
	names := makeSet(t, builtin.Options{}).Names()
	if slices.Contains(names, builtin.WebSearch) || slices.Contains(names, builtin.ReadResult) {
		t.Errorf("offered without configuration: %v", names)
	}
}

func TestCalculator(t *testing.T) {
	set := makeSet(t, builtin.Options{})
	result := execute(t, set, builtin.Calculator, `{"expression": "(17.5 + 3) * 2"}`)
	if result.Text != "41" || string(result.Output.Structured) != `{"value":"41","exact":true}` {
		t.Errorf("got %q, %s", result.Text, result.Output.Structured)
	}
	result = execute(t, set, builtin.Calculator, `{"expression": "1 / 0"}`)
	if result.Failure != tool.Failed || !strings.Contains(result.Text, "division by zero") {
		t.Errorf("got %s: %q", result.Failure, result.Text)
	}
	result = execute(t, set, builtin.Calculator, `{"code": "1"}`)
	if result.Failure != tool.InvalidArguments {
		t.Errorf("got %s: %q", result.Failure, result.Text)
	}
}

func TestThink(t *testing.T) {
	result := execute(t, makeSet(t, builtin.Options{}), builtin.Think, `{"thought": "hm"}`)
	if result.Failure != tool.NoFailure {
		t.Errorf("got %s: %q", result.Failure, result.Text)
	}
}

func TestCurrentTime(t *testing.T) {
	at := time.Date(2026, 7, 1, 23, 30, 0, 0, time.UTC)
	set := makeSet(t, builtin.Options{Now: func() time.Time { return at }})
	for arguments, want := range map[string]string{
		`{}`:                             "Wednesday, 1 July 2026, 23:30:00 (UTC, 2026-07-01T23:30:00Z)",
		`{"timezone": "Europe/Berlin"}`:  "Thursday, 2 July 2026, 01:30:00 (Europe/Berlin, 2026-07-02T01:30:00+02:00)",
		`{"timezone": "Mars/Olympus"}`:   `There is no time zone "Mars/Olympus"`,
		`{"timezone": "Local"}`:          `There is no time zone "Local"`,
		`{"timezone": "../etc/passwd"}`:  "There is no time zone",
		`{"timezone": "Asia/Kathmandu"}`: "2026-07-02T05:15:00+05:45",
	} {
		if result := execute(t, set, builtin.CurrentTime, arguments); !strings.Contains(result.Text, want) {
			t.Errorf("%s: got %q, want %q", arguments, result.Text, want)
		}
	}
}

func TestReadResultPagesThroughOutput(t *testing.T) {
	whole := strings.Repeat("0123456789", 25_000/10)
	set := makeSet(t, builtin.Options{Results: outputs{"agent-1/call_9": whole, "agent-2/call_8": "private"}})

	first := execute(t, set, builtin.ReadResult, `{"call_id": "call_9"}`)
	if !strings.HasPrefix(first.Text, whole[:16_000]) || !strings.HasSuffix(first.Text, "[bytes 0 to 16000 of 25000; continue with offset 16000]") {
		t.Errorf("first page ends %q", first.Text[len(first.Text)-80:])
	}
	last := execute(t, set, builtin.ReadResult, `{"call_id": "call_9", "offset": 1.6e4, "limit": 32000}`)
	if !strings.HasPrefix(last.Text, whole[16_000:]) || !strings.Contains(last.Text, "this is the end") || last.Truncated {
		t.Errorf("last page ends %q, cut %v", last.Text[len(last.Text)-80:], last.Truncated)
	}
	for arguments, want := range map[string]string{
		`{"call_id": "call_9", "offset": 25000}`: "beyond the end: the output has 25000 bytes",
		`{"call_id": "call_7"}`:                  `There is no output of a call "call_7"`,
		`{"call_id": "call_8"}`:                  `There is no output of a call "call_8"`,
	} {
		if result := execute(t, set, builtin.ReadResult, arguments); result.Failure != tool.Failed || !strings.Contains(result.Text, want) {
			t.Errorf("%s: got %q, want %q", arguments, result.Text, want)
		}
	}
}

// TestMarkerLeadsToTheRest checks that the marker of a truncated output has the arguments that read_result needs.
func TestMarkerLeadsToTheRest(t *testing.T) {
	whole := strings.Repeat("a", 10_000) + strings.Repeat("b", 10_000) + strings.Repeat("c", 10_000)
	cut, _ := tool.Truncate(whole, 9_000, "call_9")
	var offset int
	if _, err := fmt.Sscanf(cut[strings.Index(cut, "and offset"):], "and offset %d", &offset); err != nil {
		t.Fatal(err)
	}
	set := makeSet(t, builtin.Options{Results: outputs{"agent-1/call_9": whole}})
	result := execute(t, set, builtin.ReadResult, fmt.Sprintf(`{"call_id": "call_9", "offset": %d, "limit": 30000}`, offset))
	if head := cut[:offset]; !strings.HasPrefix(result.Text, whole[len(head):]) {
		t.Errorf("the page at %d does not continue where the head ends", offset)
	}
}

type fixedSkill map[string]string

func (s fixedSkill) Text(file string) (string, bool) { text, ok := s[file]; return text, ok }

func (s fixedSkill) ContentLabels() []string { return nil }

func (s fixedSkill) Files() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s)), func(f string) bool { return f == "" })
}

func TestReadSkill(t *testing.T) {
	made, err := builtin.NewReadSkill(func(context.Context) (map[string]builtin.Skill, []string, error) {
		return map[string]builtin.Skill{"letters": fixedSkill{"": "Greet.\n", "a/b.txt": "Dear"}, "plain": fixedSkill{"": "Only this.\n"}}, []string{"letters", "plain"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !made.Spec().ReadOnly || slices.Contains(builtin.Names(), made.Spec().Name) {
		t.Errorf("read_skill is %+v; it must be read-only, and no tool of every role", made.Spec())
	}
	set, err := tool.NewSet(made)
	if err != nil {
		t.Fatal(err)
	}
	for arguments, want := range map[string]string{
		`{"skill":"letters"}`:                   "Greet.\n\n[Files of this skill: a/b.txt]",
		`{"skill":"plain"}`:                     "Only this.\n",
		`{"skill":"letters","file":"a/b.txt"}`:  "Dear",
		`{"skill":"letters","file":"../b.txt"}`: `has no file "../b.txt". Its files are: a/b.txt.`,
		`{"skill":"poems"}`:                     `There is no skill "poems". Your skills are: letters, plain.`,
		`{"skill":7}`:                           "/skill: got number, want string",
	} {
		result := tool.Executor{}.Execute(t.Context(), set, tool.Invocation{Name: builtin.ReadSkill, Arguments: json.RawMessage(arguments)})
		if !strings.Contains(result.Text, want) {
			t.Errorf("%s: %q, want %q", arguments, result.Text, want)
		}
	}
}

func TestContent_OnlyWebSearchIsFromOutside(t *testing.T) {
	set := makeSet(t, builtin.Options{Results: outputs{"agent-1/call_1": "text"}, Search: &builtin.Search{}})
	for _, made := range set.Tools() {
		if want := made.Name() != builtin.WebSearch; made.Spec().Content.Trusted != want {
			t.Errorf("%s is trusted: %t, want %t", made.Name(), !want, want)
		}
	}
	result := execute(t, set, builtin.ReadResult, `{"call_id": "call_1"}`)
	if diff := cmp.Diff(tool.Content{Trusted: true, Labels: []string{"tracker"}}, result.Content); diff != "" {
		t.Error(diff)
	}
}
