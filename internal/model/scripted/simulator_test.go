// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/model"
)

// controlTools are the control tools with their parameters; those with a star are optional. Roles that are tools are
// listed too.
var controlTools = map[string]string{
	"delegate_to_agent": "role task context_files* success_criteria* context*",
	"spawn_agents":      "tasks wait*",
	"ask_user":          "question",
	"submit_result":     "result summary* details* files_modified* files_created* tests_run* tests_passed* warnings* suggestions*",
	"submit_error":      "error",
	"reply_to_agent":    "sub_agent answer confidence",
	"continue_agent":    "sub_agent message",
	"cancel_task":       "task",
	"set_title":         "title",
	"CodeSearch":        "query scope*",
	"CodeReview":        "target focus*",
}

var (
	orchestratorTools = []string{"delegate_to_agent", "spawn_agents", "CodeSearch", "CodeReview", "ask_user", "reply_to_agent", "continue_agent", "cancel_task", "calculator"}
	agentTools        = []string{"delegate_to_agent", "spawn_agents", "ask_user", "submit_result", "submit_error", "calculator", "think", "web_search", "read", "ls", "glob", "grep", "write", "patch", "bash"}
)

// simulator runs an orchestrator and sub-agents sequentially, in the simplest way that covers a scenario. It is not
// an engine; it checks that the scripts complete their scenarios with the existing tools.
type simulator struct {
	t      *testing.T
	client model.Client
	inputs []string // the user's messages, in order

	history   []model.Message
	histories map[string][]model.Message // of the sub-agents
	summaries map[string]any             // of the results of the sub-agents
	log       []string
	answer    string // the last answer of reply_to_agent
	started   int
}

func (s *simulator) logf(depth int, format string, args ...any) {
	s.log = append(s.log, strings.Repeat("  ", depth)+fmt.Sprintf(format, args...))
}

func (s *simulator) run() []string {
	s.histories, s.summaries = map[string][]model.Message{}, map[string]any{}
	s.history = []model.Message{{Role: model.RoleSystem, Text: "You are the main agent. Delegate, or answer."}}
	for len(s.inputs) > 0 {
		s.nextInput()
	}
	return s.log
}

func (s *simulator) nextInput() {
	input := s.inputs[0]
	s.inputs = s.inputs[1:]
	s.logf(0, "user> %s", input)
	s.turn(input)
}

// turn passes an input to the orchestrator and runs it until it has nothing more to do.
func (s *simulator) turn(input string) {
	s.history = append(s.history, model.Message{Role: model.RoleUser, Text: input})
	var later []func() string
	for range 10 {
		reply := s.complete(s.history, orchestratorTools)
		s.history = append(s.history, reply.Message())
		if reply.Text != "" {
			s.logf(0, "orchestrator: %s", oneLine(reply.Text))
		}
		if len(reply.ToolCalls) == 0 {
			break
		}
		for _, call := range reply.ToolCalls {
			s.logf(0, "-> %s %s", call.Name, call.Arguments)
			result, input := s.orchestratorCall(call)
			s.history = append(s.history, model.Message{Role: model.RoleTool, ToolCallID: call.ID, Text: result})
			if input != nil {
				later = append(later, input)
			}
		}
	}
	for _, work := range later {
		s.turn(work())
	}
}

// orchestratorCall answers a call, and returns a function that runs the work that the call started and returns the
// next input.
func (s *simulator) orchestratorCall(call model.ToolCall) (string, func() string) {
	args := s.arguments(call)
	switch call.Name {
	case "reply_to_agent":
		if confidence, ok := args["confidence"].(float64); ok && confidence >= 70 {
			s.answer = fmt.Sprint(args["answer"])
		}
		return "done", nil
	case "ask_user", "cancel_task", "set_title":
		return "done", nil
	case "continue_agent":
		name := fmt.Sprint(args["sub_agent"])
		return "Task " + name + " goes on.", func() string {
			return fmt.Sprintf("Task %s finished: %s", name, s.resume(name, 1, fmt.Sprint(args["message"])))
		}
	case "spawn_agents":
		return "Tasks started.", func() string { return s.spawn(args, 1) }
	case "calculator":
		return map[string]string{"17 * 23": "391", "2 + 3*4": "14"}[fmt.Sprint(args["expression"])], nil
	case "delegate_to_agent", "CodeSearch", "CodeReview":
	default:
		s.t.Fatalf("the orchestrator has no tool %s; so far:\n%s", call.Name, strings.Join(s.log, "\n"))
	}
	role, task := delegation(call.Name, args)
	name := s.name()
	return "Task " + name + " started.", func() string {
		return fmt.Sprintf("Task %s (sub-agent %s) finished: %s", name, name, s.agent(name, role, task, 1))
	}
}

func delegation(tool string, args map[string]any) (string, string) {
	switch tool {
	case "CodeSearch":
		return "CodeSearch", fmt.Sprint(args["query"])
	case "CodeReview":
		return "CodeReview", fmt.Sprint(args["target"])
	}
	return fmt.Sprint(args["role"]), fmt.Sprint(args["task"])
}

func (s *simulator) name() string {
	s.started++
	if s.started > 50 {
		s.t.Fatalf("the scenario does not end; so far:\n%s", strings.Join(s.log, "\n"))
	}
	return fmt.Sprintf("chat-task-%d", s.started)
}

