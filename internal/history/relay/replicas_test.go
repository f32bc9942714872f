// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"github.com/nestor-dev/nestor/internal/history/live"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/replicas"
	"github.com/nestor-dev/nestor/internal/shard"
	"github.com/nestor-dev/nestor/internal/streams"
	"github.com/nestor-dev/nestor/test/patience"
)

// installation has the replicas and says which of them runs an agent. It stands for the ledger.
type installation struct {
	mu      sync.Mutex
	members []replicas.Member
	holders map[int]replicas.Member
	changed chan struct{}
}

func newInstallation(t testing.TB) *installation {
	if _, ok := t.(*testing.T); ok {
		checkGoroutines(t)
	}
	return &installation{holders: map[int]replicas.Member{}, changed: make(chan struct{})}
}

func (i *installation) Members() []replicas.Member {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.members)
}

func (i *installation) Holder(hash int) (replicas.Member, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	m, ok := i.holders[hash]
	return m, ok
}

func (i *installation) Changed() <-chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.changed
}

func (i *installation) Agent(_ context.Context, uid string) (ledger.Agent, error) {
	return ledger.Agent{UID: uid, ShardHash: shard.Hash(uid)}, nil
}

func (i *installation) change(f func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	f()
	close(i.changed)
	i.changed = make(chan struct{})
}

// assign gives the tree of an agent to a replica.
func (i *installation) assign(uid string, to replicas.Member) {
	i.change(func() { i.holders[shard.Hash(uid)] = to })
}

func (i *installation) remove(member replicas.Member) {
	i.change(func() { i.members = slices.DeleteFunc(i.members, func(m replicas.Member) bool { return m == member }) })
}

type replica struct {
	*Relay
	replicas.Member

	engine *live.Hub
	stop   func()
}

func (i *installation) start(t testing.TB, name string, adjust ...func(*Options)) *replica {
	t.Helper()
	identity, err := NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	options := Options{
		Address: "127.0.0.1:0", Identity: identity, Replicas: i, Agents: i, Local: &live.Hub{},
		Streams: streams.NewLimiter(streams.Limits{Total: 1000}), Log: logr.Discard(),
	}
	for _, change := range adjust {
		change(&options)
	}
	relay, err := New(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- relay.Start(ctx) }()
	r := &replica{Relay: relay, engine: options.Local, Member: replicas.Member{
		Name: name, Address: fmt.Sprint("127.0.0.1:", relay.Port()), Fingerprint: identity.Fingerprint(),
	}}
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("replica %s: %v", name, err)
		}
	})
	t.Cleanup(r.stop)
	i.change(func() { i.members = append(i.members, r.Member) })
	return r
}

func (r *replica) delta(uid, call, text string) {
	r.engine.OnDelta(uid, call, model.Delta{Text: text})
}

type view struct {
	t       testing.TB
	reader  *live.Reader
	call    string
	text    string
	changes int
	updates int
}

// follow reads an agent through a replica until the test ends.
func follow(t testing.TB, through *replica, uid string) *view {
	v := &view{t: t, reader: through.Hub().Follow(uid)}
	t.Cleanup(v.close)
	return v
}

func (v *view) close() {
	if v.reader != nil {
		v.reader.Close()
		v.reader = nil
	}
}

// await reads until a condition holds.
func (v *view) await(what string, condition func() bool) {
	v.t.Helper()
	deadline := time.After(patience.Limit())
	for !condition() {
		select {
		case <-v.reader.Updates():
		case <-deadline:
			v.t.Fatalf("timed out: %s; call %q, text %.100q, %d changes", what, v.call, v.text, v.changes)
		}
		v.read()
	}
}

func (v *view) read() {
	update := v.reader.Read()
	v.updates++
	if update.Changed {
		v.changes++
	}
	if update.Call != v.call {
		v.call, v.text = update.Call, ""
	}
	for _, d := range update.Deltas {
		v.text += d.Text
	}
}

func (v *view) waitForText(call, text string) {
	v.t.Helper()
	v.await(fmt.Sprintf("%s of %s", text, call), func() bool { return v.call == call && v.text == text })
}

func (v *view) waitForChange() {
	v.t.Helper()
	before := v.changes
	v.await("another change", func() bool { return v.changes > before })
}

// eventually polls a condition.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	if !patience.Until(condition) {
		t.Fatal("timed out: ", what)
	}
}

// checkGoroutines checks that a test leaves no goroutines of relays and connections behind.
func checkGoroutines(t testing.TB) {
	t.Cleanup(func() {
		var left []string
		defer func() {
			if t.Failed() {
				t.Log(strings.Join(left, "\n\n"))
			}
		}()
		eventually(t, "goroutines are left", func() bool {
			left = nil
			stacks := make([]byte, 4<<20)
			for _, stack := range bytes.Split(stacks[:runtime.Stack(stacks, true)], []byte("\n\n")) {
				s := string(stack)
				ours := strings.Contains(s, "history/relay.") || strings.Contains(s, "net/http.")
				if ours && !strings.Contains(s, "checkGoroutines") && !strings.Contains(s, "TestMain") {
					left = append(left, s)
				}
			}
			return len(left) == 0
		})
	})
}

// network is a TCP proxy in front of a server that can fail.
type network struct {
	listener net.Listener
	target   string

	mu     sync.Mutex
	frozen chan struct{} // closed while bytes pass
	conns  []net.Conn
	opened int
}

func newNetwork(t testing.TB, target string) *network {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	open := make(chan struct{})
	close(open)
	n := &network{listener: listener, target: target, frozen: open}
	go n.accept()
	t.Cleanup(func() {
		_ = listener.Close()
		n.thaw()
		n.cut()
	})
	return n
}

func (n *network) address() string { return n.listener.Addr().String() }

func (n *network) accept() {
	for {
		in, err := n.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", n.target)
		if err != nil {
			_ = in.Close()
			continue
		}
		n.mu.Lock()
		n.conns = append(n.conns, in, out)
		n.opened++
		n.mu.Unlock()
		go n.pass(in, out)
		go n.pass(out, in)
	}
}

// pass copies bytes while the network is not frozen. The end of one side does not reach the other while it is.
func (n *network) pass(to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		size, err := from.Read(buffer)
		n.mu.Lock()
		open := n.frozen
		n.mu.Unlock()
		<-open
		if size > 0 {
			if _, err := to.Write(buffer[:size]); err != nil {
				return
			}
		}
		if err != nil {
			_ = to.Close()
			return
		}
	}
}

// freeze stops all bytes, without closing anything.
func (n *network) freeze() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.frozen = make(chan struct{})
}

func (n *network) thaw() {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.frozen:
	default:
		close(n.frozen)
	}
}

func (n *network) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.conns {
		_ = c.(io.Closer).Close()
	}
	n.conns = nil
}

func (n *network) connections() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.opened
}
