// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package role

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/tool"
)

func builtIn(t *testing.T, name string) Role {
	t.Helper()
	r, ok := BuiltIn(name)
	if !ok {
		t.Fatalf("there is no built-in role %s", name)
	}
	return r
}

func matches(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		matched, err := path.Match(glob, name)
		return matched && err == nil
	})
}

// The limits and delegations of the design.
func TestLimitsAndDelegations(t *testing.T) {
	everybody := slices.DeleteFunc(Names(), func(name string) bool { return name == Orchestrator })
	want := map[string]struct {
		iterations int32
		seconds    int32
		delegates  []string
	}{
		"orchestrator": {50, 600, everybody},
		"general":      {20, 300, nil},
		"researcher":   {20, 300, nil},
		"planner":      {15, 180, []string{"coder", "reviewer", "tester"}},
		"coder":        {30, 300, []string{"tester"}},
		"tester":       {20, 180, nil},
		"reviewer":     {10, 120, nil},
		"debugger":     {25, 240, nil},
		"code-search":  {8, 300, nil},
		"code-review":  {6, 300, nil},
	}
	if len(Names()) != len(want) {
		t.Errorf("built-in roles are %v", Names())
	}
	for name, w := range want {
		r := builtIn(t, name)
		if r.Limits.MaxIterations != w.iterations || r.Limits.MaxDurationSeconds != w.seconds {
			t.Errorf("%s: limits %+v, want %d iterations, %d s", name, r.Limits, w.iterations, w.seconds)
		}
		if diff := cmp.Diff(w.delegates, slices.Sorted(slices.Values(r.Delegates()))); diff != "" {
			t.Errorf("%s delegates (-want +got):\n%s", name, diff)
		}
	}
}

func TestRolesAreComplete(t *testing.T) {
	label := regexp.MustCompile(`^[a-z]([a-z-]*[a-z])?$`)
	for _, name := range Names() {
		r := builtIn(t, name)
		if r.Name != name || !label.MatchString(name) {
			t.Errorf("the role in file %s is named %q", name, r.Name)
		}
		if r.DisplayName == "" || r.Icon == "" || r.Tools == nil || r.Approval == nil || r.Approval.Mode != v1beta1.ApprovalWriteTools {
			t.Errorf("%s lacks a field: %+v", name, r)
		}
		if r.Model != "" || r.ModelProvider != "" {
			t.Errorf("%s names a model; it must work with any endpoint", name)
		}
		if strings.Count(r.Description, ".") != 1 || !strings.HasSuffix(r.Description, ".") {
			t.Errorf("%s: description %q is not one sentence", name, r.Description)
		}
		if name != Orchestrator && len(r.DelegateWhen) == 0 {
			t.Errorf("%s has no DelegateWhen", name)
		}
		if n := utf8.RuneCountInString(r.SystemPrompt); n < 1500 || n > 8000 {
			t.Errorf("%s: the prompt has %d characters", name, n)
		}
		for _, glob := range slices.Concat(r.Tools.Allow, r.Tools.Deny) {
			if _, err := path.Match(glob, ""); err != nil {
				t.Errorf("%s: the tool pattern %q is malformed", name, glob)
			}
		}
		for _, delegate := range r.Delegates() {
			if _, ok := BuiltIn(delegate); !ok {
				t.Errorf("%s delegates to %s, which does not exist", name, delegate)
			}
		}
	}
}

// plainWords are the words in backticks in prompts that are not tools.
var plainWords = []string{
	"success_criteria", "confidence", "files_modified", "files_created", "tests_run", "tests_passed", "path:line",
	"bugs", "security", "performance", "style", "all",
}

// A prompt that names a tool which the role does not have makes a model fail.
func TestPromptsNameOnlyOwnTools(t *testing.T) {
	shared := []string{"ask_user"}
	subAgent := append([]string{"submit_result", "submit_error"}, shared...)
	orchestrator := append([]string{"delegate_to_agent", "spawn_agents", "reply_to_agent", "continue_agent", "cancel_task"}, shared...)
	quoted := regexp.MustCompile("`([^`\n]+)`")
	for _, name := range Names() {
		r := builtIn(t, name)
		control := subAgent
		if name == Orchestrator {
			control = orchestrator
		}
		for _, match := range quoted.FindAllStringSubmatch(r.SystemPrompt, -1) {
			word := match[1]
			if !slices.Contains(plainWords, word) && !slices.Contains(control, word) && (!matches(r.Tools.Allow, word) || matches(r.Tools.Deny, word)) {
				t.Errorf("the prompt of %s names %q, which the role does not have", name, word)
			}
		}
	}
}

