// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/gateway/run"
	"github.com/nestor-dev/nestor/internal/role"
	"github.com/nestor-dev/nestor/internal/tool"
)

const (
	// metaKey is the idempotency key in _meta of a call; headerKey is the header with the same meaning.
	metaKey   = "nestor.dev/idempotency-key"
	headerKey = "Idempotency-Key"
	// revisionStateless is the first revision with requests for input instead of elicitation.
	revisionStateless = "2026-07-28"
	// resolveTimeout limits how long answer waits for its effect.
	resolveTimeout = 30 * time.Second
)

type runs interface {
	Start(ctx context.Context, r run.Request) (*v1beta1.AgentTask, bool, error)
	Task(ctx context.Context, namespace, name string) (*v1beta1.AgentTask, error)
	OpenAsk(ctx context.Context, task *v1beta1.AgentTask) (*run.Ask, error)
	FollowTask(ctx context.Context, namespace, name string, from run.Cursor) iter.Seq2[run.Event, error]
	Answer(ctx context.Context, ask run.Ask, text, key string) error
	Decide(ctx context.Context, ask run.Ask, d run.Decision, key string) (string, error)
	HasAnswered(ctx context.Context, namespace, about, key string) (ask string, answered bool, err error)
	Cancel(ctx context.Context, namespace, task, key string) error
	Discard(ctx context.Context, task *v1beta1.AgentTask) (suggestion string, err error)
}

// place is the namespace of a request.
type place struct {
	// namespace is that of the path, or the default of the caller.
	namespace string
	// fixed reports that the path names it.
	fixed bool
}

// serviceAccount begins the user name of a service account, which is followed by its namespace and name.
const serviceAccount = "system:serviceaccount:"

// placeOf returns the place of a request. A service account's own namespace is its default.
func placeOf(path, user string) place {
	if path != "" {
		return place{namespace: path, fixed: true}
	}
	if rest, ok := strings.CutPrefix(user, serviceAccount); ok {
		namespace, _, _ := strings.Cut(rest, ":")
		return place{namespace: namespace}
	}
	return place{}
}

// visit is the caller of a request and the namespace that it applies to.
type visit struct {
	place
	user  string
	runs  runs
	roles func(ctx context.Context, namespace string) ([]role.Role, error)
	// pageURL is the address of the web page, or empty.
	pageURL string
	// ended is closed with the HTTP request. In a session of an earlier revision, a call would continue after it, and its
	// result could not be delivered.
	ended <-chan struct{}
}

// tools returns the tools of the caller. A caller who may not read roles has those for runs.
func (v *visit) tools(ctx context.Context) []*sdk.Tool {
	var tools []*sdk.Tool
	for _, t := range runTools {
		tools = append(tools, t.definition(v.place))
	}
	if v.namespace == "" {
		return tools
	}
	all, err := v.roles(ctx, v.namespace)
	if err != nil {
		return tools
	}
	for _, r := range offered(all) {
		tools = append(tools, roleTool(r))
	}
	return tools
}

type call struct {
	*visit
	request *sdk.CallToolRequest
	checker *tool.Checker
}

type arguments struct {
	Namespace, Task, Ask, Answer string

	Role, Instruction, SuccessCriteria, ModelProvider, Model string

	Arguments   json.RawMessage
	WaitSeconds int
}

// perform performs a call. Errors that a model can read are results.
func (c *call) perform(ctx context.Context, name string) (*sdk.CallToolResult, error) {
	t, ok := findRunTool(name)
	if !ok {
		return c.performRole(ctx, name)
	}
	raw := c.rawArguments()
	parameters, err := json.Marshal(t.input(c.place))
	if err != nil {
		return nil, err
	}
	if problem, err := c.checker.Problem(ctx, name, parameters, raw); err != nil || problem != "" {
		return refusal(cmp.Or(err, errors.New(problem))), nil
	}
	var a arguments
	if err := json.Unmarshal(raw, &a); err != nil {
		return refusal(err), nil
	}
	if a.Namespace == "" {
		a.Namespace = c.namespace
	}
	return c.performRunTool(ctx, name, a)
}

func (c *call) rawArguments() json.RawMessage {
	if len(c.request.Params.Arguments) == 0 {
		return json.RawMessage(`{}`)
	}
	return c.request.Params.Arguments
}

func (c *call) performRunTool(ctx context.Context, name string, a arguments) (*sdk.CallToolResult, error) {
	switch name {
	case toolRun, toolStart:
		r := run.Request{
			Namespace: a.Namespace, Role: a.Role, Instruction: a.Instruction, Arguments: a.Arguments, SuccessCriteria: a.SuccessCriteria,
			ModelProvider: a.ModelProvider, Model: a.Model,
		}
		return c.start(ctx, r, name == toolRun)
	case toolGet:
		return c.get(ctx, a)
	case toolAnswer:
		return c.resolve(ctx, a)
	default:
		if err := c.runs.Cancel(ctx, a.Namespace, a.Task, c.key()); err != nil {
			return refusal(err), nil
		}
		return c.current(ctx, a.Namespace, a.Task)
	}
}

