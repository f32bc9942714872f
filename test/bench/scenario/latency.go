// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/bench/drive"
	"github.com/nestor-dev/nestor/test/bench/report"
)

const (
	// busyAgents is the number of active agents while a latency is measured, and busyTurns their tool turns: enough
	// for some dozens of samples.
	busyAgents = 100
	busyTurns  = 100
	// conversations is the number of chats measured in parallel.
	conversations = 4
)

// chain makes agents follow their instruction: delegate, ask, or submit.
const chain = `- {match: {from: user, lastMessage: '/(?s)^Delegate to (?P<whom>[a-z-]+): (?P<task>.*)$/'}, reply: {toolCalls: [{name: delegate_to_agent, arguments: {role: '{{.whom}}', task: '{{.task}}'}}]}}
- {match: {from: user, lastMessage: /^Ask$/}, reply: {toolCalls: [{name: ask_user, arguments: {question: 'Which of the two?'}}]}}
- {match: {from: user, lastMessage: /^Submit$/}, reply: {toolCalls: [{name: submit_result, arguments: {result: Work done.}}]}}
- {match: {tools: [submit_result], toolResult: {tool: delegate_to_agent}}, reply: {toolCalls: [{name: submit_result, arguments: {result: Work done.}}]}}
- {match: {toolResult: {tool: delegate_to_agent}}, reply: {text: It is on its way.}}
- {match: {lastMessage: '/(?s)^\[Results of task /'}, reply: {text: It is done.}}
`

// conversation measures something in a new chat.
type conversation func(ctx context.Context, r *harness, chat string) ([]sample, error)

// latencyScenario measures something in new chats, one after the other, while other agents are active.
func latencyScenario(name, title string, agents, turns int, one conversation) Scenario {
	s := Scenario{
		Name: name, Title: fmt.Sprintf("%s, with %d active agents that use an MCP tool, latency %d ms", title, agents, modelLatency.Milliseconds()),
		Agents: agents, ToolTurns: turns, Latency: modelLatency, Tool: MCPTool, warm: "Success",
		script: head(modelLatency) + chain + fmt.Sprintf(turnsOf, turns+1, MCPTool.call),
	}
	s.run = func(ctx context.Context, r *harness, result *report.Result) error {
		busy := newTasks("busy", agents, "Success")
		samples, err := whileBusy(ctx, r, busy, one)
		busy.report(result)
		result.WallSeconds = busy.wall().Seconds()
		result.Latencies = samples.distributions()
		return err
	}
	return s
}

// sample is one measurement of a named latency.
type sample struct {
	name string
	took time.Duration
}

// samples collects the samples of several conversations.
type samples struct {
	mu     sync.Mutex
	values map[string][]float64
}

func (s *samples) add(some []sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range some {
		s.values[one.name] = append(s.values[one.name], milliseconds(one.took))
	}
}

func (s *samples) distributions() map[string]*report.Distribution {
	all := map[string]*report.Distribution{}
	for name, values := range s.values {
		all[name] = report.Distribute(values)
	}
	return all
}

// whileBusy starts conversations until the busy agents have ended. Conversations in flight at that time are completed
// but not counted.
func whileBusy(ctx context.Context, r *harness, busy *tasks, one conversation) (*samples, error) {
	all := &samples{values: map[string][]float64{}}
	var over atomic.Bool
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer over.Store(true)
		return busy.run(ctx, r)
	})
	for c := range conversations {
		group.Go(func() error {
			for i := 0; ; i++ {
				some, err := one(ctx, r, fmt.Sprintf("chat-%d-%d", c, i))
				if err != nil || over.Load() {
					return err
				}
				all.add(some)
			}
		})
	}
	err := group.Wait()
	if err == nil && len(all.values) == 0 {
		err = errors.New("nothing was measured while the agents were active")
	}
	return all, err
}

// makeChain creates roles that delegate to each other: the orchestrator to the first, that to the next, and so on.
func makeChain(ctx context.Context, r *harness, names ...string) error {
	for i, name := range append([]string{orchestratorRole}, names...) {
		made := role(name, "You pass on.")
		if i < len(names) {
			made.Spec.Delegation = &v1beta1.Delegation{Roles: []v1beta1.Name{names[i]}}
		}
		if name == hangingRole {
			made.Spec.ModelProvider = slowProvider
		}
		if err := r.stack.API.Create(ctx, made); err != nil {
			return fmt.Errorf("create the role %s: %w", name, err)
		}
	}
	return nil
}

const orchestratorRole = "chief"

// startChat creates a chat and sends a message to it.
func (r *harness) startChat(ctx context.Context, name, groups string) error {
	chat := &v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	chat.Spec.Role, chat.Spec.Limits.MaxDepth, chat.Spec.AutoAnswer.Enabled = orchestratorRole, 3, ptr.To(false)
	if err := r.stack.API.Create(ctx, chat); err != nil {
		return fmt.Errorf("create the chat %s: %w", name, err)
	}
	body := fmt.Appendf(nil, `{"apiVersion":"nestor.dev/v1beta1","kind":"AgentMessage","metadata":{"name":"%s-say"},"spec":{"chat":%q,"content":%q}}`, name, name, groups)
	_, err := r.api.Write(ctx, http.MethodPost, messagesPath, body)
	return err
}

// waitForMessage waits for a message of the operator in a chat, and returns when it was observed.
func (r *harness) waitForMessage(ctx context.Context, chat string, fits func(drive.Object) bool) (seen time.Time, err error) {
	err = r.api.Watch(ctx, messagesPath, func(o drive.Object) bool {
		if o.Spec.Chat == chat && o.Spec.Role != string(v1beta1.RoleUser) && fits(o) {
			seen = time.Now()
			return true
		}
		return false
	})
	return seen, err
}
