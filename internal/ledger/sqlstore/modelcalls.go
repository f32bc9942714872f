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
	insertModelCall = `INSERT INTO model_call_rows (key, parent_key, agent, seq, namespace, role,
	iteration, provider, model, request_type, system_prompt, context_mode, context_tokens, max_iterations, max_duration,
	files, started_at, request, request_form, request_chain, request_place)
	SELECT $1, $2, id, $3, namespace, role, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18
	FROM agents WHERE id = $19 ON CONFLICT DO NOTHING`
	endModelCall = `UPDATE model_call_rows SET status = $1, response = $2, summary = $3, tool_calls = $4,
	prompt_tokens = $5, cached_tokens = $6, completion_tokens = $7, cost_micros = $8, bailout = $9, error = $10, finished_at = $11, result_form = $16, reasoning_tokens = $17, sent = $18, currency = $19, body_digest = $20,
	provider = CASE WHEN $12 = '' THEN provider ELSE $12 END, model = CASE WHEN $13 = '' THEN model ELSE $13 END
	WHERE agent = $15 AND key = $14 AND finished_at IS NULL`
	modelCallColumns = `key, parent_key, agent_uid, seq, namespace, namespace_uid, root_uid, chat, role, depth, iteration, provider, model,
	request_type, system_prompt, context_mode, context_tokens, max_iterations, max_duration, files, started_at, status,
	summary, tool_calls, prompt_tokens, cached_tokens, completion_tokens, cost_micros, bailout, error, finished_at, pruned_at, result_form,
	reasoning_tokens, body_digest, sent, currency`
)

func modelIntent(b *folded, c *ledger.ModelCall, form int) step {
	chain, place := chainPlace(c)
	return step{ifUnchanged: keyTaken("model call", c.Key), Statement: statement(insertModelCall,
		modelCallKind.rowKey(b.Agent, c.Key), text(c.Parent), c.Seq, c.Iteration, text(c.Provider), text(c.Model), text(c.RequestType), text(c.SystemPrompt),
		text(c.ContextMode), number(c.ContextTokens), c.MaxIterations, c.MaxDuration.Microseconds(), jsonList(c.Files),
		micros(c.StartedAt), string(c.Request), form, chain, place, b.agentID)}
}

func modelResult(b *folded, r *ledger.ModelResult, form int) step {
	digest, sent := splitSent(r.Sent, r.Model)
	return step{ifUnchanged: noIntent("model call", r.Key), Statement: statement(endModelCall,
		string(r.Status), jsonText(r.Response), text(r.Summary), jsonText(r.ToolCalls), number(r.PromptTokens),
		number(r.CachedTokens), number(r.CompletionTokens), number(r.CostMicros), text(r.Bailout), text(r.Error), micros(r.FinishedAt),
		text(r.Provider), text(r.Model), modelCallKind.rowKey(b.Agent, r.Key), b.agentID, form, number(r.ReasoningTokens), sent, text(r.Currency), digest)}
}

// chainPlace returns the position of a request in its chain; NULL without a chain.
func chainPlace(c *ledger.ModelCall) (chain, place any) {
	if c.Chain == 0 {
		return nil, nil
	}
	return c.Chain, c.Place
}

func (s *Store) ModelCall(ctx context.Context, key string) (ledger.ModelCall, error) {
	var call ledger.ModelCall
	err := s.read(ctx, func(db querier) error {
		var request, response []byte
		var form, chain, place sql.NullInt64
		var w where
		w.hasKey(modelCallKind, key)
		read, err := scanModelCallAnd(db.QueryRowContext(ctx,
			`SELECT `+modelCallColumns+`, request, response, request_form, request_chain, request_place FROM model_calls`+w.String(), w.args...),
			&request, &response, &form, &chain, &place)
		if err != nil {
			return err
		}
		u := newUnfolder(ctx, db)
		if call, err = read.whole(u); err != nil {
			return err
		}
		if call.Result != nil && response != nil {
			if call.Result.Response, err = u.body(call.Agent, response, read.form&formResponse != 0); err != nil {
				return err
			}
			if read.form&formOwnUsage != 0 {
				call.Result.Response = restoreUsage(call.Result)
			}
			if read.form&formOwnCalls != 0 {
				call.Result.Response = restoreToolCalls(call.Result.Response, call.Result.ToolCalls)
			}
		}
		if !call.PrunedAt.IsZero() {
			return nil
		}
		call.Chain, call.Place = chain.Int64, int(place.Int64)
		if call.Place > 0 {
			call.Request, err = u.chained(call)
			return err
		}
		call.Request, err = u.body(call.Agent, request, form.Int64 == formFolded)
		return err
	})
	return call, s.fail("read model call "+key, err)
}

const chainOfRequests = `SELECT key, request, request_form, tool_calls, result_form FROM model_calls WHERE agent = $1
	AND request_chain = $2 AND request_place <= $3 AND seq <= $4 ORDER BY request_place`

