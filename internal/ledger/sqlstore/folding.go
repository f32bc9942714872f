// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/fold"
)

// Bits that mark which columns of a row contain references.
const (
	formPlain  = 0
	formFolded = 1
	formFact   = 1
	// formPreviousCalls: a request has a placeholder instead of the tool calls of the previous call in its chain.
	formPreviousCalls = 2

	formResponse  = 1
	formToolCalls = 2
	formOwnCalls  = 4
	formOwnUsage  = 8
)

// folded is a batch in its stored form. Its slices are those of the batch, with known texts replaced by references.
type folded struct {
	ledger.Batch
	size  int
	texts *agentTexts
	// agentID is the number of the agent, which its transaction sets.
	agentID int64
	// end is the newest request of the agent after this batch.
	end *chainEnd
	// index is nil if search is off.
	index *indexed
	// The forms of events, requests, results and the snapshot, and the references of arguments and outputs that are not
	// stored in their own columns.
	events             []int
	requests, results  []int
	arguments, outputs []string
	snapshot           int
}

// textCache caches the texts of the agents that this process appends to. For an agent that is not in it, either more
// bytes are stored or the agent's events are read again.
type textCache struct {
	mu     sync.Mutex
	agents map[string]*agentTexts
	texts  int
}

// agentTexts are the texts of an agent; complete reports that they cover all its events.
type agentTexts struct {
	fold.Texts
	complete atomic.Bool
	counted  int
	// id is the number of the agent; 0 before it is known.
	id  atomic.Int64
	end atomic.Pointer[chainEnd]
}

// chainEnd is the newest request of an agent's chain, with the tool calls of its reply when there is one. It does not
// change.
type chainEnd struct {
	key       string
	chain     int64
	place     int
	toolCalls json.RawMessage
}

// maxCachedTexts bounds the cache: an entry takes about 200 bytes.
const maxCachedTexts = 100_000

// get returns the texts of an agent. create is its record if it is new; only a fork has earlier texts then.
func (m *textCache) get(agent string, create *ledger.Agent) *agentTexts {
	isNew := create != nil
	m.mu.Lock()
	defer m.mu.Unlock()
	k, ok := m.agents[agent]
	if ok && isNew { // an earlier agent with the UID is gone
		m.evict(agent)
		ok = false
	}
	if !ok {
		k = &agentTexts{counted: 1}
		k.complete.Store(isNew && create.OriginSeq == 0)
		if m.agents == nil {
			m.agents = map[string]*agentTexts{}
		}
		m.agents[agent] = k
		m.texts++
	}
	return k
}

// put adds the texts of an append, and evicts an agent that has ended, or others if the cache is full.
func (m *textCache) put(agent string, f *folded, draft *fold.Draft, ended bool) {
	k := f.texts
	k.Commit(draft)
	k.id.Store(f.agentID)
	k.end.Store(f.end)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.agents[agent] != k {
		return
	}
	now := k.Len() + 1 // an agent without texts takes space too
	m.texts += now - k.counted
	k.counted = now
	if ended {
		m.evict(agent)
	}
	for other := range m.agents { // in no particular order
		if m.texts <= maxCachedTexts {
			break
		}
		if other != agent {
			m.evict(other)
		}
	}
}

func (m *textCache) evict(agent string) {
	m.texts -= m.agents[agent].counted
	delete(m.agents, agent)
}

// fold replaces the texts of a batch that its agent's events contain, and returns the new texts.
func (s *Store) fold(ctx context.Context, b ledger.Batch, events []int) (*folded, *fold.Draft, error) {
	k := s.texts.get(b.Agent, b.Create)
	if !k.complete.Load() && needsAllTexts(&b) {
		reader := b.Agent
		if b.Create != nil {
			reader = b.Create.Origin
		}
		if err := s.loadTexts(ctx, reader, b.After, k); err != nil {
			return nil, nil, err
		}
	}
	draft := k.Draft()
	f := &folded{Batch: b, texts: k, events: events}
	for i := range b.Events {
		draft.Index(b.After+int64(i)+1, b.Events[i].Data)
	}
	f.foldModelCalls(draft)
	f.foldToolCalls(draft)
	if data, ok := draft.Fold(b.Snapshot); ok {
		f.Snapshot, f.snapshot = data, formFolded
	}
	f.size = f.Size()
	return f, draft, nil
}

