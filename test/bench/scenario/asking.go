// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"fmt"
	"strings"

	"github.com/nestor-dev/nestor/test/bench/drive"
	"github.com/nestor-dev/nestor/test/bench/report"
)

// AskLatency measures how long a question takes from an agent at depth 2 to the chat.
func AskLatency(agents, turns int) Scenario {
	s := latencyScenario("ask-latency", "a question from an agent at depth 2 until it is posted", agents, turns, func(ctx context.Context, r *harness, chat string) ([]sample, error) {
		if err := r.startChat(ctx, chat, "Delegate to lead: Delegate to asker: Ask"); err != nil {
			return nil, err
		}
		posted, err := r.waitForMessage(ctx, chat, func(o drive.Object) bool { return strings.Contains(o.Spec.Content, "Which of the two?") })
		if err != nil {
			return nil, err
		}
		calls, err := r.ledger.CallsOf(ctx, chat)
		if err == nil && len(calls["asker"]) == 0 {
			err = fmt.Errorf("the ledger has no call of the agent that asked in %s", chat)
		}
		if err != nil {
			return nil, err
		}
		return []sample{{report.LatencyAsk, posted.Sub(calls["asker"][0].Finished)}}, nil
	})
	s.prepare = func(ctx context.Context, r *harness) error { return makeChain(ctx, r, "lead", "asker") }
	return s
}

// DelegateLatency measures how long it takes until a delegated agent starts, and until its parent continues with its
// result.
func DelegateLatency(agents, turns int) Scenario {
	s := latencyScenario("delegate-latency", "from a delegation to the agent's first model call, and from its result to its parent's next one", agents, turns, func(ctx context.Context, r *harness, chat string) ([]sample, error) {
		if err := r.startChat(ctx, chat, "Delegate to lead: Delegate to helper: Submit"); err != nil {
			return nil, err
		}
		if _, err := r.waitForMessage(ctx, chat, func(o drive.Object) bool { return o.Spec.Content == "It is done." }); err != nil {
			return nil, err
		}
		calls, err := r.ledger.CallsOf(ctx, chat)
		chief, lead, helper := calls[orchestratorRole], calls["lead"], calls["helper"]
		if err == nil && (len(chief) < 3 || len(lead) < 2 || len(helper) < 1) {
			err = fmt.Errorf("the ledger does not have all calls of %s", chat)
		}
		if err != nil {
			return nil, err
		}
		return []sample{
			{report.LatencyDelegate, lead[0].Started.Sub(chief[0].Finished)}, {report.LatencyDelegate, helper[0].Started.Sub(lead[0].Finished)},
			{report.LatencyReturn, lead[1].Started.Sub(helper[0].Finished)}, {report.LatencyReturn, chief[len(chief)-1].Started.Sub(lead[1].Finished)},
		}, nil
	})
	s.prepare = func(ctx context.Context, r *harness) error { return makeChain(ctx, r, "lead", "helper") }
	return s
}
