// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// The control tools: those that act on the agent itself.
const (
	ToolDelegate = "delegate_to_agent"
	ToolSpawn    = "spawn_agents"
	ToolAskUser  = "ask_user"
	ToolSubmit   = "submit_result"
	ToolGiveUp   = "submit_error"
	ToolReply    = "reply_to_agent"
	ToolContinue = "continue_agent"
	ToolCancel   = "cancel_task"
	ToolTitle    = "set_title"
)

// controlNames are the keys of controls, for functions that controls itself refers to.
var controlNames = []string{ToolDelegate, ToolSpawn, ToolAskUser, ToolSubmit, ToolGiveUp, ToolReply, ToolContinue, ToolCancel, ToolTitle}

// ControlTools returns the names of the control tools.
func ControlTools() []string { return slices.Clone(controlNames) }

// controls implements the control tools. submission handles valid calls of submit_result and submit_error before a batch begins.
var controls = map[string]func(State, BatchCall) (State, BatchCall){
	ToolDelegate: delegateToAgent,
	ToolSpawn:    spawnAgents,
	ToolAskUser:  askUser,
	ToolReply:    replyToAgent,
	ToolContinue: continueAgent,
	ToolCancel:   cancelTask,
	ToolTitle:    setTitle,
	ToolSubmit:   badSubmission,
	ToolGiveUp:   badSubmission,
}

// submission returns the outcome of a valid call of submit_result or submit_error.
func (c Config) submission(call ToolCall) (Outcome, bool) {
	if !c.Offers(call.Tool) || call.Problem != "" {
		return Outcome{}, false
	}
	switch call.Tool {
	case ToolSubmit:
		var in struct {
			Result        string   `json:"result"`
			Summary       string   `json:"summary"`
			Details       string   `json:"details"`
			FilesModified []string `json:"files_modified"`
			FilesCreated  []string `json:"files_created"`
			TestsRun      *int     `json:"tests_run"`
			TestsPassed   *int     `json:"tests_passed"`
			Warnings      []string `json:"warnings"`
			Suggestions   []string `json:"suggestions"`

			Data json.RawMessage `json:"data"`
		}
		if json.Unmarshal([]byte(call.Arguments), &in) != nil || in.Result == "" && !c.Isolated {
			return Outcome{}, false
		}
		data, ok := c.submittedData(in.Data)
		if !ok {
			return Outcome{}, false
		}
		return Outcome{Result: &Result{
			Text: in.Result, Summary: in.Summary, Details: in.Details, FilesModified: in.FilesModified, FilesCreated: in.FilesCreated,
			TestsRun: in.TestsRun, TestsPassed: in.TestsPassed, Warnings: in.Warnings, Suggestions: in.Suggestions,
			Data: data,
		}}, true
	case ToolGiveUp:
		var in struct {
			Error string `json:"error"`
		}
		if json.Unmarshal([]byte(call.Arguments), &in) != nil || in.Error == "" {
			return Outcome{}, false
		}
		return Outcome{Kind: ErrorSubAgent, Error: in.Error}, true
	}
	return Outcome{}, false
}

// submittedData returns the data of a submission as a log stores it. It reports false if the agent must submit data and this is not
// an object. The driver has checked it against the schema.
func (c Config) submittedData(data json.RawMessage) (json.RawMessage, bool) {
	if c.Isolated {
		return c.closedData(data)
	}
	if len(c.OutputSchema) == 0 {
		return nil, true
	}
	if !isObject(string(data)) {
		return nil, false
	}
	normalised, err := json.Marshal(data)
	return normalised, err == nil
}

// badSubmission answers an invalid call of submit_result or submit_error.
func badSubmission(s State, c BatchCall) (State, BatchCall) {
	field := "result"
	if c.Tool == ToolGiveUp {
		field = "error"
	}
	if c.Tool == ToolSubmit && s.Config.Isolated {
		return s, c.done(ToolFailed, `submit_result needs "data", an object that matches its schema, with integers as plain digits. Nothing was submitted; call it again.`)
	}
	if c.Tool == ToolSubmit && len(s.Config.OutputSchema) > 0 {
		return s, c.done(ToolFailed, `submit_result needs a non-empty "result", and "data", an object that matches its schema. Nothing was submitted; call it again.`)
	}
	return s, c.done(ToolFailed, fmt.Sprintf("%s needs a non-empty %q. Nothing was submitted; call it again.", c.Tool, field))
}