// needsAllTexts reports whether a batch repeats more than the newest texts of its agent.
func needsAllTexts(b *ledger.Batch) bool {
	return b.Snapshot != nil || slices.ContainsFunc(b.ModelCalls, func(c ledger.ModelCall) bool { return c.Place == 0 })
}

func (s *Store) loadTexts(ctx context.Context, agent string, until int64, k *agentTexts) error {
	draft := k.Draft()
	for after := int64(0); after < until; {
		page, err := eventsOf(ctx, s.driver.Reader(), scanEventText, agent, after, ledger.Page{Limit: math.MaxInt32}.Size())
		if err != nil {
			return s.fail("read the strings of agent "+agent, err)
		}
		if len(page) == 0 {
			break
		}
		for i := range page {
			if after = page[i].Seq; after <= until {
				draft.Index(after, page[i].Data)
			}
		}
	}
	k.Commit(draft)
	k.complete.Store(true)
	return nil
}

func (f *folded) foldModelCalls(draft *fold.Draft) {
	f.end = f.texts.end.Load()
	for i := range f.ModelResults {
		if r := &f.ModelResults[i]; f.end != nil && f.end.key == r.Key {
			f.end = &chainEnd{key: r.Key, chain: f.end.chain, place: f.end.place, toolCalls: r.ToolCalls}
		}
	}
	f.ModelCalls, f.requests = slices.Clone(f.ModelCalls), make([]int, len(f.ModelCalls))
	for i := range f.ModelCalls {
		call := &f.ModelCalls[i]
		if stripPreviousCalls(call, f.end) {
			f.requests[i] = formPreviousCalls
		}
		f.end = &chainEnd{key: call.Key, chain: call.Chain, place: call.Place}
		if data, ok := draft.Fold(call.Request); ok {
			call.Request, f.requests[i] = data, f.requests[i]|formFolded
		}
		stripKey(&f.ModelCalls[i])
	}
	f.ModelResults, f.results = slices.Clone(f.ModelResults), make([]int, len(f.ModelResults))
	for i := range f.ModelResults {
		f.results[i] = foldResult(draft, &f.ModelResults[i])
	}
}

func foldResult(draft *fold.Draft, r *ledger.ModelResult) (form int) {
	if stripToolCalls(r) {
		form = formOwnCalls
	}
	if stripUsage(r) {
		form |= formOwnUsage
	}
	if data, ok := draft.Fold(r.Response); ok {
		r.Response, form = data, form|formResponse
	}
	if data, ok := draft.Fold(r.ToolCalls); ok {
		r.ToolCalls, form = data, form|formToolCalls
	}
	return form
}

func (f *folded) foldToolCalls(draft *fold.Draft) {
	f.ToolCalls, f.arguments = slices.Clone(f.ToolCalls), make([]string, len(f.ToolCalls))
	for i := range f.ToolCalls {
		call := &f.ToolCalls[i]
		if ref, ok := draft.Find([]byte(call.Arguments)); ok && call.Arguments == text(call.Arguments) {
			call.Arguments, f.arguments[i] = "", ref.String()
		}
	}
	f.ToolResults, f.outputs = slices.Clone(f.ToolResults), make([]string, len(f.ToolResults))
	for i := range f.ToolResults {
		result := &f.ToolResults[i]
		if ref, ok := draft.Find(result.Output); ok {
			result.OutputSize = int64(len(result.Output))
			result.Output, f.outputs[i] = nil, ref.String()
		}
	}
}

// reference returns NULL for text that is stored in its own column.
func reference(ref string) any {
	if ref == "" {
		return nil
	}
	return ref
}

