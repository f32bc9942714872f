// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine/exchange"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/tool"
)

// pagingScript is a model that reads as many parts as its instruction asks for, one after the other.
const pagingScript = `
name: reader
rules:
- {match: {toolResult: {}, lastMessage: /the end/}, reply: {toolCalls: [{name: submit_result, arguments: {result: Done.}}]}}
- {match: {toolResult: {}}, reply: {toolCalls: [{name: read, arguments: {after: '{{find "^[0-9]+" .toolResult}}'}}]}}
- {match: {role: coder}, reply: {toolCalls: [{name: read, arguments: {after: 'the beginning'}}]}}
`

// respondInParts makes each call return text of the given size that starts with its number. The last text ends the story.
func (w *toolbox) respondInParts(size, parts int) {
	random := rand.New(rand.NewPCG(1, 2))
	n := 0
	w.text = func(tool.Invocation) string {
		n++
		text := fmt.Sprintf("%d. ", n)
		if n == parts {
			text += "This is the end. "
		}
		for len(text) < size {
			text += fmt.Sprintf("line %d has the number %d, \"quoted\" once, <and> the letter %c\n", n, random.Int(), rune(random.IntN(20_000)+'a'))
		}
		return strings.ToValidUTF8(text[:size], "")
	}
}

func unlimited(c *agent.Config) {
	c.Limits = agent.Limits{MaxOutputTokens: 1000, ContextTokens: 100_000_000}
}

func (w *world) bytes() int64 {
	sizes, err := w.ledger.Bytes(w.t.Context())
	if err != nil || len(sizes) != 1 {
		w.t.Fatalf("sizes are %v (%v)", sizes, err)
	}
	return sizes[0].Bytes
}

// DESIGN section 16: an agent takes at most 1.3 times the bytes of its conversation. checkRequests compares the requests.
func TestLedgerGrowsLinearlyWithConversation(t *testing.T) {
	const turns, size = 120, 5000
	w := newWorld(t, pagingScript)
	w.tools.respondInParts(size, turns)
	w.task("task", unlimited)
	w.untilEnded("task")
	if got, most := w.bytes(), int64(turns*size*13/10); got > most {
		t.Errorf("%d iterations of %d bytes take %d bytes, want at most %d", turns, size, got, most)
	}
}

func TestConversationIsStoredOnceAcrossRestarts(t *testing.T) {
	const turns, size = 40, 5000
	w := newWorld(t, pagingScript)
	w.tools.respondInParts(size, turns)
	reached := make(chan struct{})
	release := make(chan struct{})
	text := w.tools.text
	seen := 0
	w.tools.text = func(c tool.Invocation) string {
		if seen++; seen == 20 {
			close(reached)
			<-release
		}
		return text(c)
	}
	w.task("task", unlimited)
	<-reached
	w.crash()
	close(release)
	if err := w.ledger.Close(); err != nil { // the cache of known texts is gone too
		t.Fatal(err)
	}
	w.openLedger()
	if _, err := w.start(w.ledger).Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.untilEnded("task")
	if got, most := w.bytes(), int64(turns*size*14/10); got > most {
		t.Errorf("%d iterations of %d bytes take %d bytes after a restart, want at most %d", turns, size, got, most)
	}
}

func TestSnapshotsReferToStoredTexts(t *testing.T) {
	const turns, size = 60, 5000
	w := newWorld(t, pagingScript)
	w.stop()
	w.start(w.ledger).options.SnapshotEvery = 5
	w.tools.respondInParts(size, turns)
	w.task("task", unlimited)
	w.untilEnded("task")
	history, err := w.ledger.Load(t.Context(), "uid-task")
	if err != nil || history.Snapshot == nil {
		t.Fatalf("there is no snapshot: %v", err)
	}
	if whole := len(history.Snapshot.Data); whole < turns*size/4 {
		t.Errorf("the snapshot has %d bytes: too small for this test", whole)
	}
	state, _, err := rebuild(history)
	if err != nil || !state.Phase.Terminal() {
		t.Errorf("the state from the snapshot is %v (%v)", state.Phase, err)
	}
	var events []ledger.Event
	if events, err = w.current().allEvents(t.Context(), "uid-task"); err != nil {
		t.Fatal(err)
	}
	replayed, _, err := rebuild(ledger.History{Agent: history.Agent, Events: events})
	if got, want := exchange.Encode(replayed), exchange.Encode(state); err != nil || string(got) != string(want) {
		t.Errorf("the events replay to a different state than the snapshot (%v):\n%s\n%s", err, got, want)
	}
}
