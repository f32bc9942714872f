// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/client/follow"
	"github.com/nestor-dev/nestor/internal/client/history"
	"github.com/nestor-dev/nestor/internal/shorten"
	"github.com/nestor-dev/nestor/internal/view"
)

// Ask is the question or approval that a run waits for.
type Ask struct {
	view.Ask
	Namespace string
	// SubAgent is the agent that asks; it may be any number of levels below the run.
	SubAgent string
	// Root is the standalone task at the top of the run; empty in a chat.
	Root string
	// Door labels the messages that answer the ask.
	Door string
}

// ID returns an identifier of the ask that stays the same as long as it is open.
func (a Ask) ID() string { return cmp.Or(a.Call, a.Task) + "@" + a.Task }

// IsApproval reports whether the ask needs a decision and not an answer.
func (a Ask) IsApproval() bool { return a.Kind == v1beta1.WaitingApproval }

// Description returns what the run waits for, without how to reply to it.
func (a Ask) Description() string {
	if !a.IsApproval() {
		return a.Question
	}
	text := fmt.Sprintf("%s wants to run %s with these arguments:\n\n%s", cmp.Or(a.Role, a.Task), a.Tool, a.Arguments)
	if a.Truncated {
		text += "\n\nThe arguments are shortened here; read them with: kubectl nestor approve " + a.Task + " --show"
	}
	if len(a.Reasons) > 0 {
		text += "\n\n" + strings.Join(a.Reasons, "\n")
	}
	return text
}

// OpenAsk returns what a standalone task waits for, or nil. The task's status has the ask of the agent that waits, at
// any depth below it.
func (c *Caller) OpenAsk(ctx context.Context, task *v1beta1.AgentTask) (*Ask, error) {
	waiting := task.Status.Waiting
	if waiting == nil || task.Status.Phase != v1beta1.TaskWaiting {
		return nil, nil
	}
	ask := Ask{Ask: view.NewAsk("", task.Name, *waiting), Namespace: task.Namespace, Root: task.Name, SubAgent: waiting.SubAgent, Door: task.Labels[v1beta1.LabelDoor]}
	ask.Role, ask.Requesters = task.Spec.Role, view.Requesters(task)
	if ask.SubAgent != "" && ask.SubAgent != task.Status.SubAgent {
		below := &v1beta1.SubAgent{}
		if err := c.API.Get(ctx, client.ObjectKey{Namespace: task.Namespace, Name: ask.SubAgent}, below); err != nil {
			return nil, fmt.Errorf("read the agent that asks: %w", err)
		}
		ask.Task, ask.Role = below.Spec.Task, below.Spec.Role
	}
	c.complete(ctx, &ask)
	return &ask, nil
}

type ChatState struct {
	// Asks are the open asks, oldest first.
	Asks []Ask
	// Latest is the newest message of a person with text, or empty.
	Latest string
}

func (c *Caller) ChatState(ctx context.Context, namespace, chat string) (ChatState, error) {
	now, err := follow.ReadSnapshot(ctx, c.API, follow.Scope{Namespace: namespace, Chat: chat})
	if err != nil {
		return ChatState{}, err
	}
	if now.Chat(chat) == nil {
		return ChatState{}, apierrors.NewNotFound(v1beta1.GroupVersion.WithResource("agentchats").GroupResource(), chat)
	}
	var state ChatState
	for _, waiting := range now.Asks(chat) {
		ask := Ask{Ask: waiting, Namespace: namespace}
		c.complete(ctx, &ask)
		state.Asks = append(state.Asks, ask)
	}
	for _, m := range now.Messages {
		if m.Spec.Role == v1beta1.RoleUser && m.Spec.Content != "" && m.Status.Phase != v1beta1.MessageRejected {
			state.Latest = m.Name
		}
	}
	return state, nil
}

// errFound ends the reading of a transcript.
var errFound = errors.New("found")

// complete replaces the text of an ask that is shortened with the text in the history, if the caller may read it.
func (c *Caller) complete(ctx context.Context, ask *Ask) {
	if !ask.Truncated {
		return
	}
	_ = c.history(ask.Namespace).Log(ctx, historyv1.TranscriptName("SubAgent", cmp.Or(ask.SubAgent, ask.Task)), history.Query{}, func(e historyv1.Entry) error {
		for _, call := range e.ToolCalls {
			if call.Arguments == "" {
				continue
			}
			if ask.IsApproval() && ask.IsAbout(call.ID, call.Tool) {
				if whole, ok := ask.WithArguments(call.Arguments); ok {
					ask.Ask = whole
					return errFound
				}
			}
			if question := questionIn(call.Arguments); !ask.IsApproval() && strings.HasPrefix(question, strings.TrimSuffix(ask.Question, shorten.Ellipsis)) {
				ask.Question, ask.Truncated = question, false // the last such question wins
			}
		}
		return nil
	})
}

// maxDepth is more than the possible depth of agents.
const maxDepth = 16

// HasAsked reports whether a reply to a client ends with a question from a task's agent or from an agent below it. It
// reads only the histories that the caller may read.
func (c *Caller) HasAsked(ctx context.Context, task *v1beta1.AgentTask, reply string) (bool, error) {
	if task.Status.SubAgent == "" || reply == Answer(task) {
		return false, nil
	}
	level := []string{task.Status.SubAgent}
	for depth := 0; depth < maxDepth && len(level) > 0; depth++ {
		for _, name := range level {
			if asked, err := c.agentHasAsked(ctx, task.Namespace, name, reply); asked || err != nil {
				return asked, err
			}
		}
		children, err := labels.NewRequirement(v1beta1.LabelParent, selection.In, level)
		if err != nil {
			return false, fmt.Errorf("select the agents below %s: %w", task.Name, err)
		}
		var below v1beta1.SubAgentList
		selector := client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*children)}
		if err := c.API.List(ctx, &below, client.InNamespace(task.Namespace), selector); err != nil {
			return false, ignoreUnreadable(err)
		}
		level = nil
		for i := range below.Items {
			level = append(level, below.Items[i].Name)
		}
	}
	return false, nil
}

// ignoreUnreadable returns nil for a history that the caller may not read, or that does not exist here. A history that
// cannot be read at the moment remains an error.
func ignoreUnreadable(err error) error {
	if apierrors.IsNotFound(err) || history.IsUnreadable(err) {
		return nil
	}
	return err
}

func (c *Caller) agentHasAsked(ctx context.Context, namespace, name, reply string) (bool, error) {
	err := c.history(namespace).Log(ctx, historyv1.TranscriptName("SubAgent", name), history.Query{}, func(e historyv1.Entry) error {
		for _, call := range e.ToolCalls {
			if call.Tool != agent.ToolAskUser {
				continue
			}
			if question := questionIn(call.Arguments); question != "" && endsWith(reply, question) {
				return errFound
			}
		}
		return nil
	})
	if errors.Is(err, errFound) {
		return true, nil
	}
	return false, ignoreUnreadable(err)
}

// questionIn returns the question in the arguments of ask_user, or "".
func questionIn(arguments string) string {
	var in struct {
		Question string `json:"question"`
	}
	if json.Unmarshal([]byte(arguments), &in) != nil {
		return ""
	}
	return strings.TrimSpace(in.Question)
}