// unfolder restores texts. It reads each event once.
type unfolder struct {
	ctx    context.Context //nolint:containedctx // It lives as long as one query.
	db     querier
	agents map[string]map[int64][]byte
	// parts are where the events of forks are.
	parts map[string][]part
}

func newUnfolder(ctx context.Context, db querier) *unfolder {
	return &unfolder{ctx: ctx, db: db, agents: map[string]map[int64][]byte{}, parts: map[string][]part{}}
}

func (u *unfolder) events(agent string) fold.Events {
	read := u.agents[agent]
	if read == nil {
		read = map[int64][]byte{}
		u.agents[agent] = read
	}
	return func(seq int64) ([]byte, error) {
		if data, ok := read[seq]; ok {
			return data, nil
		}
		var data []byte
		err := u.db.QueryRowContext(u.ctx, `SELECT data FROM event_rows WHERE agent = `+agentID("$1")+` AND seq = $2`, agent, seq).Scan(&data)
		if errors.Is(err, sql.ErrNoRows) {
			data, err = u.inherited(agent, seq)
		}
		if err != nil {
			return nil, missingEvent(err, seq)
		}
		read[seq] = data
		return data, nil
	}
}

// inherited reads an event of a fork that is one of its origin.
func (u *unfolder) inherited(agent string, seq int64) (data []byte, err error) {
	parts, err := u.partsOf(agent)
	i := slices.IndexFunc(parts, func(p part) bool { return p.has(seq) })
	switch {
	case err != nil:
		return nil, err
	case i < 0:
		return nil, sql.ErrNoRows
	}
	err = u.db.QueryRowContext(u.ctx, `SELECT data FROM event_rows WHERE agent = $1 AND seq = $2`, parts[i].agent, seq).Scan(&data)
	return data, err
}

func (u *unfolder) partsOf(agent string) ([]part, error) {
	if parts, ok := u.parts[agent]; ok {
		return parts, nil
	}
	parts, err := partsOf(u.ctx, u.db, agent)
	if err == nil {
		u.parts[agent] = parts
	}
	return parts, err
}

// prefetch reads the events that a document refers to with one query, if there are many.
func (u *unfolder) prefetch(agent string, document []byte) error {
	const many = 8
	u.events(agent)
	read := u.agents[agent]
	seqs := slices.DeleteFunc(fold.Refs(document), func(seq int64) bool { return read[seq] != nil })
	if len(seqs) < many {
		return nil
	}
	parts, err := u.partsOf(agent)
	for _, p := range parts {
		from, to := max(p.after, slices.Min(seqs)-1), min(p.until, slices.Max(seqs))
		if err != nil || from >= to {
			continue
		}
		var page []ledger.Event
		page, err = list(u.ctx, u.db, scanEventText, eventsOfPart, p.agent, from, to, math.MaxInt32)
		for i := range page {
			read[page[i].Seq] = page[i].Data
		}
	}
	return err
}

// document unfolds a document of an agent. A damaged one becomes unreadable without affecting others.
func (u *unfolder) document(agent string, data json.RawMessage) (json.RawMessage, error) {
	if err := u.prefetch(agent, data); err != nil {
		return nil, err
	}
	whole, err := fold.Unfold(data, u.events(agent))
	if isDamage(err) {
		return json.RawMessage(`"` + unreadable + `"`), nil
	}
	return whole, err
}

// body returns a document that may be folded.
func (u *unfolder) body(agent string, data []byte, folded bool) (json.RawMessage, error) {
	if !folded {
		return data, nil
	}
	return u.document(agent, data)
}

// plain returns the text that a column refers to.
func (u *unfolder) plain(agent, ref string) ([]byte, error) {
	var whole string
	r, err := fold.ParseRef(ref)
	if err == nil {
		var token []byte
		if token, err = r.Token(u.events(agent)); err == nil {
			err = json.Unmarshal(token, &whole)
		}
	}
	if isDamage(err) {
		return []byte(unreadable), nil
	}
	return []byte(whole), err
}