// chained rebuilds a request from the previous ones in its chain. That of a fork may begin with requests of its origin.
func (u *unfolder) chained(call ledger.ModelCall) (json.RawMessage, error) {
	type link struct {
		data, toolCalls []byte
		form, result    int
	}
	parts, err := u.partsOf(call.Agent)
	if err != nil {
		return nil, err
	}
	var links []link
	for _, p := range parts {
		own, err := list(u.ctx, u.db, func(r row) (link, error) {
			var l link
			var key string
			err := r.Scan(&key, &l.data, &l.form, &l.toolCalls, &l.result)
			l.data = restoreKey(l.data, key)
			return l, err
		}, chainOfRequests, p.agent, call.Chain, call.Place, p.until)
		if err != nil {
			return nil, err
		}
		links = append(links, own...)
	}
	chain := make([]json.RawMessage, len(links))
	for i, l := range links {
		if chain[i], err = u.body(call.Agent, l.data, l.form&formFolded != 0); err != nil {
			return nil, err
		}
		if l.form&formPreviousCalls == 0 || i == 0 {
			continue
		}
		calls, err := u.body(call.Agent, links[i-1].toolCalls, links[i-1].result&formToolCalls != 0)
		if err != nil {
			return nil, err
		}
		chain[i] = restoreToolCalls(chain[i], calls)
	}
	if len(chain) != call.Place+1 {
		return json.RawMessage(`"` + unreadable + `"`), nil
	}
	whole, err := ledger.Rebuild(chain)
	if isDamage(err) {
		return json.RawMessage(`"` + unreadable + `"`), nil
	}
	return whole, err
}

func (s *Store) ModelCalls(ctx context.Context, filter ledger.CallFilter, page ledger.Page) (ledger.List[ledger.ModelCall], error) {
	var w where
	w.callScope(filter.Scope)
	w.ofAgent(filter.Agent)
	if filter.Parent != "" {
		w.add("parent_key <> '' AND parent_key = ", text(filter.Parent)) // in the form of the index
	}
	w.equal("status", string(filter.Status))
	if err := w.after(page.Cursor, "started_at", "key"); err != nil {
		return ledger.List[ledger.ModelCall]{}, err
	}
	query := `SELECT ` + modelCallColumns + ` FROM model_calls` + w.ordered(page, "started_at", "key")
	calls, err := listCalls(ctx, s.driver.Reader(), scanModelCall, query, w.args...)
	next := func(c ledger.ModelCall) string { return timeCursor(c.StartedAt, c.Key) }
	return paged(calls, page, next), s.fail("list model calls", err)
}

// modelCallRow is a row whose tool calls may contain references.
type modelCallRow struct {
	ledger.ModelCall
	form int
}

func (r modelCallRow) whole(u *unfolder) (ledger.ModelCall, error) {
	if r.Result == nil || r.form&formToolCalls == 0 {
		return r.ModelCall, nil
	}
	var err error
	r.Result.ToolCalls, err = u.document(r.Agent, r.Result.ToolCalls)
	return r.ModelCall, err
}

func scanModelCall(r row) (modelCallRow, error) { return scanModelCallAnd(r) }

// scanModelCallAnd scans modelCallColumns, and further columns into more.
func scanModelCallAnd(r row, more ...any) (modelCallRow, error) {
	var c modelCallRow
	var res ledger.ModelResult
	var started, maxDuration int64
	var finished, pruned sql.NullInt64
	var files []byte
	var digest sql.NullString
	err := r.Scan(append([]any{&c.Key, &c.Parent, &c.Agent, &c.Seq, &c.Namespace, &c.NamespaceUID, &c.Root, &c.Chat, &c.Role, &c.Depth, &c.Iteration,
		&c.Provider, &c.Model, &c.RequestType, &c.SystemPrompt, &c.ContextMode, &c.ContextTokens, &c.MaxIterations, &maxDuration,
		&files, &started, &res.Status, &res.Summary, (*[]byte)(&res.ToolCalls),
		&res.PromptTokens, &res.CachedTokens, &res.CompletionTokens, &res.CostMicros, &res.Bailout, &res.Error, &finished, &pruned, &c.form, &res.ReasoningTokens, &digest, (*[]byte)(&res.Sent), &res.Currency}, more...)...)
	if err != nil {
		return modelCallRow{}, err
	}
	c.StartedAt, c.MaxDuration = fromMicros(started), time.Duration(maxDuration)*time.Microsecond
	if files != nil && json.Unmarshal(files, &c.Files) != nil {
		c.Files = []string{unreadable} // a damaged row must not fail a list
	}
	if pruned.Valid { // later requests of the chain may still need the tool calls
		c.PrunedAt, c.form, res.ToolCalls = fromMicros(pruned.Int64), 0, nil
	}
	if !finished.Valid {
		return c, nil
	}
	res.Key, res.FinishedAt = c.Key, fromMicros(finished.Int64)
	res.Sent = joinSent(digest.String, c.Model, res.Sent)
	c.Result = &res
	return c, nil
}
