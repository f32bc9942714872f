// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"strconv"
	"strings"
)

// defaultRetry is the delay before a retry if the driver does not set RetryAt.
const defaultRetry Millis = 1000

func stepRequesting(s State, fact Fact) State {
	switch f := fact.(type) {
	case ModelReplied:
		if f.Call == s.Request.ID && s.Request.RetryAt == 0 {
			return modelReplied(s, f)
		}
	case ModelFailed:
		if f.Call == s.Request.ID && f.Attempt == s.Request.Attempt && s.Request.RetryAt == 0 {
			return modelFailed(s.withoutQuotaWait(), f)
		}
	case QuotaReached:
		return quotaReached(s, f)
	case QuotaGranted:
		return quotaGranted(s, f)
	case Woke:
		if s.Request.RetryAt > 0 && s.Clock.Now >= s.Request.RetryAt {
			r := *s.Request
			if _, ok := s.Budget.Reserve(Amount{}); !ok { // children may have used what the next attempt needs
				return call(s.hangUp(Usage{}), r.Purpose, r.Keep)
			}
			r.RetryAt, r.Cause, r.Words = 0, "", ""
			r.Attempt++
			s.Request = &r
		}
	}
	return s
}

// request starts the next model call if the limits allow it. If the history is too long, that is a compaction.
func request(s State) State {
	if limit := s.Config.Limits.MaxIterations; limit > 0 && s.Iterations >= limit {
		return bailOut(s, KindIterationLimit, fmt.Sprintf("reached the limit of %d iterations", limit))
	}
	if keep, ok := s.needsCompaction(); ok {
		return call(s, PurposeCompact, keep)
	}
	return call(s, PurposeTurn, 0)
}

// call starts a model call if the budget allows it.
func call(s State, purpose Purpose, keep int) State {
	reserve := s.Config.reserveFor(s.promptTokens(purpose, keep))
	budget, ok := s.Budget.Reserve(reserve)
	switch {
	case ok:
	case purpose == PurposeLastWords:
		return lastWords(s, "")
	case s.Budget.Exhausted(reserve):
		return bailOut(s, KindBudgetExhausted, s.budgetReason(reserve))
	default:
		return pause(s, PausedTokenLimit)
	}
	s.Budget = budget
	s.Requests++
	s.Request = &Request{
		ID: "m" + strconv.Itoa(s.Requests), Attempt: 1, Purpose: purpose, Reserved: reserve, Keep: keep,
	}
	s.Phase = PhaseRequesting
	return s
}

// Iteration returns the number of the current iteration, including one that waits for the model's reply.
func (s State) Iteration() int {
	if s.Request != nil && s.Request.Purpose == PurposeTurn {
		return s.Iterations + 1
	}
	return s.Iterations
}

// countIteration counts an iteration if the purpose is one that counts.
func (s State) countIteration(purpose Purpose) State {
	if purpose == PurposeTurn {
		s.Iterations++
	}
	return s
}

// hangUp ends the model call in flight and settles its usage.
func (s State) hangUp(usage Usage) State {
	if s.Request == nil {
		return s
	}
	s = s.charge(usage)
	s.Budget = s.Budget.Settle(s.Request.Reserved, Amount{})
	s.Request = nil
	return s
}

// charge settles the usage of the model call in flight.
func (s State) charge(usage Usage) State {
	used := usage.amount()
	if usage.ModelCalls > 0 && usage.CostMicros == nil {
		used.CostMicros = s.Request.Reserved.CostMicros // an unknown cost is settled at the reserved amount
	}
	s.Budget = s.Budget.Settle(Amount{}, used)
	s.Usage = s.Usage.Plus(usage)
	return s
}