// Content that agents read may contain instructions from attackers.
func TestPromptsDistrustContent(t *testing.T) {
	for _, name := range Names() {
		if !strings.Contains(builtIn(t, name).SystemPrompt, "instruction") {
			t.Errorf("the prompt of %s does not warn about instructions in content", name)
		}
	}
}

// A control tool that the prompt does not explain is not used, or is misused. The wording is free.
func TestOrchestratorPromptExplainsControlTools(t *testing.T) {
	prompt := builtIn(t, Orchestrator).SystemPrompt
	for _, name := range []string{"delegate_to_agent", "spawn_agents", "reply_to_agent", "confidence", "continue_agent", "cancel_task", "ask_user"} {
		if !strings.Contains(prompt, "`"+name+"`") {
			t.Errorf("the orchestrator's prompt does not mention %s", name)
		}
	}
}

func TestRolesAsTools(t *testing.T) {
	cases := []struct{ role, tool, arguments string }{
		{"code-search", "CodeSearch", `{"query": "where are retries?", "scope": "internal"}`},
		{"code-review", "CodeReview", `{"target": "main.go", "focus": "security"}`},
		{"planner", "Planner", `{"task": "add a cache", "constraints": "no new dependency"}`},
	}
	for _, c := range cases {
		r := builtIn(t, c.role)
		if r.AsTool == nil || r.AsTool.Name != c.tool {
			t.Errorf("%s as a tool is %+v, want %s", c.role, r.AsTool, c.tool)
			continue
		}
		if got := check(t, r, c.arguments); got != tool.NoFailure {
			t.Errorf("%s refuses %s: %s", c.tool, c.arguments, got)
		}
		for _, bad := range []string{`{}`, `{"other": 1}`, strings.Replace(c.arguments, "{", `{"extra": 1, `, 1)} {
			if got := check(t, r, bad); got != tool.InvalidArguments {
				t.Errorf("%s accepts %s", c.tool, bad)
			}
		}
	}
	review := builtIn(t, "code-review")
	for _, focus := range []string{"bugs", "style", "performance", "security", "all"} {
		if got := check(t, review, `{"target": "a", "focus": "`+focus+`"}`); got != tool.NoFailure {
			t.Errorf("CodeReview refuses focus %s", focus)
		}
	}
	if got := check(t, review, `{"target": "a", "focus": "speed"}`); got != tool.InvalidArguments {
		t.Error("CodeReview accepts focus speed")
	}
}

func check(t *testing.T, r Role, arguments string) tool.Failure {
	t.Helper()
	made, err := tool.New(tool.Spec{Name: r.AsTool.Name, Parameters: r.InputSchema()}, emptyRole)
	if err != nil {
		t.Fatal(err)
	}
	set, err := tool.NewSet(made)
	if err != nil {
		t.Fatal(err)
	}
	return tool.Executor{}.Execute(t.Context(), set, tool.Invocation{Name: r.AsTool.Name, Arguments: json.RawMessage(arguments)}).Failure
}

func TestSearchAndReviewOnlyRead(t *testing.T) {
	for name, want := range map[string][]string{
		"code-search": {"read", "glob", "grep", "ls"},
		"code-review": {"read", "glob", "grep"},
	} {
		if diff := cmp.Diff(want, builtIn(t, name).Tools.Allow); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, name := range []string{"researcher", "planner", "reviewer"} {
		for _, writes := range []string{"write", "patch", "bash"} {
			if matches(builtIn(t, name).Tools.Allow, writes) {
				t.Errorf("%s allows %s", name, writes)
			}
		}
	}
}

func TestUnknownRoleIsNotBuiltIn(t *testing.T) {
	for _, name := range []string{"", "main", "../role", "coder.md"} {
		if _, ok := BuiltIn(name); ok {
			t.Errorf("%q is a built-in role", name)
		}
	}
}
