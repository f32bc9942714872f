// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/words"
)

// Search turns full-text search on: the events of each append are indexed in its transaction.
func Search(text ledger.TextOf) Option {
	return func(o *options) { o.textOf = text }
}

// entry is an event in the index. Its words are all different.
type entry struct {
	seq, at int64
	words   []string
}

// entryBytes is the approximate size of an entry without its words.
const entryBytes = 32

func (e entry) bytes() int64 {
	n := entryBytes
	for _, word := range e.words {
		n += len(word)
	}
	return int64(n)
}

// indexed is the part of the index that an append or a step of UpdateIndex writes: the entries of the events after a
// position until last.
type indexed struct {
	after, last int64
	entries     []entry
}

// index returns the entries of events after a position; nil if search is off or there are no events.
func (s *Store) index(after int64, events []ledger.Event) *indexed {
	if s.textOf == nil || len(events) == 0 {
		return nil
	}
	part := &indexed{after: after, last: after + int64(len(events))}
	for i := range events {
		event := events[i]
		event.Seq = after + int64(i) + 1
		if list := words.Distinct(s.textOf(event)); len(list) > 0 {
			part.entries = append(part.entries, entry{seq: event.Seq, at: micros(event.At), words: list})
		}
	}
	return part
}

const (
	// insertSearchAgent begins the index of an agent: the events that a fork shares with its origin are found there.
	insertSearchAgent = `INSERT INTO search_agents (agent, seq, bytes) SELECT id, origin_seq, 0 FROM agents WHERE id = $1 ON CONFLICT (agent) DO NOTHING`
	// advanceIndex changes nothing if events before these are missing in the index. Then the entries are not written
	// either, and UpdateIndex writes them later.
	advanceIndex = `UPDATE search_agents SET seq = $1, bytes = bytes + $2 WHERE agent = $3 AND seq = $4`
)

func (part *indexed) advance(agent int64) Statement {
	var bytes int64
	for _, e := range part.entries {
		bytes += e.bytes()
	}
	return statement(advanceIndex, part.last, bytes, agent, part.after)
}

// insert returns the statements that write the entries after the position of the agent's index was advanced.
func (part *indexed) insert(driver Driver, agent int64) []Statement {
	var statements []Statement
	for _, e := range part.entries {
		statements = append(statements, driver.IndexEntry(agent, e.seq, e.at, part.last, e.words)...)
	}
	return statements
}

// indexSteps adds the statements that index the events of a batch.
func (s *Store) indexSteps(steps []step, b *folded) []step {
	if b.index == nil {
		return steps
	}
	if b.Create != nil {
		steps = append(steps, step{Statement: statement(insertSearchAgent, b.agentID)})
	}
	for _, st := range append([]Statement{b.index.advance(b.agentID)}, b.index.insert(s.driver, b.agentID)...) {
		steps = append(steps, step{Statement: st})
	}
	return steps
}

func (s *Store) Search(ctx context.Context, query ledger.SearchQuery, page ledger.Page) (ledger.List[ledger.SearchHit], error) {
	var hits ledger.List[ledger.SearchHit]
	if s.textOf == nil {
		return hits, ledger.ErrSearchOff
	}
	terms := words.Query(query.Text)
	if len(terms) == 0 {
		return hits, fmt.Errorf("%w: a search needs a word", ledger.ErrInvalid)
	}
	condition, arg := s.driver.Matching(terms)
	err := s.read(ctx, func(db querier) error {
		var err error
		if hits, err = searchPage(ctx, db, query.Scope, page, condition, arg); err != nil {
			return err
		}
		return s.addEvents(ctx, db, hits.Items, condition, arg)
	})
	return hits, s.fail("search", err)
}

// searchPage reads a page of the agents with entries that match.
func searchPage(ctx context.Context, db querier, scope ledger.Scope, page ledger.Page, condition func(string) string, arg any) (ledger.List[ledger.SearchHit], error) {
	var w where
	matching := `SELECT agent, MAX(at) AS latest, COUNT(*) AS count FROM search_entries WHERE ` + condition(w.arg(arg)) + ` GROUP BY agent`
	w.conditions = append(w.conditions, "expired_at IS NULL")
	w.scope(scope, "created_at")
	if err := w.before(page.Cursor, "latest", "uid"); err != nil {
		return ledger.List[ledger.SearchHit]{}, err
	}
	var latest []int64
	scan := func(r row) (ledger.SearchHit, error) {
		var hit ledger.SearchHit
		var at int64
		a, err := scanAgent(rowPrefix{r, []any{&at, &hit.Count}})
		hit.Agent, latest = a, append(latest, at)
		return hit, err
	}
	items, err := list(ctx, db, scan, `SELECT latest, count, `+agentColumns+` FROM (`+matching+`) AS matching JOIN agents ON agents.id = matching.agent`+
		w.String()+` ORDER BY latest DESC, uid DESC LIMIT `+w.arg(page.Size()+1), w.args...)
	if err != nil {
		return ledger.List[ledger.SearchHit]{}, err
	}
	hits := paged(items, page, func(hit ledger.SearchHit) string {
		return strconv.FormatInt(latest[page.Size()-1], 10) + "/" + hit.UID
	})
	runs := make([]ledger.Run, len(hits.Items))
	for i := range runs {
		runs[i] = hits.Items[i].Run
	}
	if err := errors.Join(addTotals(ctx, db, runs), markSuperseded(ctx, db, runs)); err != nil {
		return ledger.List[ledger.SearchHit]{}, err
	}
	for i := range runs {
		hits.Items[i].Run = runs[i]
	}
	return hits, nil
}

// rowPrefix scans columns before those of another scan function.
type rowPrefix struct {
	row
	into []any
}

func (r rowPrefix) Scan(dest ...any) error { return r.row.Scan(append(r.into, dest...)...) }

// addEvents reads the newest events of the hits that match.
func (s *Store) addEvents(ctx context.Context, db querier, hits []ledger.SearchHit, condition func(string) string, arg any) error {
	if len(hits) == 0 {
		return nil
	}
	index := make(map[string]int, len(hits))
	uids := make([]string, len(hits))
	for i := range hits {
		uids[i] = hits[i].UID
		index[uids[i]] = i
	}
	var w where
	newest := `SELECT agent, seq, ROW_NUMBER() OVER (PARTITION BY agent ORDER BY seq DESC) AS place FROM search_entries WHERE ` + condition(w.arg(arg)) +
		` AND agent IN (SELECT id FROM agents WHERE uid IN (` + addArgs(&w, uids) + `))`
	scan := func(r row) (struct{}, error) {
		var uid string
		e, err := scanEvent(rowPrefix{r, []any{&uid}})
		if i, ok := index[uid]; ok && err == nil {
			hits[i].Events = append(hits[i].Events, e)
		}
		return struct{}{}, err
	}
	_, err := list(ctx, db, scan, `SELECT a.uid, e.seq, e.type, e.at, e.form, e.data FROM (`+newest+`) AS newest
	JOIN agents a ON a.id = newest.agent JOIN event_rows e ON e.agent = newest.agent AND e.seq = newest.seq
	WHERE place <= `+w.arg(ledger.MaxHitEvents)+` ORDER BY e.agent, e.seq DESC`, w.args...)
	return err
}

// before continues after a cursor in the descending order of a time and a unique column.
func (w *where) before(cursor, at, unique string) error {
	n := len(w.conditions)
	if err := w.after(cursor, at, unique); err != nil || cursor == "" {
		return err
	}
	w.conditions[n] = strings.Replace(w.conditions[n], ") > (", ") < (", 1)
	return nil
}
