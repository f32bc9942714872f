// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/streams"
)

func TestDeltasReachOtherReplica(t *testing.T) {
	i := newInstallation(t)
	a, b := i.start(t, "a"), i.start(t, "b")
	i.assign("uid", a.Member)
	v := follow(t, b, "uid")
	v.waitForChange()
	var want strings.Builder
	for n := range 5000 {
		piece := fmt.Sprint(n, " ")
		want.WriteString(piece)
		a.delta("uid", "m1", piece)
	}
	v.waitForText("m1", want.String())
	a.engine.Changed(ledger.Agent{UID: "uid"})
	v.waitForChange()
	a.delta("uid", "m2", "next")
	v.waitForText("m2", "next")
}

func TestLateReaderGetsTheBeginning(t *testing.T) {
	i := newInstallation(t)
	a, b := i.start(t, "a"), i.start(t, "b")
	i.assign("uid", a.Member)
	a.delta("uid", "m1", "Good ")
	first := follow(t, b, "uid")
	first.waitForText("m1", "Good ")
	second := follow(t, b, "uid")
	second.waitForText("m1", "Good ")
	a.delta("uid", "m1", "morning")
	first.waitForText("m1", "Good morning")
	second.waitForText("m1", "Good morning")
	if got := a.options.Streams.Stats().Open; got != 1 {
		t.Errorf("two readers of one agent need %d streams, want 1", got)
	}
}

func TestReadersOfTheSameProcess(t *testing.T) {
	i := newInstallation(t)
	a := i.start(t, "a")
	i.assign("uid", a.Member)
	local, nobody := follow(t, a, "uid"), follow(t, a, "nobody")
	a.delta("uid", "m1", "here")
	local.waitForText("m1", "here")
	a.delta("nobody", "m1", "here") // the row may come later than the work
	nobody.waitForText("m1", "here")
	if got := a.options.Streams.Stats().Open; got != 0 {
		t.Errorf("%d streams, want none", got)
	}
}

// TestHandOver moves an agent from a to c, then to the reader's own replica b, and back.
func TestHandOver(t *testing.T) {
	i := newInstallation(t)
	a, b, c := i.start(t, "a"), i.start(t, "b"), i.start(t, "c")
	i.assign("uid", a.Member)
	v := follow(t, b, "uid")
	for n, r := range []*replica{a, c, b, a} {
		i.assign("uid", r.Member)
		call := fmt.Sprint("m", n)
		r.delta("uid", call, "by "+r.Name)
		v.waitForText(call, "by "+r.Name)
		before := v.changes
		r.engine.Changed(ledger.Agent{UID: "uid"})
		v.await("the reply is void", func() bool { return v.call == "" && v.changes > before })
	}
	eventually(t, "streams of the earlier holders end", func() bool {
		return c.engine.Readers() == 0 && b.engine.Readers() == 0 && a.engine.Readers() == 1
	})
}

// TestStaleHolder follows an agent at a replica that does not run it any more: its late updates are dropped after the move.
func TestStaleHolder(t *testing.T) {
	i := newInstallation(t)
	a, b, c := i.start(t, "a"), i.start(t, "b"), i.start(t, "c")
	i.assign("uid", a.Member)
	v := follow(t, b, "uid")
	a.delta("uid", "m1", "old")
	v.waitForText("m1", "old")
	i.assign("uid", c.Member)
	c.delta("uid", "m2", "new")
	v.waitForText("m2", "new")
	a.delta("uid", "m1", "late")
	c.delta("uid", "m2", "er")
	v.waitForText("m2", "newer")
}

// through changes a member so that others reach it through a network that can fail.
func (i *installation) through(t *testing.T, r *replica) *network {
	n := newNetwork(t, r.Address)
	i.remove(r.Member)
	r.Address = n.address()
	i.change(func() { i.members = append(i.members, r.Member) })
	return n
}

func TestCutConnection(t *testing.T) {
	i := newInstallation(t)
	a, b := i.start(t, "a"), i.start(t, "b")
	net := i.through(t, a)
	i.assign("uid", a.Member)
	v := follow(t, b, "uid")
	a.delta("uid", "m1", "one ")
	v.waitForText("m1", "one ")
	for n := range 5 {
		before := v.changes
		net.cut()
		a.delta("uid", "m1", fmt.Sprint(n))
		v.await("a change after the gap", func() bool { return v.changes > before })
	}
	v.waitForText("m1", "one 01234") // nothing lost or repeated
	eventually(t, "the owner has one reader", func() bool { return a.engine.Readers() == 1 })
}

// TestSilentConnection stops all bytes of a connection, as a node that loses power does. Both sides notice, and a working one is opened.
func TestSilentConnection(t *testing.T) {
	i := newInstallation(t)
	fast := func(o *Options) { o.Heartbeat = 200 * time.Millisecond }
	a, b := i.start(t, "a", fast), i.start(t, "b", fast)
	net := i.through(t, a)
	i.assign("uid", a.Member)
	v := follow(t, b, "uid")
	a.delta("uid", "m1", "before")
	v.waitForText("m1", "before")
	net.freeze()
	a.delta("uid", "m1", ", during")
	eventually(t, "the owner ends the stream", func() bool { return a.engine.Readers() == 0 })
	before := v.changes
	net.thaw()
	v.await("a change after the gap", func() bool { return v.changes > before && v.text == "before, during" })
}