// performRole runs the role that is offered under a name.
func (c *call) performRole(ctx context.Context, name string) (*sdk.CallToolResult, error) {
	unknown := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", name)}
	if c.namespace == "" {
		return nil, unknown
	}
	all, err := c.roles(ctx, c.namespace)
	if err != nil {
		return refusal(err), nil
	}
	all = offered(all)
	i := slices.IndexFunc(all, func(r role.Role) bool { return r.AsTool.Name == name })
	if i < 0 {
		return nil, unknown
	}
	called := all[i]
	if problem, err := c.checker.Problem(ctx, name, roleSchema(called), c.rawArguments()); err != nil || problem != "" {
		return refusal(cmp.Or(err, errors.New(problem))), nil
	}
	r := run.Request{Namespace: c.namespace, Role: called.Name, Arguments: c.rawArguments()}
	if called.InputSchema() == nil {
		var in struct{ Task string }
		if err := json.Unmarshal(r.Arguments, &in); err != nil {
			return refusal(err), nil
		}
		r.Instruction, r.Arguments = in.Task, nil
	}
	return c.start(ctx, r, true)
}

// start starts a run, or finds the one that an earlier request started, and follows it if wait is true.
func (c *call) start(ctx context.Context, r run.Request, wait bool) (*sdk.CallToolResult, error) {
	if text := c.request.Params.RequestState; text != "" && wait {
		s, err := parseRequestState(text)
		if err == nil && s.namespace != r.Namespace {
			err = errors.New("requestState is from another namespace: repeat the call without it")
		}
		if err != nil {
			return refusal(err), nil
		}
		return c.follow(ctx, s.namespace, s.task, c.cannotStart(false))
	}
	r.Key, r.Door = c.key(), doorName
	task, created, err := c.runs.Start(ctx, r)
	if err != nil {
		return refusal(err), nil
	}
	if !wait {
		return c.report(task, nil, ""), nil
	}
	return c.follow(ctx, task.Namespace, task.Name, c.cannotStart(created))
}

// key returns the idempotency key of the call, or "".
func (c *call) key() string {
	if key, ok := c.request.Params.Meta[metaKey].(string); ok && key != "" {
		return key
	}
	if c.request.Extra == nil {
		return ""
	}
	return c.request.Extra.Header.Get(headerKey)
}

// get returns the state of a run, after waiting for it to end or to wait for a person.
func (c *call) get(ctx context.Context, a arguments) (*sdk.CallToolResult, error) {
	if a.WaitSeconds == 0 {
		return c.current(ctx, a.Namespace, a.Task)
	}
	limited, cancel := context.WithTimeout(ctx, time.Duration(a.WaitSeconds)*time.Second)
	defer cancel()
	result, err := c.follow(limited, a.Namespace, a.Task, func(_ context.Context, e run.Event) *sdk.CallToolResult {
		return c.report(e.Task, nil, "")
	})
	if limited.Err() != nil && ctx.Err() == nil {
		return c.current(ctx, a.Namespace, a.Task)
	}
	return result, err
}

func (c *call) current(ctx context.Context, namespace, name string) (*sdk.CallToolResult, error) {
	task, err := c.runs.Task(ctx, namespace, name)
	if err != nil {
		return refusal(err), nil
	}
	ask, err := c.runs.OpenAsk(ctx, task)
	if err != nil {
		return refusal(err), nil
	}
	return c.report(task, ask, run.Answer(task)), nil
}

// resolve answers a question, and returns the state of the run once it no longer waits for the answer. No tool decides
// about a call, because models call tools and a person must decide.
func (c *call) resolve(ctx context.Context, a arguments) (*sdk.CallToolResult, error) {
	task, err := c.runs.Task(ctx, a.Namespace, a.Task)
	if err != nil {
		return refusal(err), nil
	}
	ask, err := c.runs.OpenAsk(ctx, task)
	if err != nil {
		return refusal(err), nil
	}
	if ask == nil || ask.ID() != a.Ask {
		return refusal(fmt.Errorf("the task %s does not wait for %q: read with %s what it waits for", a.Task, a.Ask, toolGet)), nil
	}
	if ask.IsApproval() {
		return refusal(fmt.Errorf("the task %s waits for a decision of a person, and no tool decides. %s", a.Task, c.howToDecide(*ask))), nil
	}
	if err := c.submit(ctx, *ask, reply{answer: a.Answer}); err != nil {
		return refusal(err), nil
	}
	limited, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	for e, err := range c.runs.FollowTask(limited, a.Namespace, a.Task, run.Cursor{}) {
		if err != nil || e.Kind == run.Working || e.Kind == run.End || (e.Kind == run.Waiting && e.Ask.ID() != ask.ID()) {
			break
		}
	}
	return c.current(ctx, a.Namespace, a.Task)
}

// submit sends what a person submitted to the form of an ask.
func (c *call) submit(ctx context.Context, ask run.Ask, r reply) error {
	if ask.IsApproval() {
		_, err := c.runs.Decide(ctx, ask, r.decision, r.key(ask.Ref()))
		return err
	}
	return c.runs.Answer(ctx, ask, r.answer, r.key(ask.Ref()))
}
