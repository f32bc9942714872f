// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nestor-dev/nestor/internal/ledger"
)

const (
	insertToolCall = `INSERT INTO tool_call_rows (key, call_id, agent, seq, model_call, tool, arguments, repeatable, decision, decided_by,
	started_at, arguments_ref)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT DO NOTHING`
	insertEndedToolCall = `INSERT INTO tool_call_rows (key, call_id, agent, seq, model_call, tool, arguments, repeatable, decision, decided_by,
	started_at, arguments_ref, status, output, error, finished_at, output_ref, output_size)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) ON CONFLICT DO NOTHING`
	endToolCall = `UPDATE tool_call_rows SET status = $1, output = $2, error = $3, finished_at = $4, output_ref = $5, output_size = $6
	WHERE agent = $8 AND key = $7 AND finished_at IS NULL`
	toolCallColumns = `key, call_id, agent_uid, seq, model_call, tool, arguments, repeatable, decision, decided_by, started_at, status,
	error, finished_at, COALESCE(output_size, length(output), 0), arguments_ref`
)

// toolSteps adds the statements for the tool calls of a batch. A call that starts and ends in the batch is inserted as
// one row.
func toolSteps(steps []step, b *folded) []step {
	inserted := map[string]bool{}
	for i := range b.ToolCalls {
		c := &b.ToolCalls[i]
		row := step{ifUnchanged: keyTaken("tool call", c.Key), Statement: statement(insertToolCall,
			toolCallKind.rowKey(b.Agent, c.Key), text(c.CallID), b.agentID, c.Seq, modelCallKind.rowKey(b.Agent, c.ModelCall), text(c.Tool), text(c.Arguments), c.Repeatable,
			string(c.Decision), text(c.DecidedBy), micros(c.StartedAt), reference(b.arguments[i]))}
		if at := slices.IndexFunc(b.ToolResults, func(r ledger.ToolResult) bool { return r.Key == c.Key }); at >= 0 {
			r := &b.ToolResults[at]
			row.Statement = statement(insertEndedToolCall, append(row.Args, string(r.Status), r.Output, text(r.Error), micros(r.FinishedAt),
				reference(b.outputs[at]), outputSize(r, b.outputs[at]))...)
			inserted[c.Key] = true
		}
		steps = append(steps, row)
	}
	for i := range b.ToolResults {
		if r := &b.ToolResults[i]; !inserted[r.Key] {
			steps = append(steps, toolResult(b, r, b.outputs[i]))
		}
	}
	return steps
}

func toolResult(b *folded, r *ledger.ToolResult, ref string) step {
	return step{ifUnchanged: noIntent("tool call", r.Key), Statement: statement(endToolCall,
		string(r.Status), r.Output, text(r.Error), micros(r.FinishedAt), reference(ref), outputSize(r, ref), toolCallKind.rowKey(b.Agent, r.Key), b.agentID)}
}

// outputSize returns NULL for an output that is stored in its own column.
func outputSize(r *ledger.ToolResult, ref string) any {
	if ref == "" {
		return nil
	}
	return r.OutputSize
}

func (s *Store) ToolCall(ctx context.Context, key string) (ledger.ToolCall, error) {
	var output []byte
	var ref sql.NullString
	var w where
	w.hasKey(toolCallKind, key)
	read, err := scanToolCallAnd(s.driver.Reader().QueryRowContext(ctx,
		`SELECT `+toolCallColumns+`, output, output_ref FROM tool_calls`+w.String(), w.args...), &output, &ref)
	if err != nil {
		return ledger.ToolCall{}, s.fail("read tool call "+key, err)
	}
	u := newUnfolder(ctx, s.driver.Reader())
	call, err := read.whole(u)
	if err == nil && ref.Valid {
		output, err = u.plain(call.Agent, ref.String)
	}
	if call.Result != nil {
		call.Result.Output = output
	}
	return call, s.fail("read tool call "+key, err)
}

func (s *Store) ToolCalls(ctx context.Context, agent string, page ledger.Page) (ledger.List[ledger.ToolCall], error) {
	var w where
	w.ofAgent(agent)
	if err := w.after(page.Cursor, "started_at", "key"); err != nil {
		return ledger.List[ledger.ToolCall]{}, err
	}
	query := `SELECT ` + toolCallColumns + ` FROM tool_calls` + w.ordered(page, "started_at", "key")
	calls, err := listCalls(ctx, s.driver.Reader(), scanToolCall, query, w.args...)
	next := func(c ledger.ToolCall) string { return timeCursor(c.StartedAt, c.Key) }
	return paged(calls, page, next), s.fail("list tool calls of agent "+agent, err)
}