func modelReplied(s State, f ModelReplied) State {
	asked := *s.Request
	calls, s := s.uniqueIDs(f.Calls)
	f.Usage.ModelCalls = 1
	if strings.TrimSpace(f.Text) == "" {
		f.Text = ""
	}
	s = s.hangUp(f.Usage).countIteration(asked.Purpose)
	switch asked.Purpose {
	case PurposeCompact:
		return compacted(s, asked.Keep, f.Text)
	case PurposeContext:
		return digested(s, f)
	case PurposeLastWords:
		// No tools were offered; calls that the model made anyway are not part of the history.
		calls = nil
	}
	// Providers refuse a history with an empty message in it.
	if f.Text != "" || len(calls) > 0 {
		s.History = s.History.Append(Message{Speaker: Assistant, Text: f.Text, Calls: presentable(calls), At: s.Clock.Now})
	}
	switch {
	case asked.Purpose == PurposeLastWords:
		return lastWords(s, f.Text)
	case len(calls) > 0:
		if s.Config.Kind == Orchestrator && f.Say {
			s = s.say(f.Text) // text beside tool calls is part of the conversation
		}
		return act(s, asked, calls, f.TasksLeft)
	}
	return finalAnswer(s, f)
}

// finalAnswer handles a reply without calls: the end of a turn or of a sub-agent's work.
func finalAnswer(s State, f ModelReplied) State {
	if s.Config.Kind == Orchestrator {
		return endTurn(s, f.Text)
	}
	switch {
	case f.Finish == FinishLength:
		return request(s.hear(textCutOff))
	case f.Text == "":
		return request(s.hear(textEmpty))
	}
	return end(s, Outcome{Result: &Result{Text: f.Text}})
}

func modelFailed(s State, f ModelFailed) State {
	if f.Usage != nil {
		s = s.charge(*f.Usage)
	}
	r := *s.Request
	switch f.Failure {
	case FailureRetry:
		if r.Purpose == PurposeLastWords || r.Attempt > s.Config.Limits.MaxRetries {
			break
		}
		r.RetryAt = max(f.RetryAt, s.Clock.Now+1)
		if f.RetryAt == 0 {
			r.RetryAt = s.Clock.Now.Add(defaultRetry)
		}
		r.Cause, r.Words = f.Cause, f.Message
		s.Request = &r
		return s
	case FailureContext:
		// A compaction that does not fit must not lead to another one.
		if keep, ok := s.compact(); ok && r.Purpose == PurposeTurn {
			return call(s.hangUp(Usage{}), PurposeCompact, keep)
		}
	case FailureBudget, FailureMessageBudget:
		switch {
		case r.Purpose == PurposeLastWords:
			return lastWords(s.hangUp(Usage{}), "")
		case f.Failure == FailureMessageBudget && s.Config.Kind == Orchestrator:
			return pause(s.hangUp(Usage{}), PausedTokenLimit)
		}
		return bailOut(s.hangUp(Usage{}), KindBudgetExhausted, f.Message)
	}
	return modelLost(s.hangUp(Usage{}).countIteration(r.Purpose), r.Purpose, f.Message)
}

// modelLost ends the work that depended on a model call that failed permanently.
func modelLost(s State, purpose Purpose, words string) State {
	if purpose == PurposeLastWords {
		return lastWords(s, "")
	}
	if purpose == PurposeContext {
		s = abandonBatch(s, "Not done: the conversation could not be summarised: "+words)
	}
	if s.Config.Kind == Orchestrator {
		return failTurn(s, Trouble{Kind: KindModelError, Reason: words})
	}
	return end(s, Outcome{Kind: KindModelError, Error: words})
}

// budgetReason names the limit that a call would exceed.
func (s State) budgetReason(reserve Amount) string {
	total := s.Budget.Used.Plus(s.Budget.Reserved).Plus(reserve)
	if limit := s.Budget.Limit.Tokens; limit > 0 && total.Tokens > limit {
		return fmt.Sprintf("used %d of %d tokens, and the next call could need more than the rest", s.Budget.Used.Tokens, limit)
	}
	return fmt.Sprintf("used %d of %d millionths of the currency, and the next call could cost more than the rest",
		s.Budget.Used.CostMicros, s.Budget.Limit.CostMicros)
}
