// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/nestor-dev/nestor/internal/history/live"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest/pgserver"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/replicas"
	"github.com/nestor-dev/nestor/internal/shard"
	"github.com/nestor-dev/nestor/test/bench/measure"
)

// The load of BenchmarkTransports: an owner, in a process of its own, streams the replies of many agents to one follower.
const (
	benchmarkAgents   = 100
	deltasPerSecond   = 50 // of each agent
	benchmarkDuration = 10 * time.Second
	ownerVariable     = "NESTOR_BENCHMARK_OWNER"
	stampDigits       = 20
)

func TestMain(m *testing.M) {
	if config := os.Getenv(ownerVariable); config != "" {
		if err := runOwner(config); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// transport is a way of live text between two processes.
type transport struct {
	Name string
	// Batch is the time for which updates are collected; 0 means a transaction for each.
	Batch time.Duration
	// Database is the connection string; empty for streams between replicas.
	Database string
	// Follower is the fingerprint of the follower.
	Follower string
	// Silent means that the follower reads nothing, to measure the load itself.
	Silent bool
}

// BenchmarkTransports compares streams between replicas with PostgreSQL's notifications. Figures are in ADR 20.
func BenchmarkTransports(b *testing.B) {
	server, err := pgserver.New(b.Context())
	if errors.Is(err, pgserver.ErrNotInstalled) {
		b.Skip(err)
	}
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	database := server.URL("postgres")
	for _, t := range []transport{
		{Name: "none", Silent: true},
		{Name: "streams"},
		{Name: "notify", Database: database},
		{Name: "notify-async", Database: database + "&synchronous_commit=off"},
		{Name: "notify-async-20ms", Database: database + "&synchronous_commit=off", Batch: 20 * time.Millisecond},
	} {
		b.Run(t.Name, func(b *testing.B) { benchmarkTransport(b, t, database) })
	}
}

func benchmarkTransport(b *testing.B, t transport, database string) {
	usage, err := measure.OpenLedger(database)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = usage.Close() }()
	i := newInstallation(b)
	follower := i.start(b, "follower")
	t.Follower = follower.Fingerprint
	owner := startOwner(b, t)
	i.change(func() {
		i.members = append(i.members, owner.Member)
		for uid := range uids {
			i.holders[shard.Hash(uid)] = owner.Member
		}
	})
	var latencies latencies
	stop := latencies.follow(b, t, follower.Hub())
	postgres := func() float64 {
		used, _, err := usage.PostgreSQL(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		return used.CPUSeconds
	}
	own, err := measure.OwnCPU()
	if err != nil {
		b.Fatal(err)
	}
	before := postgres()
	ownerCPU := owner.run(b)
	after := postgres()
	ownAfter, err := measure.OwnCPU()
	if err != nil {
		b.Fatal(err)
	}
	stop()
	percent := func(seconds float64) float64 { return 100 * seconds / benchmarkDuration.Seconds() }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(percent(ownerCPU), "owner-cpu-%")
	b.ReportMetric(percent((ownAfter - own).Seconds()), "follower-cpu-%")
	b.ReportMetric(percent(after-before), "postgres-cpu-%")
	latencies.report(b)
}

func uids(yield func(string) bool) {
	for n := range benchmarkAgents {
		if !yield(fmt.Sprint("agent-", n)) {
			return
		}
	}
}

// latencies has the times from the engine's OnDelta to a reader.
type latencies struct {
	mu    sync.Mutex
	times []time.Duration
}

// follow reads all agents until stop is called.
func (l *latencies) follow(b *testing.B, t transport, hub *live.Hub) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	if t.Silent {
		return cancel
	}
	if t.Database != "" {
		hub = listen(ctx, b, t.Database, &running)
	}
	var ready sync.WaitGroup
	for uid := range uids {
		ready.Add(1)
		running.Go(func() { l.read(ctx, hub, uid, ready.Done, t.Database == "") })
	}
	ready.Wait()
	return func() {
		cancel()
		running.Wait()
	}
}

func (l *latencies) read(ctx context.Context, hub *live.Hub, uid string, ready func(), awaits bool) {
	reader := hub.Follow(uid)
	defer reader.Close()
	if awaits {
		<-reader.Updates() // the stream has begun
	}
	ready()
	for {
		select {
		case <-ctx.Done():
			return
		case <-reader.Updates():
		}
		now := time.Now()
		for _, delta := range reader.Read().Deltas {
			l.add(now, delta.Text)
		}
	}
}

// add adds the latencies of deltas, each of which is the time at which it was made.
func (l *latencies) add(now time.Time, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for stamp := range slices.Chunk([]byte(text), stampDigits) {
		nanos, err := strconv.ParseInt(string(stamp), 10, 64)
		if err != nil {
			panic(err)
		}
		l.times = append(l.times, now.Sub(time.Unix(0, nanos)))
	}
}

func (l *latencies) report(b *testing.B) {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.Sort(l.times)
	at := func(quantile float64) float64 {
		if len(l.times) == 0 {
			return 0
		}
		return float64(l.times[int(quantile*float64(len(l.times)-1))].Microseconds()) / 1000
	}
	b.ReportMetric(float64(len(l.times))/benchmarkDuration.Seconds(), "deltas/s")
	b.ReportMetric(at(0.5), "p50-ms")
	b.ReportMetric(at(0.95), "p95-ms")
	b.ReportMetric(at(1), "max-ms")
}

// notification is the update of one agent in a payload.
type notification struct {
	UID    string      `json:"u"`
	Update live.Update `json:"d"`
}

// listen returns a hub that is fed by PostgreSQL's notifications.
func listen(ctx context.Context, b *testing.B, database string, running *sync.WaitGroup) *live.Hub {
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := conn.Exec(ctx, "LISTEN live"); err != nil {
		b.Fatal(err)
	}
	var sinks sync.Map
	running.Go(func() {
		defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
		for {
			got, err := conn.WaitForNotification(ctx)
			if err != nil {
				return
			}
			var notes []notification
			if err := json.Unmarshal([]byte(got.Payload), &notes); err != nil {
				panic(err)
			}
			for _, n := range notes {
				if sink, ok := sinks.Load(n.UID); ok {
					sink.(*live.Sink).Add(n.Update)
				}
			}
		}
	})
	return live.NewHub(func(uid string, to *live.Sink) func() {
		sinks.Store(uid, to)
		return func() { sinks.Delete(uid) }
	})
}

type ownerProcess struct {
	replicas.Member

	in  io.Closer
	out *bufio.Scanner
	cmd *exec.Cmd
}

func startOwner(b *testing.B, t transport) *ownerProcess {
	config, err := json.Marshal(t)
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), ownerVariable+"="+string(config)), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	o := &ownerProcess{in: in, out: bufio.NewScanner(out), cmd: cmd}
	if o.out.Scan(); json.Unmarshal(o.out.Bytes(), &o.Member) != nil {
		b.Fatalf("the owner wrote %q", o.out.Text())
	}
	return o
}

