// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/fold"
)

const (
	oldAgent   = `SELECT uid FROM agents WHERE linear_at IS NULL AND expired_at IS NULL AND uid > $1 ORDER BY uid LIMIT 1`
	wholeCalls = `SELECT key, seq, request, response, tool_calls, started_at, finished_at IS NULL, result_form FROM model_calls
	WHERE agent_uid = $1 AND request_form IS NULL AND pruned_at IS NULL ORDER BY started_at, key LIMIT $2`
	callBefore = `SELECT key FROM model_calls WHERE agent_uid = $1 AND (started_at, key) < ($2, $3) AND request_chain IS NOT NULL
	ORDER BY started_at DESC, key DESC LIMIT 1`
	condenseModelCall = `UPDATE model_calls SET request = $1, request_form = $2, request_chain = $3, request_place = $4, response = $5, tool_calls = $6,
	result_form = $7 WHERE key = $8 AND request_form IS NULL AND pruned_at IS NULL AND (COALESCE($4, 0) = 0 OR EXISTS (
	SELECT 1 FROM model_calls b WHERE b.agent_uid = $9 AND b.request_chain = $3 AND b.request_place = $4 - 1))`
	wholeToolCalls = `SELECT key, arguments, output, started_at FROM tool_calls
	WHERE agent_uid = $1 AND finished_at IS NOT NULL AND (started_at, key) > ($2, $3) ORDER BY started_at, key LIMIT $4`
	condenseToolCall = `UPDATE tool_calls SET arguments = $1, arguments_ref = $2, output = $3, output_ref = $4, output_size = $5
	WHERE key = $6 AND pruned_at IS NULL AND arguments_ref IS NULL AND output_ref IS NULL`
	condenseSnapshot = `UPDATE snapshots SET data = $1, form = 1 WHERE agent_uid = $2 AND seq = $3 AND form = 0`
	oldCalls         = `SELECT COUNT(*) FROM model_calls WHERE agent_uid = $1 AND request_form IS NULL AND pruned_at IS NULL`
	// agentIsLinear marks an agent as linear: all of its records are condensed. Its size is computed anew, because earlier
	// releases did not track it.
	agentIsLinear = `UPDATE agents SET linear_at = $1, bytes =
	COALESCE((SELECT SUM(octet_length(CAST(data AS TEXT))) FROM events WHERE agent_uid = $2), 0) +
	COALESCE((SELECT SUM(octet_length(CAST(request AS TEXT)) + COALESCE(octet_length(CAST(response AS TEXT)), 0)) FROM model_calls WHERE agent_uid = $2), 0) +
	COALESCE((SELECT SUM(octet_length(arguments) + COALESCE(length(output), 0)) FROM tool_calls WHERE agent_uid = $2), 0)
	WHERE uid = $2`
)

// maxCondensedBytes bounds the bytes that one step of Condense reads.
const maxCondensedBytes = 16 << 20

// condenseProgress is the progress of Condense through the records of earlier releases.
type condenseProgress struct {
	mu sync.Mutex
	// after is the last agent that is done, now the current one.
	after   string
	current *condensedAgent
}

// condensedAgent is the agent that is being condensed: first its model calls, then its tool calls, then its snapshot.
type condensedAgent struct {
	uid    string
	texts  *fold.Draft
	models bool
	// at and key identify the last tool call that was checked.
	at  int64
	key string
}

// Condense implements ledger.Upkeep. The records that it reads do not change any more, so it reads outside its write
// transactions.
func (s *Store) Condense(ctx context.Context, limit int) (int64, error) {
	c := &s.condensing
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if c.current == nil {
			agent, err := s.nextCondensed(ctx, c.after)
			if err != nil || agent == nil {
				c.after = ""
				return 0, s.fail("find records of earlier releases", err)
			}
			c.current = agent
		}
		agent := c.current
		n, err := s.condense(ctx, agent, ledger.Page{Limit: limit}.Size())
		if n > 0 && err == nil {
			return n, nil
		}
		c.after, c.current = agent.uid, nil // skip an agent that cannot be condensed
		if err != nil {
			return n, s.fail("condense agent "+agent.uid, err)
		}
	}
}

func (s *Store) nextCondensed(ctx context.Context, after string) (*condensedAgent, error) {
	agent := &condensedAgent{}
	err := s.driver.Reader().QueryRowContext(ctx, oldAgent, after).Scan(&agent.uid)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var k agentTexts
	if err := s.loadTexts(ctx, agent.uid, math.MaxInt64, &k); err != nil {
		return nil, err
	}
	agent.texts = k.Draft()
	return agent, nil
}

// condense makes one step, and returns how many calls it has checked; 0 if none is left.
func (s *Store) condense(ctx context.Context, agent *condensedAgent, limit int) (n int64, err error) {
	if !agent.models {
		if n, err = s.condenseModelCalls(ctx, agent, limit); n > 0 || err != nil {
			return n, err
		}
		agent.models = true
	}
	if n, err = s.condenseToolCalls(ctx, agent, limit); n > 0 || err != nil {
		return n, err
	}
	return 0, s.endCondensing(ctx, agent)
}

// wholeModelCall is a model call in the form of earlier releases.
type wholeModelCall struct {
	ledger.ModelCall
	result ledger.ModelResult
	open   bool
	// form is the form of the result, which this release may have recorded for a request of an earlier one.
	form int
}