func (s *Store) OpenCalls(ctx context.Context, agent string) (ledger.OpenCalls, error) {
	const open = ` WHERE agent = (SELECT id FROM agents WHERE uid = $1) AND finished_at IS NULL ORDER BY started_at, key`
	var calls ledger.OpenCalls
	err := s.read(ctx, func(db querier) error {
		var err error
		if calls.Models, err = listCalls(ctx, db, scanModelCall, `SELECT `+modelCallColumns+` FROM model_calls`+open, agent); err != nil {
			return err
		}
		calls.Tools, err = listCalls(ctx, db, scanToolCall, `SELECT `+toolCallColumns+` FROM tool_calls`+open, agent)
		return err
	})
	return calls, s.fail("list open calls of agent "+agent, err)
}

// findToolOutput searches the tree of the agent's root, or that of the origin of a fork up to the place of the fork. A
// call named with its agent comes first, then the agent's own calls.
const findToolOutput = `SELECT COALESCE(substr(c.output, $1, $2), ''), COALESCE(c.output_size, length(c.output), 0), c.pruned_at IS NOT NULL,
	a.uid, c.output_ref
	FROM agents self JOIN agents a ON a.root_uid = self.root_uid AND a.namespace = self.namespace AND (a.expired_at IS NULL OR a.uid = self.uid)
	JOIN tool_call_rows c ON c.agent = a.id
	WHERE self.uid = $3 AND (a.uid <> self.uid OR c.seq <= $7) AND c.finished_at IS NOT NULL AND (c.call_id = $4 OR (a.name = $5 AND c.call_id = $6))
	ORDER BY CASE WHEN a.name = $5 AND c.call_id = $6 THEN 0 WHEN a.uid = self.uid THEN 1 ELSE 2 END, c.started_at DESC, c.key DESC LIMIT 1`

func (s *Store) ToolOutput(ctx context.Context, agent, call string, offset int64, limit int) (ledger.ToolOutput, error) {
	op := fmt.Sprintf("read output of tool call %s in the tree of agent %s", call, agent)
	if offset < 0 || limit <= 0 {
		return ledger.ToolOutput{}, fmt.Errorf("%s: %w: offset %d and limit %d", op, ledger.ErrInvalid, offset, limit)
	}
	name, id, _ := strings.Cut(call, "/") // names of agents contain no slash
	var part ledger.ToolOutput
	var pruned bool
	var ref sql.NullString
	found, err := s.throughOrigins(ctx, agent, func(uid string, until int64) (bool, error) {
		err := s.driver.Reader().QueryRowContext(ctx, findToolOutput, offset+1, limit, uid, text(call), text(name), text(id), until).
			Scan(&part.Data, &part.Size, &pruned, &part.Agent, &ref)
		if errors.Is(err, sql.ErrNoRows) {
			return false, nil
		}
		return err == nil, err
	})
	switch {
	case err != nil:
	case !found:
		err = sql.ErrNoRows
	case pruned:
		err = ledger.ErrPruned
	case ref.Valid:
		if part.Data, err = newUnfolder(ctx, s.driver.Reader()).plain(part.Agent, ref.String); err == nil {
			part.Data = part.Data[min(offset, int64(len(part.Data))):]
			part.Data = part.Data[:min(limit, len(part.Data))]
		}
	}
	return part, s.fail(op, err)
}

// toolCallRow is a row whose arguments may be a reference.
type toolCallRow struct {
	ledger.ToolCall
	arguments sql.NullString
}

func (r toolCallRow) whole(u *unfolder) (ledger.ToolCall, error) {
	if !r.arguments.Valid {
		return r.ToolCall, nil
	}
	arguments, err := u.plain(r.Agent, r.arguments.String)
	r.Arguments = string(arguments)
	return r.ToolCall, err
}

func scanToolCall(r row) (toolCallRow, error) { return scanToolCallAnd(r) }

// scanToolCallAnd scans toolCallColumns, and further columns into more.
func scanToolCallAnd(r row, more ...any) (toolCallRow, error) {
	var c toolCallRow
	var res ledger.ToolResult
	var started int64
	var finished sql.NullInt64
	err := r.Scan(append([]any{&c.Key, &c.CallID, &c.Agent, &c.Seq, &c.ModelCall, &c.Tool, &c.Arguments, &c.Repeatable, &c.Decision, &c.DecidedBy, &started,
		&res.Status, &res.Error, &finished, &res.OutputSize, &c.arguments}, more...)...)
	if err != nil {
		return toolCallRow{}, err
	}
	c.StartedAt = fromMicros(started)
	if finished.Valid {
		res.Key, res.FinishedAt = c.Key, fromMicros(finished.Int64)
		c.Result = &res
	}
	return c, nil
}
