// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/controller/toolserver"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/login"
	"github.com/nestor-dev/nestor/internal/shorten"
	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
)

// A call of a server with auth.userOAuth has the credentials of a person. If the run has one requester, that is the
// person. If it has several, one of them lends the credentials for the call, by approving it. A call that cannot
// continue ends with a question, so that nothing is in flight while people log in, and no replica keeps anything.

const (
	// labelUser begins the content label of results that a server gave to a person.
	labelUser = "user:"
	// maxMisfits is how often a person may answer a question in vain.
	maxMisfits = 3
	// maxLentArguments bounds the arguments of a call that a person approves: the question must show all of them.
	maxLentArguments = 2500
	maxShownPeople   = 500
)

// What a call waits for, if it is not a question of the server.
const (
	waitsForLogin    = "Login"
	waitsForApproval = "Approval"
)

// personCall is the state of a call between two questions.
type personCall struct {
	// Person lends the credentials for this call, by an approval.
	Person string `json:"person,omitempty"`
	Waits  string `json:"waits,omitempty"`
	// Misfits counts the answers that did not help.
	Misfits int `json:"misfits,omitempty"`
	// Server is the state of the server's own question, and Input its answer, which is not sent before the person has
	// logged in.
	Server json.RawMessage  `json:"server,omitempty"`
	Input  *tool.RoundInput `json:"input,omitempty"`
}

// asPerson returns a set with the named tool, whose calls have the credentials of a person.
func (t *Tools) asPerson(a ledger.Agent, used serverTools, offered tool.Set, name string) (tool.Set, error) {
	listed, ok := offered.Lookup(name)
	if !ok {
		return offered, nil
	}
	return tool.NewSet(listed.With(func(ctx context.Context, call tool.Invocation) (tool.Output, error) {
		return t.callAsPerson(ctx, a, used.object, call)
	}))
}

func (t *Tools) callAsPerson(ctx context.Context, a ledger.Agent, object *v1beta1.ToolServer, call tool.Invocation) (tool.Output, error) {
	var state personCall
	if call.Input != nil {
		if err := json.Unmarshal(call.Input.State, &state); err != nil {
			return tool.Output{}, fmt.Errorf("decode the state of the call: %w", err)
		}
	}
	if t.Logins == nil {
		return refusedOutput("The tool server %s requires a login, and people cannot log in: the operator has no gateway.", object.Name), nil
	}
	requesters, err := t.Requesters(ctx, a)
	if err != nil {
		return tool.Output{}, fmt.Errorf("find who requested the work: %w", err)
	}
	if requesters.Trigger {
		return refusedOutput("The tool server %s needs the credentials of a person, and a run of a trigger has none. A person has to request the work.", object.Name), nil
	}
	if call.Input != nil && declined(call.Input.Answer) && state.Waits != "" {
		return refusedOutput("The person declined to use their credentials at the tool server %s, so the tool did not run.", object.Name), nil
	}
	person := state.Person
	if person == "" {
		sole, ok := requesters.Sole()
		if !ok {
			return t.lend(ctx, object, call, state, requesters)
		}
		person = sole
	}
	if agent.IsServiceAccount(person) {
		return refusedOutput("The tool server %s needs the credentials of a person, and %s is a service account. A person has to request the work.", object.Name, person), nil
	}
	return t.callWith(ctx, object, call, state, person)
}

// lend asks who of the requesters lends the credentials, or continues with the answer. Everyone sees the question, and
// the person who approves lends their own credentials.
func (t *Tools) lend(ctx context.Context, object *v1beta1.ToolServer, call tool.Invocation, state personCall, requesters agent.Requesters) (tool.Output, error) {
	if len(requesters.Users) == 0 {
		return refusedOutput("The tool server %s needs the credentials of a person, and it is not known who requested the work.", object.Name), nil
	}
	if len(call.Arguments) > maxLentArguments {
		return refusedOutput("Several people requested the work, so one of them would have to approve the call, and its arguments are too long to be shown. Use at most %d characters.", maxLentArguments), nil
	}
	problem := ""
	if call.Input != nil && state.Waits == waitsForApproval {
		user := call.Input.User
		if user != "" && !agent.IsServiceAccount(user) && approved(call.Input.Answer) && slices.Contains(requesters.Users, user) {
			state.Person, state.Waits, state.Misfits = user, "", 0
			call.Input = nil
			return t.callWith(ctx, object, call, state, user)
		}
		problem = "That is no approval: one of the people who are named must reply to this question, with \"yes\". "
		if state.Misfits++; state.Misfits == maxMisfits {
			return refusedOutput("No one lent their credentials at the tool server %s, so the tool did not run.", object.Name), nil
		}
	}
	if call.Input != nil && state.Waits == "" { // another person has joined while the server waited for an answer
		state.Input = &tool.RoundInput{State: state.Server, Answer: call.Input.Answer, User: call.Input.User}
		state.Server = nil
	}
	state.Waits = waitsForApproval
	people := shorten.UntrustedLine(strings.Join(requesters.Users, ", "), maxShownPeople)
	return ask(state, fmt.Sprintf("%sSeveral people requested this work (%s). The call %s %s needs the credentials of one of them at the tool server %s. "+
		"A person of these who replies \"yes\" to this question lends their own for this call. Or answer \"decline\".", problem, people, call.Name, call.Arguments, object.Name))
}