func (s *Store) condenseModelCalls(ctx context.Context, agent *condensedAgent, limit int) (int64, error) {
	size := 0
	calls, err := listUntil(ctx, s.driver.Reader(), func(r row) (wholeModelCall, bool, error) {
		var c wholeModelCall
		var started int64
		err := r.Scan(&c.Key, &c.Seq, (*[]byte)(&c.Request), (*[]byte)(&c.result.Response), (*[]byte)(&c.result.ToolCalls), &started, &c.open, &c.form)
		c.StartedAt = fromMicros(started)
		size += len(c.Request) + len(c.result.Response)
		return c, c.open || size > maxCondensedBytes, err
	}, wholeCalls, agent.uid, limit)
	if n := len(calls); n > 0 && calls[n-1].open {
		calls = calls[:n-1] // it keeps its place in the chain until it has ended, and so do later calls
	}
	if err != nil || len(calls) == 0 {
		return 0, err
	}
	before, err := s.chainedBefore(ctx, agent.uid, &calls[0].ModelCall)
	if err != nil {
		return 0, err
	}
	statements := make([]Statement, len(calls))
	for i := range calls {
		c := &calls[i]
		whole := c.Request
		chainCall(before, &c.ModelCall)
		before = &ledger.ModelCall{Request: whole, Chain: c.Chain, Place: c.Place}
		form := formPlain
		if data, ok := agent.texts.Fold(c.Request); ok {
			c.Request, form = data, formFolded
		}
		chain, place := chainPlace(&c.ModelCall)
		result := c.form
		if result == formPlain {
			result = foldResult(agent.texts, &c.result)
		}
		statements[i] = statement(condenseModelCall, string(c.Request), form, chain, place, jsonText(c.result.Response), jsonText(c.result.ToolCalls), result, c.Key, agent.uid)
	}
	return int64(len(calls)), s.execute(ctx, statements)
}

// chainedBefore returns the call that a call may continue, or nil.
func (s *Store) chainedBefore(ctx context.Context, agent string, c *ledger.ModelCall) (*ledger.ModelCall, error) {
	var key string
	err := s.driver.Reader().QueryRowContext(ctx, callBefore, agent, micros(c.StartedAt), c.Key).Scan(&key)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	before, err := s.ModelCall(ctx, key)
	return &before, err
}

// chainCall adds a call to the chain of the previous call if it continues that one, or starts a new chain.
func chainCall(before, c *ledger.ModelCall) {
	if before != nil && before.Chain > 0 && c.Seq > before.Chain {
		if edit, ok := ledger.Compare(before.Request, c.Request); ok {
			encoded := edit.Encode()
			if whole, err := ledger.Rebuild([]json.RawMessage{before.Request, encoded}); err == nil && bytes.Equal(whole, c.Request) {
				c.Request, c.Chain, c.Place = encoded, before.Chain, before.Place+1
				return
			}
		}
	}
	if c.Seq > 0 && (before == nil || before.Chain != c.Seq) {
		c.Chain = c.Seq
	}
}

func (s *Store) condenseToolCalls(ctx context.Context, agent *condensedAgent, limit int) (int64, error) {
	type whole struct {
		key, arguments string
		output         []byte
		at             int64
	}
	size := 0
	calls, err := listUntil(ctx, s.driver.Reader(), func(r row) (whole, bool, error) {
		var c whole
		err := r.Scan(&c.key, &c.arguments, &c.output, &c.at)
		size += len(c.arguments) + len(c.output)
		return c, size > maxCondensedBytes, err
	}, wholeToolCalls, agent.uid, agent.at, agent.key, limit)
	if err != nil || len(calls) == 0 {
		return 0, err
	}
	var statements []Statement
	for _, c := range calls {
		f := folded{Batch: ledger.Batch{ToolCalls: []ledger.ToolCall{{Arguments: c.arguments}}, ToolResults: []ledger.ToolResult{{Output: c.output}}}}
		f.foldToolCalls(agent.texts)
		if f.arguments[0] == "" && f.outputs[0] == "" {
			continue
		}
		result := &f.ToolResults[0]
		statements = append(statements, statement(condenseToolCall, f.ToolCalls[0].Arguments, reference(f.arguments[0]), result.Output,
			reference(f.outputs[0]), outputSize(result, f.outputs[0]), c.key))
	}
	if err := s.execute(ctx, statements); err != nil {
		return 0, err
	}
	last := calls[len(calls)-1]
	agent.at, agent.key = last.at, last.key
	return int64(len(calls)), nil
}

// endCondensing folds the snapshot of an agent, and marks the agent as done unless it has calls in flight from an earlier
// release.
func (s *Store) endCondensing(ctx context.Context, agent *condensedAgent) error {
	var seq int64
	var data []byte
	err := s.driver.Reader().QueryRowContext(ctx, `SELECT seq, data FROM snapshots WHERE agent_uid = $1 AND form = 0`, agent.uid).Scan(&seq, &data)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	var open int
	if err := s.driver.Reader().QueryRowContext(ctx, oldCalls, agent.uid).Scan(&open); err != nil {
		return err
	}
	var statements []Statement
	if open == 0 { // the agent's row first, as every writer locks it
		statements = append(statements, statement(agentIsLinear, micros(time.Now()), agent.uid))
	}
	if data, ok := agent.texts.Fold(data); ok {
		statements = append(statements, statement(condenseSnapshot, string(data), agent.uid, seq))
	}
	return s.execute(ctx, statements)
}

// execute runs statements in one transaction.
func (s *Store) execute(ctx context.Context, statements []Statement) error {
	if len(statements) == 0 {
		return nil
	}
	return s.driver.Write(ctx, func(tx Tx) error {
		_, err := tx.Exec(ctx, statements...)
		return err
	})
}
