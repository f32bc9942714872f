// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"cmp"
	"context"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/gateway/run"
)

// state is the structured content of a result: the state of a run.
type state struct {
	Namespace string              `json:"namespace"`
	Task      string              `json:"task"`
	Role      string              `json:"role,omitempty"`
	Phase     v1beta1.TaskPhase   `json:"phase"`
	Answer    string              `json:"answer,omitempty"`
	Result    *v1beta1.TaskResult `json:"result,omitempty"`
	Error     *v1beta1.RunError   `json:"error,omitempty"`
	Waiting   *waiting            `json:"waiting,omitempty"`
	Blocked   string              `json:"blocked,omitempty"`
	Usage     v1beta1.Usage       `json:"usage,omitzero"`
	Next      string              `json:"next,omitempty"`
}

type waiting struct {
	Ask       string              `json:"ask"`
	Kind      v1beta1.WaitingKind `json:"kind"`
	Text      string              `json:"text"`
	Tool      string              `json:"tool,omitempty"`
	Arguments string              `json:"arguments,omitempty"`
}

// report returns the state of a run as the result of a call. answer is the whole answer; the status may have a
// shortened one.
func (c *call) report(task *v1beta1.AgentTask, ask *run.Ask, answer string) *sdk.CallToolResult {
	s := state{
		Namespace: task.Namespace, Task: task.Name, Role: task.Spec.Role, Phase: cmp.Or(task.Status.Phase, v1beta1.TaskPending),
		Result: task.Status.Result, Error: task.Status.Error, Usage: task.Status.Usage, Answer: answer,
	}
	result := &sdk.CallToolResult{}
	var words string
	switch {
	case s.Phase == v1beta1.TaskSuccess:
		words = cmp.Or(answer, "The agent ended without text.")
	case s.Phase == v1beta1.TaskFailed || s.Phase == v1beta1.TaskCancelled:
		result.IsError = true
		words = fmt.Sprintf("The task %s ended without success: %s.", task.Name, s.Phase)
		if s.Error != nil {
			words = fmt.Sprintf("The task %s ended without success: %s: %s", task.Name, s.Error.Kind, s.Error.Message)
		}
		if answer != "" {
			words += "\n\nPartial result:\n" + answer
		}
	case ask != nil:
		s.Phase = v1beta1.TaskWaiting
		s.Waiting = &waiting{Ask: ask.ID(), Kind: ask.Kind, Text: ask.Description(), Tool: ask.Tool, Arguments: ask.Arguments}
		s.Next = fmt.Sprintf("A person has to answer. Then call %s with task %q and ask %q.", toolAnswer, task.Name, ask.ID())
		if ask.IsApproval() {
			s.Next = fmt.Sprintf("%s Then call %s with task %q to read its result.", c.howToDecide(*ask), toolGet, task.Name)
		}
		words = fmt.Sprintf("The task %s waits for a person:\n\n%s\n\n%s", task.Name, s.Waiting.Text, s.Next)
	default:
		s.Next, s.Blocked = fmt.Sprintf("Call %s with task %q to read its result.", toolGet, task.Name), run.BlockedBy(task)
		words = fmt.Sprintf("The task %s is %s. %s", task.Name, s.Phase, s.Next)
		if s.Blocked != "" {
			words = fmt.Sprintf("The task %s cannot start yet: %s It starts automatically after that. %s", task.Name, s.Blocked, s.Next)
		}
	}
	result.Content = []sdk.Content{&sdk.TextContent{Text: words}}
	result.StructuredContent = s
	return result
}

// howToDecide returns how a person decides about a call whose client shows no forms.
func (c *call) howToDecide(ask run.Ask) string {
	task := cmp.Or(ask.Root, ask.Task)
	command := fmt.Sprintf("kubectl nestor approve -n %s %s (or deny)", ask.Namespace, ask.Task)
	if c.pageURL == "" {
		return "A person has to decide, with: " + command + "."
	}
	return fmt.Sprintf("A person has to decide, on %s/%s/runs/%s or with: %s.", c.pageURL, ask.Namespace, task, command)
}

// cannotStart returns the result of a call whose run cannot start until a person creates a missing object. The run
// remains, unless the call created it and its role does not exist.
func (c *call) cannotStart(created bool) func(context.Context, run.Event) *sdk.CallToolResult {
	return func(ctx context.Context, e run.Event) *sdk.CallToolResult {
		if err := run.CannotStart(ctx, c.runs, e, created); apierrors.IsNotFound(err) {
			return refusal(err)
		}
		result := c.report(e.Task, nil, "")
		result.IsError = true
		return result
	}
}

// refusal returns an error as the result of a call, so that a model can read it.
func refusal(err error) *sdk.CallToolResult {
	result := &sdk.CallToolResult{}
	result.SetError(err)
	return result
}