// callWith makes the call with the credentials of a person, or asks the person to log in.
func (t *Tools) callWith(ctx context.Context, object *v1beta1.ToolServer, call tool.Invocation, state personCall, person string) (tool.Output, error) {
	if call.Input != nil && state.Waits == "" { // the server asked
		state.Input = &tool.RoundInput{State: state.Server, Answer: call.Input.Answer, User: call.Input.User}
		state.Server = nil
	}
	server := toolserver.LoginServer(t.Finder, object)
	id, err := t.Logins.LoginID(ctx, server, person)
	if err != nil {
		return tool.Output{}, err
	}
	source := t.Logins.Source(server, person)
	if id != "" {
		_, err = source.Token(ctx)
	}
	if id == "" || login.IsLoginRequired(err) {
		return t.askToLogIn(object, call, state, person)
	}
	if err != nil {
		return tool.Output{}, err
	}
	key := toolserver.SessionKey(call.Namespace, object)
	key.Person = person
	session := t.Pool.Ensure(toolserver.PersonServer(t.Finder, t.Logins, object, key, id))
	session.WaitForStatus(ctx)
	output, err := runOn(ctx, serverTools{object, session}, call, state.Input)
	var refused *mcp.RefusedError
	if errors.As(err, &refused) {
		if _, problem := source.Token(ctx); login.IsLoginRequired(problem) { // it was revoked meanwhile, and the call had no effect
			return t.askToLogIn(object, call, state, person)
		}
	}
	if err != nil && !errors.Is(err, tool.ErrOutcomeUnknown) && ctx.Err() == nil {
		output, err = tool.Output{Text: err.Error(), IsError: true}, nil
	}
	if output.Input != nil {
		lender := state.Person
		encoded, problem := json.Marshal(personCall{Person: lender, Server: output.Input.State})
		if problem != nil {
			return tool.Output{}, fmt.Errorf("encode the state of the call: %w", problem)
		}
		output.Input.State = encoded
	}
	output.Labels = append(slices.Clip(output.Labels), labelOf(person))
	return output, err
}

// runOn runs a tool on the session of a person, which must offer it as it was pinned.
func runOn(ctx context.Context, used serverTools, call tool.Invocation, input *tool.RoundInput) (tool.Output, error) {
	offered, err := used.tools()
	if err != nil {
		if status := used.session.Status(); status.Reason == mcp.Unauthorized {
			return tool.Output{}, mcp.NewRefusedError(err.Error())
		}
		return tool.Output{}, err
	}
	listed, ok := offered.Lookup(call.Name)
	if !ok {
		return refusedOutput("The tool server %s does not offer %s to the person whose credentials are used.", used.object.Name, call.Name), nil
	}
	call.Input = input
	return listed.Run(ctx, call)
}

// askToLogIn returns the question for the person. The link has no secret: a person who opens it logs in as themselves.
func (t *Tools) askToLogIn(object *v1beta1.ToolServer, call tool.Invocation, state personCall, person string) (tool.Output, error) {
	problem := ""
	if state.Waits == waitsForLogin && call.Input != nil {
		if state.Misfits++; state.Misfits == maxMisfits {
			return refusedOutput("%s did not log in to the tool server %s, so the tool did not run.", person, object.Name), nil
		}
		problem = person + " has not logged in yet. "
	}
	state.Waits = waitsForLogin
	return ask(state, fmt.Sprintf("%sThe tool %s needs the credentials of %s at the tool server %s. %s must open this page, and log in there: %s\n"+
		"Answer \"done\" when you have, or \"decline\".", problem, call.Name, person, object.Name, person, t.Logins.Link(object.Namespace, object.Name)))
}

// labelOf returns the content label of a person's results. The name is escaped: labels have visible ASCII characters. One
// that is too long becomes the label for those that do not fit.
func labelOf(person string) string { return labelUser + url.PathEscape(person) }

func ask(state personCall, question string) (tool.Output, error) {
	encoded, err := json.Marshal(state)
	if err != nil {
		return tool.Output{}, fmt.Errorf("encode the state of the call: %w", err)
	}
	return tool.Output{Input: &tool.InputRequest{Question: question, State: encoded}}, nil
}

func refusedOutput(format string, arguments ...any) tool.Output {
	return tool.Output{Text: fmt.Sprintf(format, arguments...), IsError: true}
}

func word(answer string) string {
	return strings.ToLower(strings.Trim(strings.TrimSpace(answer), `."'!`))
}

func declined(answer string) bool {
	return slices.Contains([]string{"decline", "cancel", "no", "n"}, word(answer))
}

func approved(answer string) bool {
	return slices.Contains([]string{"yes", "y", "ok", "approve"}, word(answer))
}