func (s *simulator) spawn(args map[string]any, depth int) string {
	var results []map[string]any
	tasks, ok := args["tasks"].([]any)
	if !ok || len(tasks) == 0 {
		s.t.Errorf("spawn_agents without tasks: %v", args)
	}
	for _, entry := range tasks {
		task, ok := entry.(map[string]any)
		if !ok {
			s.t.Fatalf("spawn_agents: a task is %v", entry)
		}
		role := "general"
		if task["role"] != nil {
			role = fmt.Sprint(task["role"])
		}
		name := s.name()
		var outcome any = s.agent(name, role, fmt.Sprint(task["task"]), depth)
		if summary := s.summaries[name]; summary != nil { // the parent gets no more of each of several results
			outcome = summary
		}
		results = append(results, map[string]any{"agent_id": name, "task": task["task"], "outcome": outcome})
		if args["wait"] == "any" {
			break
		}
	}
	return mustJSON(s.t, map[string]any{"sub_agent_results": results})
}

func (s *simulator) agent(name, role, task string, depth int) string {
	s.logf(depth, "%s (%s): %s", name, role, task)
	s.histories[name] = []model.Message{
		{Role: model.RoleSystem, Text: fmt.Sprintf("## Sub-Agent Context\n\nYou are operating as a **%s** sub-agent (depth %d/2).\n- Your task: %s\n", role, depth, task)},
	}
	return s.resume(name, depth, task)
}

// resume passes an input to a sub-agent and runs it to its result.
func (s *simulator) resume(name string, depth int, input string) string {
	history := append(s.histories[name], model.Message{Role: model.RoleUser, Text: input})
	defer func() { s.histories[name] = history }()
	const limit = 6
	for range limit {
		reply := s.complete(history, agentTools)
		history = append(history, reply.Message())
		if len(reply.ToolCalls) == 0 {
			s.logf(depth, "%s says: %s", name, oneLine(reply.Text))
			return reply.Text
		}
		for _, call := range reply.ToolCalls {
			s.logf(depth, "-> %s %s", call.Name, oneLine(call.Arguments))
			result, done := s.agentCall(name, depth, call)
			history = append(history, model.Message{Role: model.RoleTool, ToolCallID: call.ID, Text: result})
			if done {
				return result
			}
		}
	}
	partial := s.complete(history, nil)
	s.logf(depth, "%s is at its limit: %s", name, oneLine(partial.Text))
	return "IterationLimit: " + partial.Text
}

func (s *simulator) agentCall(name string, depth int, call model.ToolCall) (string, bool) {
	args := s.arguments(call)
	switch call.Name {
	case "submit_result":
		s.summaries[name] = args["summary"]
		return fmt.Sprint(args["result"]), true
	case "submit_error":
		return "failed: " + fmt.Sprint(args["error"]), true
	case "ask_user":
		return s.ask(name, fmt.Sprint(args["question"])), false
	case "spawn_agents":
		return s.spawn(args, depth+1), false
	case "delegate_to_agent":
		role, task := delegation(call.Name, args)
		return s.agent(s.name(), role, task, depth+1), false
	}
	if denial := "/deny " + call.Name; len(s.inputs) > 0 && s.inputs[0] == denial {
		s.inputs = s.inputs[1:]
		s.logf(0, "user> %s", denial)
		return "The user denied this call. Do not try it again; find another way, or say what you cannot do.", false
	}
	if call.Name == "write" {
		return fmt.Sprintf("Created %s.", args["path"]), false
	}
	return "result of " + call.Name, false
}

// ask passes a question to the orchestrator and, if that cannot answer it, to the user.
func (s *simulator) ask(name, question string) string {
	s.answer = ""
	s.turn(fmt.Sprintf("Sub-agent %s asks: %s Does the conversation answer this?", name, question))
	if s.answer == "" {
		s.logf(0, "Agent %s needs input: %s", name, question)
		s.nextInput()
	}
	if s.answer == "" {
		s.t.Errorf("the question %q of %s got no answer", question, name)
	}
	return s.answer
}

func (s *simulator) complete(history []model.Message, tools []string) model.Reply {
	s.t.Helper()
	request := model.Request{Model: "scripted", Messages: history}
	for _, name := range tools {
		request.Tools = append(request.Tools, model.Tool{Name: name})
	}
	reply, err := s.client.Complete(s.t.Context(), request, nil)
	if err != nil {
		s.t.Fatalf("%v\nso far:\n%s", err, strings.Join(s.log, "\n"))
	}
	return reply
}

// arguments parses a call's arguments and checks them against the existing tools.
func (s *simulator) arguments(call model.ToolCall) map[string]any {
	var args map[string]any
	if err := json.Unmarshal([]byte(call.Arguments), &args); err != nil {
		s.t.Errorf("%s: %v", call.Name, err)
	}
	parameters, isControl := controlTools[call.Name]
	if !isControl {
		if !slices.Contains(agentTools, call.Name) {
			s.t.Errorf("there is no tool %s", call.Name)
		}
		return args
	}
	known := strings.Fields(parameters)
	for name := range args {
		if !slices.Contains(known, name) && !slices.Contains(known, name+"*") {
			s.t.Errorf("%s has no parameter %s", call.Name, name)
		}
	}
	for _, name := range known {
		if _, given := args[name]; !given && !strings.HasSuffix(name, "*") {
			s.t.Errorf("%s lacks %s: %s", call.Name, name, call.Arguments)
		}
	}
	return args
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
