// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/gateway/run"
)

// heartbeat is the interval of progress notifications while nothing happens. Clients end calls without progress after
// a while.
const heartbeat = 15 * time.Second

// eventOrError is one item of a run's events.
type eventOrError struct {
	event run.Event
	err   error
}

// elicited is the answer to an elicitation.
type elicited struct {
	ask    run.Ask
	result *sdk.ElicitResult
	err    error
}

// follower follows a run for a call.
type follower struct {
	*call
	progress *progress
	// submitted has the references of the asks that this call answered. The run may still report them for a moment.
	submitted map[string]bool
	// asking cancels the open elicitation; elicited receives its answer.
	asking   context.CancelFunc
	elicited chan elicited
	// blocked returns the result for a run that cannot start.
	blocked func(context.Context, run.Event) *sdk.CallToolResult
	// unused is the notice about an unused form of the request, or empty.
	unused string
}

// follow follows a run until it ends, or needs input that this call cannot get.
func (c *call) follow(
	ctx context.Context, namespace, name string, blocked func(context.Context, run.Event) *sdk.CallToolResult,
) (*sdk.CallToolResult, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events := make(chan eventOrError)
	go func() {
		defer close(events)
		for e, err := range c.runs.FollowTask(ctx, namespace, name, run.Cursor{}) {
			select {
			case events <- eventOrError{e, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	f := &follower{
		call: c, progress: c.newProgress(name), submitted: map[string]bool{}, asking: func() {}, elicited: make(chan elicited, 1), blocked: blocked,
		unused: c.unusedForms(ctx, namespace, name),
	}
	defer func() { f.asking() }()
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		var result *sdk.CallToolResult
		select {
		case item, ok := <-events:
			if !ok {
				return nil, context.Cause(ctx)
			}
			if item.err != nil {
				return refusal(item.err), nil
			}
			result = f.handle(ctx, item.event)
		case answer := <-f.elicited:
			result = f.receive(ctx, answer)
		case <-ticker.C:
			f.progress.notify(ctx, "")
		case <-f.ended:
			return nil, context.Canceled
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if result != nil {
			return result, nil
		}
	}
}

// handle handles an event, and returns the result if the call ends with it.
func (f *follower) handle(ctx context.Context, e run.Event) *sdk.CallToolResult {
	switch e.Kind {
	case run.Entry:
		f.progress.notify(ctx, describe(*e.Entry))
	case run.Blocked:
		return f.blocked(ctx, e)
	case run.Working:
		f.asking()
	case run.Waiting:
		return f.ask(ctx, e)
	case run.End:
		return f.noted(f.report(e.Task, nil, e.Answer))
	}
	return nil
}

// noted adds the notice about an unused form to a result.
func (f *follower) noted(result *sdk.CallToolResult) *sdk.CallToolResult {
	if f.unused != "" {
		result.Content = append([]sdk.Content{&sdk.TextContent{Text: f.unused}}, result.Content...)
	}
	return result
}

// unusedForms returns a notice if the request has the form of an ask that is no longer open, and that no earlier
// attempt of the request answered.
func (c *call) unusedForms(ctx context.Context, namespace, name string) string {
	if len(c.request.Params.InputResponses) == 0 {
		return ""
	}
	open := ""
	if task, err := c.runs.Task(ctx, namespace, name); err == nil {
		if ask, err := c.runs.OpenAsk(ctx, task); err == nil && ask != nil {
			open = ask.Ref()
		}
	}
	for shown, response := range c.request.Params.InputResponses {
		result, ok := response.(*sdk.ElicitResult)
		if !ok || result.Action != actionAccept || shown == open {
			continue
		}
		_, approval := result.Content["decision"]
		submitted, err := readReply(approval, shown, result.Content)
		if err != nil {
			continue
		}
		if _, repeated, err := c.runs.HasAnswered(ctx, namespace, name, submitted.key(shown)); err == nil && !repeated {
			return "A form was not used: the task no longer waits for this answer."
		}
	}
	return ""
}

// ask requests the input that the run waits for, and returns a result if the call ends with the request.
func (f *follower) ask(ctx context.Context, e run.Event) *sdk.CallToolResult {
	f.asking()
	if f.submitted[e.Ask.Ref()] {
		return nil
	}
	if given, ok := f.request.Params.InputResponses[e.Ask.Ref()].(*sdk.ElicitResult); ok {
		return f.receive(ctx, elicited{ask: *e.Ask, result: given})
	}
	f.progress.notify(ctx, "waits for a person")
	switch {
	case !f.takesForms():
		return f.noted(f.report(e.Task, e.Ask, ""))
	case f.request.ProtocolVersion() >= revisionStateless:
		form := elicitation(*e.Ask)
		if f.unused != "" {
			form.Message = f.unused + "\n\n" + form.Message
		}
		return &sdk.CallToolResult{
			InputRequests: sdk.InputRequestMap{e.Ask.Ref(): form},
			RequestState:  requestState{e.Task.Namespace, e.Task.Name}.String(),
		}
	}
	asking, cancel := context.WithCancel(ctx)
	f.asking = cancel
	go func() {
		result, err := f.request.Session.Elicit(asking, elicitation(*e.Ask))
		if asking.Err() != nil {
			return
		}
		select {
		case f.elicited <- elicited{*e.Ask, result, err}:
		case <-asking.Done(): // the call has ended, and an earlier answer was not received
		}
	}()
	return nil
}

func (f *follower) takesForms() bool {
	capabilities := f.request.ClientCapabilities()
	if capabilities == nil || capabilities.Elicitation == nil {
		return false
	}
	// A client that names no kind of elicitation supports only forms.
	return capabilities.Elicitation.Form != nil || capabilities.Elicitation.URL == nil
}

// receive submits the answer of a person. A form that is closed, declined or incomplete submits nothing, and the run
// still waits.
func (f *follower) receive(ctx context.Context, form elicited) *sdk.CallToolResult {
	if form.err != nil || form.result.Action != actionAccept {
		return f.waits(ctx, form.ask)
	}
	submitted, err := readReply(form.ask.IsApproval(), form.ask.Ref(), form.result.Content)
	if err != nil {
		return f.waits(ctx, form.ask)
	}
	if err := f.submit(ctx, form.ask, submitted); err != nil {
		return refusal(err)
	}
	f.submitted[form.ask.Ref()] = true
	return nil
}

func (f *follower) waits(ctx context.Context, ask run.Ask) *sdk.CallToolResult {
	s, err := f.runs.Task(ctx, ask.Namespace, f.progress.task)
	if err != nil {
		return refusal(err)
	}
	return f.report(s, &ask, "")
}

// progress sends progress notifications.
type progress struct {
	task    string
	session *sdk.ServerSession
	token   any
	count   float64
}

func (c *call) newProgress(task string) *progress {
	return &progress{task: task, session: c.request.Session, token: c.request.Params.GetProgressToken()}
}

// notify sends a notification if the client requested them. An error does not matter: the result does not depend on
// it.
func (p *progress) notify(ctx context.Context, message string) {
	if p.token == nil {
		return
	}
	p.count++
	if message != "" {
		message = p.task + ": " + message
	}
	_ = p.session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: p.token, Progress: p.count, Message: message})
}

// describe describes an entry of the history in a few words.
func describe(e historyv1.Entry) string {
	switch e.Kind {
	case historyv1.EntryStarted:
		return "started"
	case historyv1.EntryAssistant:
		if len(e.ToolCalls) == 0 {
			return "replied"
		}
		text := "calls " + e.ToolCalls[0].Tool
		if more := len(e.ToolCalls) - 1; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		return text
	case historyv1.EntryToolResult:
		if len(e.ToolCalls) > 0 {
			return e.ToolCalls[0].Tool + " ended"
		}
	case historyv1.EntryChildResult:
		return e.Child + " ended"
	}
	return string(e.Kind)
}
