// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/history"
	"github.com/nestor-dev/nestor/internal/history/historytest"
	"github.com/nestor-dev/nestor/internal/history/live"
	"github.com/nestor-dev/nestor/internal/history/relay"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/replicas"
	"github.com/nestor-dev/nestor/internal/shard"
)

const shards = 4

// process is what matters here of an operator: its Leases, its engine's live text, and the relay.
type process struct {
	*replicas.Replicas

	engine *live.Hub
	relay  *relay.Relay
	stop   func()
}

// startProcess starts a process that shares the agents of a ledger with others.
func startProcess(name string, store ledger.Ledger) *process {
	GinkgoHelper()
	identity, err := relay.NewIdentity()
	Expect(err).NotTo(HaveOccurred())
	config := rest.CopyConfig(cluster.Config)
	config.QPS = -1
	p := &process{engine: &live.Hub{}}
	known := &late{}
	p.relay, err = relay.New(ctx, relay.Options{Address: "127.0.0.1:0", Identity: identity, Replicas: known, Agents: store, Local: p.engine, Log: GinkgoLogr})
	Expect(err).NotTo(HaveOccurred())
	p.Replicas = replicas.New(replicas.Options{
		Leases: kubernetes.NewForConfigOrDie(config).CoordinationV1().Leases("replicas"), Name: name, Shards: shards, Log: GinkgoLogr,
		Address: fmt.Sprint("127.0.0.1:", p.relay.Port()), Fingerprint: identity.Fingerprint(),
		Own:    func(ctx context.Context, _ replicas.Term) { <-ctx.Done() },
		Timing: replicas.Timing{LeaseDuration: 2 * time.Second, RenewDeadline: 1500 * time.Millisecond, RetryPeriod: 500 * time.Millisecond},
	})
	known.Replicas = relay.FromLeases(p.Replicas, shards)
	running, cancel := context.WithCancel(ctx)
	stopped := make(chan error, 2)
	go func() { stopped <- p.Start(running) }()
	go func() { stopped <- p.relay.Start(running) }()
	p.stop = sync.OnceFunc(func() {
		cancel()
		for range cap(stopped) {
			Eventually(stopped).Should(Receive(Succeed()))
		}
	})
	DeferCleanup(p.stop)
	return p
}

// late breaks a cycle: the port of the relay is part of the Lease.
type late struct{ relay.Replicas }

// holds returns the number of shards that a process holds in the view of another one.
func (p *process) holds(other *process) func() int {
	return func() (held int) {
		for index := range shards {
			if m, ok := p.Holder(index); ok && m == other.Self() {
				held++
			}
		}
		return held
	}
}

var _ = Describe("Following an agent of another replica", func() {
	It("streams its replies, before and after its tree moves", func() {
		namespace("replicas")
		namespace("team-a")
		store := newLedger()
		worker, other := startProcess("worker", store), startProcess("other", store)
		Eventually(other.holds(worker)).Should(Equal(shards / 2))
		Eventually(other.holds(other)).Should(Equal(shards / 2))
		uid := ""
		for n := 0; uid == ""; n++ {
			candidate := fmt.Sprint("uid-moved-", n)
			if m, _ := other.Holder(shard.Count(shards).Of(shard.Hash(candidate))); m == worker.Self() {
				uid = candidate
			}
		}
		w := serve(store, func(o *history.Options) { o.Live, o.Poll = other.relay.Hub(), time.Hour })
		DeferCleanup(func() { w.stop() })
		pen := historytest.Chat("team-a", "elsewhere", uid)
		pen.Record.ShardHash = shard.Hash(uid)
		write(pen.Write(ctx, store, pen.Orchestrator(), agent.MessageArrived{Message: "hello", Text: "Hi"}))
		delta := func(at *process, call, text string) {
			at.engine.OnDelta(uid, uid+"/model/"+call+"/1", model.Delta{Text: text})
		}
		lines := follow("team-a", "chat.elsewhere/log?follow=true")
		Eventually(lines).Should(Receive(Equal("1 Started ")))
		Eventually(lines).Should(Receive(Equal("2 User Hi")))
		delta(worker, "m1", "Good ")
		Eventually(lines).Should(Receive(Equal("2 Delta Good  of " + uid + ".m1.1")))
		write(pen.Write(ctx, store, pen.Replied("Good morning!")))
		worker.engine.Changed(pen.Record)
		Eventually(lines).Should(Receive(Equal("3 Assistant Good morning!")), "without polling")

		write(pen.Write(ctx, store, agent.MessageArrived{Message: "more", Text: "And now?"}))
		worker.stop()
		Eventually(other.holds(other)).Should(Equal(shards))
		Eventually(lines).Should(Receive(Equal("4 User And now?")), "what happened in between is read from the ledger")
		delta(other, "m2", "Here")
		Eventually(lines).Should(Receive(Equal("4 Delta Here of " + uid + ".m2.1")))
		write(pen.Write(ctx, store, pen.Replied("Here I am.")))
		other.engine.Changed(pen.Record)
		Eventually(lines).Should(Receive(Equal("5 Assistant Here I am.")))
		Consistently(lines, "200ms").ShouldNot(Receive(), "nothing is sent twice")
	})
})
