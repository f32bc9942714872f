// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/nestor-dev/nestor/internal/ledger"
)

const (
	insertToolCall = `INSERT INTO tool_calls (key, call_id, agent_uid, seq, model_call, tool, arguments, repeatable, started_at)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (key) DO NOTHING`
	insertEndedToolCall = `INSERT INTO tool_calls (key, call_id, agent_uid, seq, model_call, tool, arguments, repeatable, started_at,
	status, output, error, finished_at)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT (key) DO NOTHING`
	endToolCall = `UPDATE tool_calls SET status = $1, output = $2, error = $3, finished_at = $4
	WHERE key = $5 AND agent_uid = $6 AND finished_at IS NULL`
	toolCallColumns = `key, call_id, agent_uid, seq, model_call, tool, arguments, repeatable, started_at, status, error,
	finished_at, COALESCE(length(output), 0)`
)

// toolSteps write the tool calls of a batch. A call that begins and ends in it is one row from the beginning.
func toolSteps(steps []step, b *ledger.Batch) []step {
	begun := map[string]bool{}
	for i := range b.ToolCalls {
		c := &b.ToolCalls[i]
		row := step{otherwise: keyTaken("tool call", c.Key), Statement: statement(insertToolCall,
			text(c.Key), text(c.CallID), b.Agent, c.Seq, text(c.ModelCall), text(c.Tool), text(c.Arguments), c.Repeatable, micros(c.StartedAt))}
		if at := slices.IndexFunc(b.ToolResults, func(r ledger.ToolResult) bool { return r.Key == c.Key }); at >= 0 {
			r := &b.ToolResults[at]
			row.Statement = statement(insertEndedToolCall, append(row.Args, string(r.Status), r.Output, text(r.Error), micros(r.FinishedAt))...)
			begun[c.Key] = true
		}
		steps = append(steps, row)
	}
	for i := range b.ToolResults {
		if r := &b.ToolResults[i]; !begun[r.Key] {
			steps = append(steps, toolResult(b.Agent, r))
		}
	}
	return steps
}

func toolResult(agent string, r *ledger.ToolResult) step {
	return step{otherwise: noIntent("tool call", r.Key), Statement: statement(endToolCall,
		string(r.Status), r.Output, text(r.Error), micros(r.FinishedAt), text(r.Key), agent)}
}

// ToolCall implements ledger.Calls.
func (s *Store) ToolCall(ctx context.Context, key string) (ledger.ToolCall, error) {
	var output []byte
	call, err := scanToolCallAnd(s.driver.Reader().QueryRowContext(ctx,
		`SELECT `+toolCallColumns+`, output FROM tool_calls WHERE key = $1`, text(key)), &output)
	if call.Result != nil {
		call.Result.Output = output
	}
	return call, s.fail("read tool call "+key, err)
}

// ToolCalls implements ledger.Calls.
func (s *Store) ToolCalls(ctx context.Context, agent string, page ledger.Page) (ledger.List[ledger.ToolCall], error) {
	var w where
	w.add("agent_uid = ", agent)
	if err := w.after(page.Cursor, "started_at", "key"); err != nil {
		return ledger.List[ledger.ToolCall]{}, err
	}
	query := `SELECT ` + toolCallColumns + ` FROM tool_calls` + w.ordered(page, "started_at", "key")
	calls, err := list(ctx, s.driver.Reader(), scanToolCall, query, w.args...)
	next := func(c ledger.ToolCall) string { return timeCursor(c.StartedAt, c.Key) }
	return paged(calls, page, next), s.fail("list tool calls of agent "+agent, err)
}

// OpenCalls implements ledger.Calls.
func (s *Store) OpenCalls(ctx context.Context, agent string) (ledger.OpenCalls, error) {
	const open = ` WHERE agent_uid = $1 AND finished_at IS NULL ORDER BY started_at, key`
	var calls ledger.OpenCalls
	err := s.read(ctx, func(db querier) error {
		var err error
		calls.Models, err = list(ctx, db, scanWholeModelCall,
			`SELECT `+modelCallColumns+`, request, response FROM model_calls`+open, agent)
		if err != nil {
			return err
		}
		calls.Tools, err = list(ctx, db, scanToolCall, `SELECT `+toolCallColumns+` FROM tool_calls`+open, agent)
		return err
	})
	return calls, s.fail("list open calls of agent "+agent, err)
}

// ToolOutput implements ledger.Calls.
func (s *Store) ToolOutput(ctx context.Context, agent, callID string, offset int64, limit int) (ledger.ToolOutput, error) {
	op := fmt.Sprintf("read output of tool call %s of agent %s", callID, agent)
	if offset < 0 || limit <= 0 {
		return ledger.ToolOutput{}, fmt.Errorf("%s: %w: offset %d and limit %d", op, ledger.ErrInvalid, offset, limit)
	}
	var part ledger.ToolOutput
	err := s.driver.Reader().QueryRowContext(ctx, `SELECT COALESCE(substr(output, $1, $2), ''), COALESCE(length(output), 0) FROM tool_calls
	WHERE agent_uid = $3 AND call_id = $4 AND finished_at IS NOT NULL ORDER BY started_at DESC, key DESC LIMIT 1`,
		offset+1, limit, agent, text(callID)).Scan(&part.Data, &part.Size)
	return part, s.fail(op, err)
}

func scanToolCall(r row) (ledger.ToolCall, error) { return scanToolCallAnd(r) }

// scanToolCallAnd reads toolCallColumns, and the columns behind them into more.
func scanToolCallAnd(r row, more ...any) (ledger.ToolCall, error) {
	var c ledger.ToolCall
	var res ledger.ToolResult
	var started int64
	var finished sql.NullInt64
	err := r.Scan(append([]any{&c.Key, &c.CallID, &c.Agent, &c.Seq, &c.ModelCall, &c.Tool, &c.Arguments, &c.Repeatable, &started,
		&res.Status, &res.Error, &finished, &res.OutputSize}, more...)...)
	if err != nil {
		return ledger.ToolCall{}, err
	}
	c.StartedAt = fromMicros(started)
	if finished.Valid {
		res.Key, res.FinishedAt = c.Key, fromMicros(finished.Int64)
		c.Result = &res
	}
	return c, nil
}
