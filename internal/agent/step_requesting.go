// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nestor-dev/nestor/internal/agent/budget"
	"github.com/nestor-dev/nestor/internal/money"
)

// defaultRetry is the delay before a retry if the driver does not set RetryAt.
const defaultRetry Millis = 1000

func stepRequesting(s State, fact Fact) State {
	switch f := fact.(type) {
	case ModelReplied:
		if f.Call == s.ModelCall.ID && s.ModelCall.RetryTime == 0 {
			return modelReplied(s, f)
		}
	case ModelFailed:
		if f.Call == s.ModelCall.ID && f.Attempt == s.ModelCall.Attempt && s.ModelCall.RetryTime == 0 {
			return modelFailed(s.clearQuotaWait(), f)
		}
	case QuotaReached:
		return quotaReached(s, f)
	case QuotaGranted:
		return quotaGranted(s, f)
	case Woke:
		if s.ModelCall.RetryTime > 0 && s.Clock.Now >= s.ModelCall.RetryTime {
			call := *s.ModelCall
			if _, ok := s.Budget.Reserve(budget.Amount{}); !ok { // children may have used what the next attempt needs
				return startModelCall(s.endModelCall(budget.Usage{}), call.Purpose, call.Keep)
			}
			call.RetryTime, call.Cause, call.ProviderMessage = 0, "", ""
			call.Attempt++
			s.ModelCall = &call
		}
	}
	return s
}

// requestModelCall starts the next model call if the limits allow it. If the history is too long, that is a compaction.
func requestModelCall(s State) State {
	if limit := s.Config.Limits.MaxIterations; limit > 0 && s.Iterations >= limit {
		failure := s.iterationLimit(limit)
		return stopAtLimit(s, failure.Kind, failure.Reason)
	}
	if keep, ok := s.needsCompaction(); ok {
		return startModelCall(s, PurposeCompact, keep)
	}
	return startModelCall(s, PurposeTurn, 0)
}

// startModelCall starts a model call if the budget allows it.
func startModelCall(s State, purpose Purpose, keep int) State {
	reserve := s.Config.reserveFor(s.promptTokens(purpose, keep))
	reserved, ok := s.Budget.Reserve(reserve)
	switch {
	case ok:
	case purpose == PurposePartialAnswer:
		return endAtLimit(s, "")
	case s.Budget.Exhausted(reserve):
		return stopAtLimit(s, ErrorBudgetExhausted, s.budgetReason(reserve))
	default:
		return pause(s, PausedTokenLimit)
	}
	s.Budget = reserved
	s.ModelCalls++
	s.ModelCall = &ModelCall{
		ID: "m" + strconv.Itoa(s.ModelCalls), Attempt: 1, Purpose: purpose, Reserved: reserve, Keep: keep,
	}
	s.Phase = PhaseRequesting
	s.RemoteOpen = s.Config.Remote
	return s
}

// Iteration returns the number of the current iteration, including one that waits for the model's reply.
func (s State) Iteration() int {
	if s.ModelCall != nil && s.ModelCall.Purpose == PurposeTurn {
		return s.Iterations + 1
	}
	return s.Iterations
}

func (s State) countIteration(purpose Purpose) State {
	if purpose == PurposeTurn {
		s.Iterations++
	}
	return s
}

// endModelCall ends the model call in flight and settles its usage.
func (s State) endModelCall(usage budget.Usage) State {
	if s.ModelCall == nil {
		return s
	}
	s = s.settleModelCall(usage)
	s.Budget = s.Budget.Settle(s.ModelCall.Reserved, budget.Amount{})
	s.ModelCall = nil
	return s
}

// stopModelCall ends the model call in flight because the work is cancelled.
func (s State) stopModelCall(f Cancelled) State {
	if f.Usage == nil {
		return s.endModelCall(budget.Usage{})
	}
	return s.endModelCall(*f.Usage)
}

func (s State) settleModelCall(usage budget.Usage) State {
	used := usage.Amount()
	if usage.ModelCalls > 0 && usage.CostMicros == nil { // an unknown cost is settled at the reserved amount
		used.CostMicros, used.Currency = s.ModelCall.Reserved.CostMicros, s.ModelCall.Reserved.Currency
	}
	s.Budget = s.Budget.Settle(budget.Amount{}, used)
	s.Usage = s.Usage.Plus(usage)
	return s
}