// run lets the owner stream, and returns the CPU seconds that it used.
func (o *ownerProcess) run(b *testing.B) float64 {
	if err := o.in.Close(); err != nil {
		b.Fatal(err)
	}
	o.out.Scan()
	used, err := time.ParseDuration(o.out.Text())
	if err != nil {
		b.Fatal(err)
	}
	if err := o.cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	return used.Seconds()
}

// runOwner writes its Member, streams when its input ends, and writes its CPU time then.
func runOwner(config string) error {
	var t transport
	if err := json.Unmarshal([]byte(config), &t); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	identity, err := NewIdentity()
	if err != nil {
		return err
	}
	i := &installation{changed: make(chan struct{}), members: []replicas.Member{{Fingerprint: t.Follower}}}
	hub := &live.Hub{}
	relay, err := New(ctx, Options{Address: "127.0.0.1:0", Identity: identity, Replicas: i, Agents: i, Local: hub})
	if err != nil {
		return err
	}
	go func() { _ = relay.Start(ctx) }()
	if t.Database != "" {
		if err := notify(ctx, t, hub); err != nil {
			return err
		}
	}
	self, err := json.Marshal(replicas.Member{Name: "owner", Address: fmt.Sprint("127.0.0.1:", relay.Port()), Fingerprint: identity.Fingerprint()})
	if err != nil {
		return err
	}
	fmt.Println(string(self))
	if _, err := io.ReadAll(os.Stdin); err != nil {
		return err
	}
	before, err := measure.OwnCPU()
	if err != nil {
		return err
	}
	stream(hub)
	used, err := measure.OwnCPU()
	fmt.Println(used - before)
	return err
}

// stream is the engine: it adds deltas at an even rate.
func stream(hub *live.Hub) {
	const tick = time.Millisecond
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	sent := 0
	for start := time.Now(); ; <-ticker.C {
		passed := time.Since(start)
		if passed > benchmarkDuration {
			return
		}
		for due := int(passed.Seconds() * benchmarkAgents * deltasPerSecond); sent < due; sent++ {
			hub.OnDelta(fmt.Sprint("agent-", sent%benchmarkAgents), "call", model.Delta{Text: fmt.Sprintf("%0*d", stampDigits, time.Now().UnixNano())})
		}
	}
}

// notify publishes the updates of all agents through PostgreSQL.
func notify(ctx context.Context, t transport, hub *live.Hub) error {
	pool, err := pgxpool.New(ctx, t.Database)
	if err != nil {
		return err
	}
	publish := func(payloads []string) {
		if _, err := pool.Exec(ctx, "SELECT pg_notify('live', p) FROM unnest($1::text[]) AS p", payloads); err != nil {
			panic(err)
		}
	}
	var mu sync.Mutex
	var pending []notification
	for uid := range uids {
		reader := hub.Follow(uid)
		go func() {
			for range reader.Updates() {
				note := notification{uid, reader.Read()}
				if t.Batch == 0 {
					publish(payloads([]notification{note}))
					continue
				}
				mu.Lock()
				pending = append(pending, note)
				mu.Unlock()
			}
		}()
	}
	if t.Batch == 0 {
		return nil
	}
	go func() {
		for range time.Tick(t.Batch) {
			mu.Lock()
			batch := pending
			pending = nil
			mu.Unlock()
			if len(batch) > 0 {
				publish(payloads(batch))
			}
		}
	}()
	return nil
}

// payloads packs updates into payloads of less than PostgreSQL's 8000 bytes.
func payloads(batch []notification) (packed []string) {
	for notes := range slices.Chunk(batch, 60) {
		text, err := json.Marshal(notes)
		if err != nil {
			panic(err)
		}
		packed = append(packed, string(text))
	}
	return packed
}