func TestDeadReplica(t *testing.T) {
	i := newInstallation(t)
	a, b, c := i.start(t, "a"), i.start(t, "b"), i.start(t, "c")
	i.assign("uid", a.Member)
	v := follow(t, b, "uid")
	a.delta("uid", "m1", "of a")
	v.waitForText("m1", "of a")
	a.stop()
	i.remove(a.Member)
	i.assign("uid", c.Member)
	c.delta("uid", "m1", "again") // the same call, by another replica
	v.await("the reply begins again", func() bool { return strings.HasSuffix(v.text, "again") })
}

func TestSubscriptionEndsWithTheReader(t *testing.T) {
	i := newInstallation(t)
	a, b := i.start(t, "a"), i.start(t, "b")
	net := i.through(t, a)
	views := map[string]*view{}
	for n := range 20 {
		uid := fmt.Sprint("uid-", n)
		i.assign(uid, a.Member)
		views[uid] = follow(t, b, uid)
		a.delta(uid, "m1", uid)
	}
	for uid, v := range views {
		v.waitForText("m1", uid)
	}
	if got := net.connections(); got != 1 {
		t.Errorf("%d connections, want 1", got)
	}
	for _, v := range views {
		v.close()
	}
	eventually(t, "all streams end", func() bool { return a.engine.Readers() == 0 && a.options.Streams.Stats().Open == 0 })
	eventually(t, "the connection is closed", func() bool {
		b.links.mu.Lock()
		defer b.links.mu.Unlock()
		return len(b.links.byPeer) == 0
	})
	i.assign("uid-0", a.Member)
	again := follow(t, b, "uid-0")
	again.waitForText("m1", "uid-0")
}

// TestSlowFollower has a replica that opens a stream and does not read it. The engine and other followers do not wait for it, and it
// gets everything in few updates when it reads.
func TestSlowFollower(t *testing.T) {
	i := newInstallation(t)
	a, b := i.start(t, "a"), i.start(t, "b")
	slow := newPeer(t, i)
	i.assign("uid", a.Member)
	stream := slow.get(t, a.Member, "uid")
	v := follow(t, b, "uid")
	v.waitForChange()
	const deltas, size = 10_000, 1000 // far more than all buffers of the connection
	for n := range deltas {
		a.delta("uid", "m1", fmt.Sprintf("%0*d", size, n))
	}
	v.await("another follower has everything", func() bool { return len(v.text) == deltas*size })
	text, updates := 0, 0
	for decode := decoder(t, stream); text < deltas*size; updates++ {
		for _, d := range decode().Deltas {
			text += len(d.Text)
		}
	}
	if updates > deltas/2 {
		t.Errorf("a slow follower got %d updates, want merged ones", updates)
	}
}

// TestSlowReader has a reader that does not read.
func TestSlowReader(t *testing.T) {
	i := newInstallation(t)
	a, b := i.start(t, "a"), i.start(t, "b")
	i.assign("uid", a.Member)
	slow, fast := follow(t, b, "uid"), follow(t, b, "uid")
	fast.waitForChange()
	for range 10_000 {
		a.delta("uid", "m1", strings.Repeat("x", 1000))
	}
	fast.await("all", func() bool { return len(fast.text) == 10_000_000 })
	slow.read()
	if len(slow.text) != 10_000_000 || slow.updates != 1 {
		t.Errorf("%d bytes in %d updates", len(slow.text), slow.updates)
	}
}

func TestTruncatedReply(t *testing.T) {
	i := newInstallation(t)
	a, b := i.start(t, "a"), i.start(t, "b")
	i.assign("uid", a.Member)
	for range 1<<15 + 1 {
		a.engine.OnDelta("uid", "m1", model.Delta{Text: "x"})
	}
	reader := b.Hub().Follow("uid")
	defer reader.Close()
	eventually(t, "truncated", func() bool { return reader.Read().Truncated })
}

func TestTooManyStreams(t *testing.T) {
	i := newInstallation(t)
	a := i.start(t, "a", func(o *Options) { o.Streams = streams.NewLimiter(streams.Limits{PerUser: 1}) })
	b := i.start(t, "b")
	i.assign("one", a.Member)
	i.assign("two", a.Member)
	one := follow(t, b, "one")
	one.waitForChange()
	two := follow(t, b, "two")
	eventually(t, "the second one is refused", func() bool { return a.options.Streams.Stats().Refused > 0 })
	a.delta("two", "m1", "x")
	one.close()
	two.waitForText("m1", "x") // it was tried again
}

func TestStoppedRelay(t *testing.T) {
	i := newInstallation(t)
	a, b := i.start(t, "a"), i.start(t, "b")
	i.assign("uid", a.Member)
	v := follow(t, b, "uid")
	v.waitForChange()
	b.stop()
	eventually(t, "its streams end", func() bool { return a.engine.Readers() == 0 })
	late := b.Hub().Follow("uid") // a request during the shutdown
	late.Close()
	if _, err := New(t.Context(), Options{Address: a.Address}); err == nil {
		t.Error("an address in use is accepted")
	}
}