func modelReplied(s State, f ModelReplied) State {
	call := *s.ModelCall
	calls, s := s.uniqueIDs(f.Calls)
	f.Usage.ModelCalls = 1
	if strings.TrimSpace(f.Text) == "" {
		f.Text = ""
	}
	reported := s.Usage
	s = s.endModelCall(f.Usage).countIteration(call.Purpose)
	if f.Recorded {
		s.Usage = reported
	}
	s.RemoteOpen = s.Config.Remote && slices.ContainsFunc(calls, func(c ToolCall) bool { return c.Tool == ToolAskUser })
	switch call.Purpose {
	case PurposeTurn:
		s.Defect = s.Defect.next(s.Config.defectOf(f))
	case PurposeCompact:
		return applySummary(s, call.Keep, f.Text)
	case PurposeContext:
		return makePlannedCalls(s, f)
	case PurposePartialAnswer:
		// No tools were offered; calls that the model made anyway are not part of the history.
		calls = nil
	}
	// Providers refuse a history with an empty message in it.
	if f.Text != "" || len(calls) > 0 {
		s.History = s.History.Append(Message{
			Speaker: Assistant, Text: f.Text, Calls: forHistory(calls), ReasoningItems: f.reasoningFor(calls), At: s.Clock.Now,
		})
	}
	switch {
	case call.Purpose == PurposePartialAnswer:
		return endAtLimit(s, f.Text)
	case len(calls) > 0 && s.onlySetsTitle(f, calls):
		return finalAnswer(beginBatch(s, call, calls, f.TasksLeft).flushBatch(), f)
	case len(calls) > 0:
		if s.Config.Kind == Orchestrator {
			s = s.postReply(f.Text, false, "") // text beside tool calls is part of the conversation
		}
		return makeCalls(s, call, calls, f.TasksLeft)
	}
	return finalAnswer(s, f)
}

// finalAnswer handles a reply without calls: the end of a turn or of a sub-agent's work.
func finalAnswer(s State, f ModelReplied) State {
	if s.Config.Kind == Orchestrator {
		return endTurn(s, f.Text, f.Finish == FinishLength)
	}
	switch {
	case f.Finish == FinishLength:
		return requestModelCall(s.appendUserText(textCutOff))
	case f.Text == "":
		return requestModelCall(s.appendUserText(textEmpty))
	}
	if len(s.Config.OutputSchema) > 0 {
		return requestModelCall(s.appendUserText(textNoData))
	}
	if s.Config.reviews() {
		return requestModelCall(s.appendUserText(textNotSubmitted))
	}
	return beginEnd(s, Outcome{Result: &Result{Text: f.Text}})
}

func modelFailed(s State, f ModelFailed) State {
	if f.Usage != nil {
		s = s.settleModelCall(*f.Usage)
	}
	call := *s.ModelCall
	switch f.Failure {
	case FailureRetry:
		if call.Purpose == PurposePartialAnswer || call.Attempt > s.Config.Limits.MaxRetries {
			break
		}
		call.RetryTime = max(f.RetryTime, s.Clock.Now+1)
		if f.RetryTime == 0 {
			call.RetryTime = s.Clock.Now.Add(defaultRetry)
		}
		call.Cause, call.ProviderMessage = f.Cause, f.Message
		s.ModelCall = &call
		return s
	case FailureContext:
		// A compaction that does not fit must not lead to another one.
		if keep, ok := s.messagesToKeep(); ok && call.Purpose == PurposeTurn {
			return startModelCall(s.endModelCall(budget.Usage{}), PurposeCompact, keep)
		}
	case FailureDiverged:
		return beginEnd(s.endModelCall(budget.Usage{}), Outcome{Kind: ErrorDiverged, Error: f.Message})
	case FailureBudget, FailureMessageBudget:
		switch {
		case call.Purpose == PurposePartialAnswer:
			return endAtLimit(s.endModelCall(budget.Usage{}), "")
		case f.Failure == FailureMessageBudget && s.Config.Kind == Orchestrator:
			return pause(s.endModelCall(budget.Usage{}), PausedTokenLimit)
		}
		return stopAtLimit(s.endModelCall(budget.Usage{}), ErrorBudgetExhausted, f.Message)
	}
	return modelCallFailed(s.endModelCall(budget.Usage{}).countIteration(call.Purpose), call.Purpose, f.Message)
}

// modelCallFailed ends the work that depended on a model call that failed permanently.
func modelCallFailed(s State, purpose Purpose, message string) State {
	if purpose == PurposePartialAnswer {
		return endAtLimit(s, "")
	}
	if purpose == PurposeContext {
		s = abandonBatch(s, "Not done: the conversation could not be summarised: "+message)
	}
	if s.Config.Kind == Orchestrator {
		return failTurn(s, Failure{Kind: ErrorModel, Reason: message})
	}
	return beginEnd(s, Outcome{Kind: ErrorModel, Error: message})
}

// budgetReason names the limit that a call would exceed.
func (s State) budgetReason(reserve budget.Amount) string {
	used, limit := s.Budget.Used, s.Budget.Limit
	if problem := s.Budget.PriceProblem(reserve); problem != "" {
		return problem
	}
	if total := used.Plus(s.Budget.Reserved).Plus(reserve); limit.Tokens > 0 && total.Tokens > limit.Tokens {
		return fmt.Sprintf("used %d of %d tokens, and the next call could need more than the rest", used.Tokens, limit.Tokens)
	}
	return fmt.Sprintf("used %s of %s, and the next call could cost more than the rest",
		money.Format(used.CostMicros, reserve.Currency), money.Format(limit.CostMicros, reserve.Currency))
}