func (c BatchCall) question() string {
	var in struct {
		Question string `json:"question"`
	}
	if json.Unmarshal([]byte(c.Arguments), &in) != nil {
		return ""
	}
	return strings.TrimSpace(in.Question)
}

func askUser(s State, c BatchCall) (State, BatchCall) {
	question := c.question()
	if question == "" {
		return s, c.done(ToolFailed, `ask_user needs a non-empty "question". The user was not asked; call it again.`)
	}
	if s.Config.Kind == Orchestrator {
		return askInChat(s, c, question)
	}
	c.State = CallAsked
	return s, c
}

// delegation contains the arguments of delegate_to_agent and of each task of spawn_agents.
type delegation struct {
	Role            string   `json:"role"`
	Task            string   `json:"task"`
	ContextFiles    []string `json:"context_files"`
	SuccessCriteria string   `json:"success_criteria"`
	Context         string   `json:"context"`
	Cwd             string   `json:"cwd"`
	// Inputs are inputs by reference, for isolated roles.
	Inputs []namedInput `json:"inputs"`
}

// The API's limits on a delegation. A child that exceeds them could not be created.
const (
	maxTaskText     = 32768
	maxCriteria     = 4096
	maxContextFiles = 64
	maxPath         = 256
	maxFanOut       = 1000
)

// The context modes of a delegation, as named in the API; empty means none.
const (
	// ContextSummary: a summary of the parent's conversation.
	ContextSummary = "Summary"
	// ContextFull: the parent's conversation.
	ContextFull = "Full"
	// ContextSelective: the contents of files.
	ContextSelective = "Selective"
)

var contextModes = map[string]string{"": "", "none": "None", "summary": ContextSummary, "full": ContextFull, "selective": ContextSelective}

// spec checks a delegation and converts it to a child. A problem is text for the model that says what to change.
func (d delegation) spec(config Config) (spec ChildSpec, problem string) {
	mode, known := contextModes[strings.ToLower(d.Context)]
	switch {
	case strings.TrimSpace(d.Task) == "":
		return spec, `"task" must say what the agent is to do.`
	case tooLong(d.Task):
		return spec, textTooLong("task")
	case !config.mayDelegateTo(d.Role):
		return spec, fmt.Sprintf(`"role" is %q, but you may delegate to: %s.`, d.Role, strings.Join(config.delegateNames(), ", "))
	case utf8.RuneCountInString(d.SuccessCriteria) > maxCriteria:
		return spec, fmt.Sprintf(`"success_criteria" may have at most %d characters.`, maxCriteria)
	case len(d.ContextFiles) > maxContextFiles:
		return spec, fmt.Sprintf(`"context_files" may name at most %d files.`, maxContextFiles)
	case !known:
		return spec, `"context" must be none, summary, full or selective.`
	case mode == ContextSelective && len(d.ContextFiles) == 0:
		return spec, `"context" selective shows the agent the files in "context_files": name at least one, or choose another context.`
	case config.isolates(d.Role) && len(d.ContextFiles) > 0:
		return spec, fmt.Sprintf(`the role %s is isolated and has no tool to read files: name them in "inputs" instead of "context_files".`, d.Role)
	case d.Cwd != "" && !insideWorkspace(d.Cwd):
		return spec, `"cwd" must be a relative path inside the workspace.`
	}
	if i := slices.IndexFunc(d.ContextFiles, func(p string) bool { return !insideWorkspace(p) }); i >= 0 {
		return spec, fmt.Sprintf(`"context_files" has %q: name relative paths inside the workspace.`, d.ContextFiles[i])
	}
	inputs, problem := d.inputs(config)
	return ChildSpec{
		Role: d.Role, Task: d.Task, ContextFiles: d.ContextFiles, SuccessCriteria: d.SuccessCriteria, Context: mode, WorkingDir: d.Cwd, Inputs: inputs,
	}, problem
}

func tooLong(instruction string) bool { return utf8.RuneCountInString(instruction) > maxTaskText }

func textTooLong(field string) string {
	return fmt.Sprintf("%q may have at most %d characters; put long material into a file and name it.", field, maxTaskText)
}

func insideWorkspace(p string) bool {
	return p != "" && utf8.RuneCountInString(p) <= maxPath && !path.IsAbs(p) && !slices.Contains(strings.Split(p, "/"), "..")
}
