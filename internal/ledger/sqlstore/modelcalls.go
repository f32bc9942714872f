// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
)

const (
	insertModelCall = `INSERT INTO model_calls (key, parent_key, agent_uid, seq, namespace, namespace_uid, root_uid, chat, role, depth,
	iteration, provider, model, request_type, system_prompt, context_mode, context_tokens, max_iterations, max_duration,
	files, started_at, request)
	SELECT $1, $2, uid, $3, namespace, namespace_uid, root_uid, chat, role, depth, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15
	FROM agents WHERE uid = $16 ON CONFLICT (key) DO NOTHING`
	endModelCall = `UPDATE model_calls SET status = $1, response = $2, summary = $3, tool_calls = $4,
	prompt_tokens = $5, cached_tokens = $6, completion_tokens = $7, cost_micros = $8, bailout = $9, error = $10, finished_at = $11,
	provider = CASE WHEN $12 = '' THEN provider ELSE $12 END, model = CASE WHEN $13 = '' THEN model ELSE $13 END
	WHERE key = $14 AND agent_uid = $15 AND finished_at IS NULL`
	modelCallColumns = `key, parent_key, agent_uid, seq, namespace, namespace_uid, root_uid, chat, role, depth, iteration, provider, model,
	request_type, system_prompt, context_mode, context_tokens, max_iterations, max_duration, files, started_at, status,
	summary, tool_calls, prompt_tokens, cached_tokens, completion_tokens, cost_micros, bailout, error, finished_at, pruned_at`
)

// unreadable stands for what is damaged.
const unreadable = "(unreadable)"

func modelIntent(agent string, c *ledger.ModelCall) step {
	return step{otherwise: keyTaken("model call", c.Key), Statement: statement(insertModelCall,
		text(c.Key), text(c.Parent), c.Seq, c.Iteration, text(c.Provider), text(c.Model), text(c.RequestType), text(c.SystemPrompt),
		text(c.ContextMode), number(c.ContextTokens), c.MaxIterations, c.MaxDuration.Microseconds(), jsonList(c.Files),
		micros(c.StartedAt), string(c.Request), agent)}
}

func modelResult(agent string, r *ledger.ModelResult) step {
	return step{otherwise: noIntent("model call", r.Key), Statement: statement(endModelCall,
		string(r.Status), jsonText(r.Response), text(r.Summary), jsonText(r.ToolCalls), number(r.PromptTokens),
		number(r.CachedTokens), number(r.CompletionTokens), number(r.CostMicros), text(r.Bailout), text(r.Error), micros(r.FinishedAt),
		text(r.Provider), text(r.Model), text(r.Key), agent)}
}

// ModelCall implements ledger.Calls.
func (s *Store) ModelCall(ctx context.Context, key string) (ledger.ModelCall, error) {
	call, err := scanWholeModelCall(s.driver.Reader().QueryRowContext(ctx,
		`SELECT `+modelCallColumns+`, request, response FROM model_calls WHERE key = $1`, text(key)))
	return call, s.fail("read model call "+key, err)
}

// ModelCalls implements ledger.Calls.
func (s *Store) ModelCalls(ctx context.Context, filter ledger.CallFilter, page ledger.Page) (ledger.List[ledger.ModelCall], error) {
	var w where
	w.scope(filter.Scope, "started_at")
	w.equal("agent_uid", filter.Agent)
	if filter.Parent != "" {
		w.add("parent_key <> '' AND parent_key = ", text(filter.Parent)) // as the index says it
	}
	w.equal("status", string(filter.Status))
	if err := w.after(page.Cursor, "started_at", "key"); err != nil {
		return ledger.List[ledger.ModelCall]{}, err
	}
	query := `SELECT ` + modelCallColumns + ` FROM model_calls` + w.ordered(page, "started_at", "key")
	calls, err := list(ctx, s.driver.Reader(), scanModelCall, query, w.args...)
	next := func(c ledger.ModelCall) string { return timeCursor(c.StartedAt, c.Key) }
	return paged(calls, page, next), s.fail("list model calls", err)
}

func scanWholeModelCall(r row) (ledger.ModelCall, error) {
	var request, response []byte
	call, err := scanModelCallAnd(r, &request, &response)
	if call.PrunedAt.IsZero() {
		call.Request = request
	}
	if call.Result != nil && response != nil {
		call.Result.Response = response
	}
	return call, err
}

func scanModelCall(r row) (ledger.ModelCall, error) { return scanModelCallAnd(r) }

// scanModelCallAnd reads modelCallColumns, and the columns behind them into more.
func scanModelCallAnd(r row, more ...any) (ledger.ModelCall, error) {
	var c ledger.ModelCall
	var res ledger.ModelResult
	var started, maxDuration int64
	var contextTokens, prompt, cached, completion, cost, finished, pruned sql.NullInt64
	var files []byte
	err := r.Scan(append([]any{&c.Key, &c.Parent, &c.Agent, &c.Seq, &c.Namespace, &c.NamespaceUID, &c.Root, &c.Chat, &c.Role, &c.Depth, &c.Iteration,
		&c.Provider, &c.Model, &c.RequestType, &c.SystemPrompt, &c.ContextMode, &contextTokens, &c.MaxIterations, &maxDuration,
		&files, &started, &res.Status, &res.Summary, (*[]byte)(&res.ToolCalls),
		&prompt, &cached, &completion, &cost, &res.Bailout, &res.Error, &finished, &pruned}, more...)...)
	if err != nil {
		return ledger.ModelCall{}, err
	}
	c.StartedAt, c.MaxDuration = fromMicros(started), time.Duration(maxDuration)*time.Microsecond
	c.ContextTokens = numberOf(contextTokens)
	if files != nil && json.Unmarshal(files, &c.Files) != nil {
		c.Files = []string{unreadable} // one damaged row does not fail a list
	}
	if pruned.Valid {
		c.PrunedAt = fromMicros(pruned.Int64)
	}
	if !finished.Valid {
		return c, nil
	}
	res.Key, res.FinishedAt = c.Key, fromMicros(finished.Int64)
	res.PromptTokens, res.CachedTokens, res.CompletionTokens = numberOf(prompt), numberOf(cached), numberOf(completion)
	res.CostMicros = numberOf(cost)
	c.Result = &res
	return c, nil
}
