// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/nestor-dev/nestor/internal/ledger"
)

const (
	insertAgent = `INSERT INTO agents
	(uid, kind, namespace, namespace_uid, name, parent_uid, root_uid, chat, role, role_revision, depth, provider, model, shard_hash, created_at, origin_uid, origin_seq, last_seq)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $17) ON CONFLICT (uid) DO NOTHING`
	advanceAgent = `UPDATE agents SET last_seq = $1, bytes = bytes + $4 WHERE uid = $2 AND last_seq = $3 AND expired_at IS NULL`
	// advanceKnownAgent finds the row by its number, which is faster; the number may be that of a deleted agent.
	advanceKnownAgent = advanceAgent + ` AND id = $5`
)

// advanceAgents advances each agent to the end of its batch, and refuses the batches of agents that another writer has
// advanced.
func advanceAgents(ctx context.Context, tx Tx, group []*pendingBatch, refused []error) error {
	var statements []Statement
	advances := make([]int, len(group))
	for i, p := range group {
		if refused[i] != nil {
			continue
		}
		b := p.batch
		if a := b.Create; a != nil {
			statements = append(statements, statement(insertAgent, a.UID, text(a.Kind), text(a.Namespace), text(a.NamespaceUID), text(a.Name),
				a.Parent, a.Root, text(a.Chat), text(a.Role), text(a.RoleRevision), a.Depth, text(a.Provider), text(a.Model), a.ShardHash, micros(a.CreatedAt), a.Origin, a.OriginSeq))
		}
		advance := statement(advanceAgent, b.After+int64(len(b.Events)), b.Agent, b.After, int64(b.size-len(b.Snapshot)))
		if b.agentID = b.texts.id.Load(); b.agentID != 0 {
			advance = statement(advanceKnownAgent, append(advance.Args, b.agentID)...)
		}
		advances[i] = len(statements)
		statements = append(statements, advance)
	}
	if len(statements) == 0 {
		return nil
	}
	changed, err := tx.Exec(ctx, statements...)
	if err != nil {
		return err
	}
	for i, p := range group {
		if refused[i] == nil && changed[advances[i]] == 0 {
			refused[i] = &ledger.ConflictError{Agent: p.batch.Agent, Seq: p.batch.After + 1}
		}
	}
	return readAgentIDs(ctx, tx, group, refused)
}

// readAgentIDs sets the numbers of the agents that this process appends to for the first time.
func readAgentIDs(ctx context.Context, tx Tx, group []*pendingBatch, refused []error) error {
	var w where
	unknown := map[string][]*folded{}
	for i, p := range group {
		if refused[i] == nil && p.batch.agentID == 0 {
			unknown[p.batch.Agent] = append(unknown[p.batch.Agent], p.batch)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	uids := slices.Collect(maps.Keys(unknown))
	for len(uids)&(len(uids)-1) != 0 {
		uids = append(uids, "") // few different statements are prepared
	}
	return tx.Query(ctx, func(r Row) error {
		var uid string
		var id int64
		err := r.Scan(&uid, &id)
		for _, b := range unknown[uid] {
			b.agentID = id
		}
		return err
	}, `SELECT uid, id FROM agents WHERE uid IN (`+addArgs(&w, uids)+`)`, w.args...)
}

// step is a statement. If ifUnchanged is not nil, it is the error if the statement changes no row.
type step struct {
	Statement
	ifUnchanged error
}

func runSteps(ctx context.Context, tx Tx, steps []step) error {
	if len(steps) == 0 {
		return nil
	}
	statements := make([]Statement, len(steps))
	for i := range steps {
		statements[i] = steps[i].Statement
	}
	changed, err := tx.Exec(ctx, statements...)
	if err != nil {
		return err
	}
	for i := range steps {
		if changed[i] == 0 && steps[i].ifUnchanged != nil {
			return steps[i].ifUnchanged
		}
	}
	return nil
}

const (
	insertEvent  = `INSERT INTO event_rows (agent, seq, type, at, data, form) VALUES ($1, $2, $3, $4, $5, $6)`
	saveSnapshot = `INSERT INTO snapshots (agent_uid, seq, data, form) VALUES ($1, $2, $3, $4)
	ON CONFLICT (agent_uid) DO UPDATE SET seq = excluded.seq, data = excluded.data, form = excluded.form`
	updateAgent = `UPDATE agents SET role = $1, role_revision = $2, provider = $3, model = $4 WHERE uid = $5`
	finishAgent = `UPDATE agents SET status = $1, error_kind = $2, finished_at = $3 WHERE uid = $4`
)

// appendSteps adds the statements for the rows of a batch, intents before results.
func appendSteps(steps []step, b *folded) []step {
	last := b.After + int64(len(b.Events))
	for i := range b.Events {
		e := &b.Events[i]
		steps = append(steps, step{Statement: statement(insertEvent, b.agentID, b.After+int64(i)+1, text(e.Type), micros(e.At), string(e.Data), b.events[i])})
	}
	for i := range b.ModelCalls {
		steps = append(steps, modelIntent(b, &b.ModelCalls[i], b.requests[i]))
	}
	for i := range b.ModelResults {
		steps = append(steps, modelResult(b, &b.ModelResults[i], b.results[i]))
	}
	steps = imageSteps(toolSteps(steps, b), &b.Batch)
	if b.Snapshot != nil {
		steps = append(steps, step{Statement: statement(saveSnapshot, b.Agent, last, string(b.Snapshot), b.snapshot)})
	}
	if u := b.Update; u != nil {
		steps = append(steps, step{Statement: statement(updateAgent, text(u.Role), text(u.RoleRevision), text(u.Provider), text(u.Model), b.Agent)})
	}
	if f := b.Finish; f != nil {
		steps = append(steps, step{Statement: statement(finishAgent, string(f.Status), text(f.ErrorKind), micros(f.At), b.Agent)})
	}
	return steps
}

func keyTaken(kind, key string) error {
	return fmt.Errorf("start %s %s: %w", kind, key, ledger.ErrKeyTaken)
}

func noIntent(kind, key string) error {
	return fmt.Errorf("end %s %s: %w", kind, key, ledger.ErrNoIntent)
}
