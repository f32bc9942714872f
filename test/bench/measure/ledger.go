// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // driver for reading beside the operator
	_ "modernc.org/sqlite"             // the same

	"github.com/nestor-dev/nestor/internal/ledger"
)

// Ledger reads the operator's ledger while the operator runs.
type Ledger struct {
	db   *sql.DB
	size string
	// server means that the database is a server, not a file.
	server bool
}

// OpenLedger connects to the ledger at url. The operator must have created its tables.
func OpenLedger(url string) (*Ledger, error) {
	l := &Ledger{size: "SELECT pg_database_size(current_database())", server: true}
	driver, name := "pgx", url
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		// Count pages, not file sizes: some of the newest ones are still in the write-ahead log.
		l.server = false
		l.size = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
		driver, name = "sqlite", "file:"+path+"?_pragma=query_only(1)&_pragma=busy_timeout(10000)"
	}
	var err error
	if l.db, err = sql.Open(driver, name); err != nil {
		return nil, fmt.Errorf("open the ledger to read: %w", err)
	}
	return l, nil
}

// Close ends the connection.
func (l *Ledger) Close() error { return l.db.Close() }

// Owners returns the IDs of the operators, and the owner of each shard that has one.
func (l *Ledger) Owners(ctx context.Context) (members []string, holders map[int]string, err error) {
	holders = map[int]string{}
	rows, err := l.db.QueryContext(ctx, "SELECT r.id, COALESCE(s.shard, 0) FROM replicas r LEFT JOIN shards s ON s.holder = r.id AND NOT s.released")
	if err != nil {
		return nil, nil, fmt.Errorf("read the owners of shards: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id string
		var shard int
		if err := rows.Scan(&id, &shard); err != nil {
			return nil, nil, fmt.Errorf("read the owners of shards: %w", err)
		}
		if !slices.Contains(members, id) {
			members = append(members, id)
		}
		if shard >= ledger.FirstShard {
			holders[shard-ledger.FirstShard] = id
		}
	}
	return members, holders, rows.Err()
}

// Bytes returns the size of the database.
func (l *Ledger) Bytes(ctx context.Context) (int64, error) { return l.number(ctx, l.size) }

// Turns counts the successful tool calls since a time: one per tool turn.
func (l *Ledger) Turns(ctx context.Context, since time.Time) (int64, error) {
	return l.number(ctx, fmt.Sprintf("SELECT COUNT(*) FROM tool_calls WHERE status = 'Success' AND started_at >= %d", since.UnixMicro()))
}

// ModelCalls counts the successful model calls since a time.
func (l *Ledger) ModelCalls(ctx context.Context, since time.Time) (int64, error) {
	return l.number(ctx, fmt.Sprintf("SELECT COUNT(*) FROM model_calls WHERE status = 'Success' AND started_at >= %d", since.UnixMicro()))
}

// FailedCalls counts failed and unfinished model and tool calls. Cancelled calls do not count; an agent that was
// cancelled wrongly fails otherwise.
func (l *Ledger) FailedCalls(ctx context.Context, since time.Time) (int64, error) {
	const query = "SELECT (SELECT COUNT(*) FROM model_calls WHERE status NOT IN ('Success', 'Cancelled') AND started_at >= %d)" +
		" + (SELECT COUNT(*) FROM tool_calls WHERE status NOT IN ('Success', 'Cancelled') AND started_at >= %[1]d)"
	return l.number(ctx, fmt.Sprintf(query, since.UnixMicro()))
}

// Started counts the agents that have received at least one reply.
func (l *Ledger) Started(ctx context.Context, since time.Time) (int64, error) {
	return l.number(ctx, fmt.Sprintf(
		"SELECT COUNT(DISTINCT agent_uid) FROM model_calls WHERE finished_at IS NOT NULL AND started_at >= %d", since.UnixMicro()))
}

func (l *Ledger) number(ctx context.Context, query string) (int64, error) {
	var n int64
	if err := l.db.QueryRowContext(ctx, query).Scan(&n); err != nil {
		return 0, fmt.Errorf("read the ledger: %w", err)
	}
	return n, nil
}

// Turn is the time from the intent of a model call to the intent of its agent's next one.
type Turn struct {
	// Number counts the turns of the agent from 1.
	Number int
	Took   time.Duration
}

// EachTurn returns all turns of a role's agents since a time, including the model, the tool and Nestor's own work.
func (l *Ledger) EachTurn(ctx context.Context, role string, since time.Time) (turns []Turn, err error) {
	rows, err := l.db.QueryContext(ctx, fmt.Sprintf(
		"SELECT agent_uid, started_at FROM model_calls WHERE role = '%s' AND started_at >= %d ORDER BY agent_uid, started_at, key", role, since.UnixMicro()))
	if err != nil {
		return nil, fmt.Errorf("read the turns: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var last string
	var before int64
	number := 0
	for rows.Next() {
		var agent string
		var at int64
		if err := rows.Scan(&agent, &at); err != nil {
			return nil, fmt.Errorf("read the turns: %w", err)
		}
		if agent != last {
			last, number = agent, 0
		} else {
			number++
			turns = append(turns, Turn{Number: number, Took: time.Duration(at-before) * time.Microsecond})
		}
		before = at
	}
	return turns, rows.Err()
}

// Run has the times of the first model call and of the last reply of an agent.
type Run struct{ FirstCall, LastReply time.Time }

// Runs returns the runs of a role's agents since a time, by the names of the agents.
func (l *Ledger) Runs(ctx context.Context, role string, since time.Time) (runs map[string]Run, err error) {
	rows, err := l.db.QueryContext(ctx, fmt.Sprintf("SELECT a.name, MIN(c.started_at), MAX(c.finished_at) FROM model_calls c"+
		" JOIN agents a ON a.uid = c.agent_uid WHERE c.role = '%s' AND c.started_at >= %d AND c.finished_at IS NOT NULL GROUP BY a.name",
		role, since.UnixMicro()))
	if err != nil {
		return nil, fmt.Errorf("read the runs: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	runs = map[string]Run{}
	for rows.Next() {
		var name string
		var first, last int64
		if err := rows.Scan(&name, &first, &last); err != nil {
			return nil, fmt.Errorf("read the runs: %w", err)
		}
		runs[name] = Run{time.UnixMicro(first), time.UnixMicro(last)}
	}
	return runs, rows.Err()
}

// FirstEvents returns the time of each agent's first event since a time, except the given type.
func (l *Ledger) FirstEvents(ctx context.Context, since time.Time, but string) (first map[string]time.Time, err error) {
	rows, err := l.db.QueryContext(ctx, fmt.Sprintf(
		"SELECT agent_uid, MIN(at) FROM events WHERE at >= %d AND type <> '%s' GROUP BY agent_uid", since.UnixMicro(), but))
	if err != nil {
		return nil, fmt.Errorf("read the first events: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	first = map[string]time.Time{}
	for rows.Next() {
		var agent string
		var at int64
		if err := rows.Scan(&agent, &at); err != nil {
			return nil, fmt.Errorf("read the first events: %w", err)
		}
		first[agent] = time.UnixMicro(at)
	}
	return first, rows.Err()
}

// MaxActive returns the maximum number of concurrently active agents of a role since a time.
func (l *Ledger) MaxActive(ctx context.Context, role string, since time.Time) (most int, err error) {
	rows, err := l.db.QueryContext(ctx, fmt.Sprintf(
		"SELECT MIN(started_at), MAX(COALESCE(finished_at, %d)) FROM model_calls WHERE role = '%s' AND started_at >= %d GROUP BY agent_uid",
		int64(math.MaxInt64), role, since.UnixMicro()))
	if err != nil {
		return 0, fmt.Errorf("read when the agents were active: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var begins, ends []int64
	for rows.Next() {
		var began, ended int64
		if err := rows.Scan(&began, &ended); err != nil {
			return 0, fmt.Errorf("read when the agents were active: %w", err)
		}
		begins, ends = append(begins, began), append(ends, ended)
	}
	slices.Sort(begins)
	slices.Sort(ends)
	over := 0
	for i, began := range begins {
		for over < len(ends) && ends[over] < began {
			over++
		}
		most = max(most, i+1-over)
	}
	return most, rows.Err()
}

// ToolCallEnds returns when each successful tool call since a time ended, in order.
func (l *Ledger) ToolCallEnds(ctx context.Context, since time.Time) (ends []time.Time, err error) {
	rows, err := l.db.QueryContext(ctx, fmt.Sprintf(
		"SELECT finished_at FROM tool_calls WHERE status = 'Success' AND started_at >= %d ORDER BY finished_at", since.UnixMicro()))
	if err != nil {
		return nil, fmt.Errorf("read the ends of tool calls: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var at int64
		if err := rows.Scan(&at); err != nil {
			return nil, fmt.Errorf("read the ends of tool calls: %w", err)
		}
		ends = append(ends, time.UnixMicro(at))
	}
	return ends, rows.Err()
}

// CallsByNamespace counts the model calls of a role that ended within a time, by namespace.
func (l *Ledger) CallsByNamespace(ctx context.Context, role string, from, to time.Time) (calls map[string]int64, err error) {
	rows, err := l.db.QueryContext(ctx, fmt.Sprintf("SELECT a.namespace, COUNT(*) FROM model_calls c JOIN agents a ON a.uid = c.agent_uid"+
		" WHERE c.role = '%s' AND c.finished_at >= %d AND c.finished_at < %d GROUP BY a.namespace", role, from.UnixMicro(), to.UnixMicro()))
	if err != nil {
		return nil, fmt.Errorf("read the calls of namespaces: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	calls = map[string]int64{}
	for rows.Next() {
		var namespace string
		var n int64
		if err := rows.Scan(&namespace, &n); err != nil {
			return nil, fmt.Errorf("read the calls of namespaces: %w", err)
		}
		calls[namespace] = n
	}
	return calls, rows.Err()
}

// Pause is the time from the intent of a model call to the intent of its agent's next one.
type Pause struct {
	// Hash is the hash of the agent's tree.
	Hash     int
	From, To time.Time
}

// Pauses returns all pauses of a role's agents since a time.
func (l *Ledger) Pauses(ctx context.Context, role string, since time.Time) (pauses []Pause, err error) {
	rows, err := l.db.QueryContext(ctx, fmt.Sprintf("SELECT c.agent_uid, a.shard_hash, c.started_at FROM model_calls c JOIN agents a ON a.uid = c.agent_uid"+
		" WHERE c.role = '%s' AND c.started_at >= %d ORDER BY c.agent_uid, c.started_at", role, since.UnixMicro()))
	if err != nil {
		return nil, fmt.Errorf("read the pauses: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var last string
	var before int64
	for rows.Next() {
		var agent string
		var hash int
		var at int64
		if err := rows.Scan(&agent, &hash, &at); err != nil {
			return nil, fmt.Errorf("read the pauses: %w", err)
		}
		if agent == last {
			pauses = append(pauses, Pause{Hash: hash, From: time.UnixMicro(before), To: time.UnixMicro(at)})
		}
		last, before = agent, at
	}
	return pauses, rows.Err()
}

// ModelCall has the times of a model call's intent and of its reply.
type ModelCall struct{ Started, Finished time.Time }

// CallsOf returns the finished model calls of a chat and its agents, by role and in order.
func (l *Ledger) CallsOf(ctx context.Context, chat string) (calls map[string][]ModelCall, err error) {
	rows, err := l.db.QueryContext(ctx, fmt.Sprintf(
		"SELECT c.role, c.started_at, c.finished_at FROM model_calls c JOIN agents a ON a.uid = c.agent_uid WHERE a.chat = '%s' AND c.finished_at IS NOT NULL ORDER BY c.started_at", chat))
	if err != nil {
		return nil, fmt.Errorf("read the calls of the chat %s: %w", chat, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	calls = map[string][]ModelCall{}
	for rows.Next() {
		var role string
		var started, finished int64
		if err := rows.Scan(&role, &started, &finished); err != nil {
			return nil, fmt.Errorf("read the calls of the chat %s: %w", chat, err)
		}
		calls[role] = append(calls[role], ModelCall{Started: time.UnixMicro(started), Finished: time.UnixMicro(finished)})
	}
	return calls, rows.Err()
}
