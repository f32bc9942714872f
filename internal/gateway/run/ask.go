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
	"sigs.k8s.io/controller-runtime/pkg/client"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1alpha1"
	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/client/history"
	"github.com/nestor-dev/nestor/internal/client/live"
	"github.com/nestor-dev/nestor/internal/shorten"
)

// Ask is the question or approval that a run waits for.
type Ask struct {
	live.Ask
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
func (a Ask) IsApproval() bool { return a.Kind == v1alpha1.WaitingApproval }

// Text returns the ask for a person.
func (a Ask) Text() string {
	if !a.IsApproval() {
		return a.Question
	}
	text := fmt.Sprintf("%s wants to run %s with these arguments:\n\n%s\n\nReply \"approve\" or \"deny\", with a reason if you like.", cmp.Or(a.Role, a.Task), a.Tool, a.Arguments)
	if a.Truncated {
		text += " The arguments are shortened here; read them with: kubectl nestor transcript " + a.Task
	}
	return text
}

// decisions are the words that decide about a call.
var decisions = map[string]bool{
	"approve": true, "approved": true, "yes": true, "allow": true, "accept": true,
	"deny": false, "denied": false, "no": false, "reject": false, "decline": false,
}

// ParseDecision reads a decision from a text: its first word decides, and the rest is the comment. It reports false if the text is none.
func ParseDecision(text string) (approve bool, comment string, ok bool) {
	word, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	if i := strings.IndexAny(word, ":,.;!\n"); i >= 0 {
		word, rest = word[:i], strings.TrimLeft(word[i:], ":,.;! \n")+" "+rest
	}
	approve, ok = decisions[strings.ToLower(word)]
	return approve, strings.TrimSpace(rest), ok
}

// OpenAsk returns what a standalone task waits for, or nil. The task's status has the ask of the agent that waits, at any depth below it.
func (c *Caller) OpenAsk(ctx context.Context, task *v1alpha1.AgentTask) (*Ask, error) {
	waiting := task.Status.Waiting
	if waiting == nil || task.Status.Phase != v1alpha1.TaskWaiting {
		return nil, nil
	}
	ask := Ask{Ask: live.NewAsk("", task.Name, *waiting), Namespace: task.Namespace, Root: task.Name, SubAgent: waiting.SubAgent, Door: task.Labels[v1alpha1.LabelDoor]}
	ask.Role, ask.Requesters = task.Spec.Role, live.Requesters(task)
	if ask.SubAgent != "" && ask.SubAgent != task.Status.SubAgent {
		below := &v1alpha1.SubAgent{}
		if err := c.API.Get(ctx, client.ObjectKey{Namespace: task.Namespace, Name: ask.SubAgent}, below); err != nil {
			return nil, fmt.Errorf("read the agent that asks: %w", err)
		}
		ask.Task, ask.Role = below.Spec.Task, below.Spec.Role
	}
	if !ask.Truncated {
		return &ask, nil
	}
	c.complete(ctx, &ask)
	return &ask, nil
}

// ChatAsk returns what a chat waits for, or nil. If several asks are open, it is the oldest.
func (c *Caller) ChatAsk(ctx context.Context, namespace, chat string) (*Ask, error) {
	now, err := live.ReadSnapshot(ctx, c.API, live.Scope{Namespace: namespace, Chat: chat})
	if err != nil {
		return nil, err
	}
	if now.Chat(chat) == nil {
		return nil, apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("agentchats").GroupResource(), chat)
	}
	asks := now.Asks(chat)
	if len(asks) == 0 {
		return nil, nil
	}
	ask := &Ask{Ask: asks[0], Namespace: namespace}
	if ask.Truncated {
		c.complete(ctx, ask)
	}
	return ask, nil
}

// errFound ends the reading of a transcript.
var errFound = errors.New("found")

// complete replaces the shortened text of an ask by the text in the history. If the caller may not read it, the text stays shortened.
func (c *Caller) complete(ctx context.Context, ask *Ask) {
	_ = c.history(ask.Namespace).Log(ctx, historyv1.TranscriptName("SubAgent", cmp.Or(ask.SubAgent, ask.Task)), history.Query{}, func(e historyv1.Entry) error {
		for _, call := range e.ToolCalls {
			if call.Arguments == "" {
				continue
			}
			if ask.IsApproval() && call.ID == ask.Call {
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

func isUnauthorized(err error) bool { return apierrors.IsUnauthorized(err) }
