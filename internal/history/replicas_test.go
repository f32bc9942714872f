// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	historyapi "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/controller"
	"github.com/nestor-dev/nestor/internal/history"
	"github.com/nestor-dev/nestor/internal/history/historytest"
	"github.com/nestor-dev/nestor/internal/history/live"
	"github.com/nestor-dev/nestor/internal/history/relay"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest/pgserver"
	"github.com/nestor-dev/nestor/internal/localcluster"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/operator"
	"github.com/nestor-dev/nestor/internal/replicas"
	"github.com/nestor-dev/nestor/internal/shard"
	"github.com/nestor-dev/nestor/test/ports"
)

const shards = 4

// lease is a duration that does not expire on a slow machine; a replica that stops hands over its shards.
const lease = 60 * time.Second

// process is what matters here of an operator: its rows, its engine's live text, and the relay.
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
	p, own := &process{engine: &live.Hub{}}, replicas.NewID(name)
	known := &late{}
	p.relay, err = relay.New(ctx, relay.Options{Address: "127.0.0.1:0", Identity: identity, Replicas: known, Agents: store, Local: p.engine, Log: GinkgoLogr})
	Expect(err).NotTo(HaveOccurred())
	p.Replicas = replicas.New(replicas.Options{
		Ledger: store, ID: own, Name: name, Shards: shards, Log: GinkgoLogr,
		Address: fmt.Sprint("127.0.0.1:", p.relay.Port()), Fingerprint: identity.Fingerprint(),
		Own: func(ctx context.Context, shard int) {
			owner, err := store.ReadOwner(ctx, ledger.FirstShard+shard)
			if err != nil {
				return
			}
			fence, err := store.TakeOver(ctx, ledger.FirstShard+shard, owner.Epoch, own, time.Now())
			if err != nil {
				return
			}
			<-ctx.Done()
			_ = store.Release(context.WithoutCancel(ctx), fence) // the specs see it if it stays
		},
		LeaseDuration: lease,
	})
	known.Replicas = relay.FromRows(p.Replicas, shards)
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

// late breaks a cycle: the port of the relay is part of the row.
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

// startOperator starts an operator that shares a PostgreSQL ledger with others, and serves the history.
func startOperator(name, dsn string) *operator.Operator {
	GinkgoHelper()
	config := rest.CopyConfig(cluster.Config)
	config.QPS = -1
	address, err := ports.Free(ctx)
	Expect(err).NotTo(HaveOccurred())
	o, err := operator.New(ctx, operator.Options{
		Config: config, ReplicaAddress: address, History: operator.History{Address: "127.0.0.1:0", Certificate: operator.Certificate{Service: "nestor-history"}},
		Controllers: controller.Options{
			AllowLoopbackEndpoints: true, OperatorNamespace: operatorNamespace, Ledger: openLedger(dsn), Holder: name + "_1", Shards: shards,
			Replica: controller.Replica{Name: name, Address: address, LeaseDuration: lease},
		},
	})
	Expect(err).NotTo(HaveOccurred())
	running, cancel := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	go func() { stopped <- o.Run(running) }()
	DeferCleanup(func() {
		cancel()
		Eventually(stopped).Should(Receive(Succeed()))
	})
	return o
}

// shardHolder returns the live owner of an object's shard.
func shardHolder(store ledger.Ledger, uid types.UID) string {
	GinkgoHelper()
	owner, err := store.ReadOwner(ctx, ledger.FirstShard+shard.Count(shards).Of(shard.Hash(string(uid))))
	Expect(err).NotTo(HaveOccurred())
	Expect(owner.Live).To(BeTrue())
	return owner.Name
}

var _ = Describe("Operators that share a ledger", func() {
	It("stream the replies of each other's agents", func() {
		server, err := pgserver.New(ctx)
		if errors.Is(err, pgserver.ErrNotInstalled) && os.Getenv("CI") != "true" {
			Skip(err.Error())
		}
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(server.Close()).To(Succeed()) })
		dsn, err := server.NewDatabase(ctx)
		Expect(err).NotTo(HaveOccurred())
		namespace(operatorNamespace)
		namespace("team-shared")
		startOperator("first", dsn)
		second := startOperator("second", dsn)
		Expect(cluster.ServeAPI(ctx, localcluster.API{
			GroupVersion: historyapi.GroupVersion, Namespace: operatorNamespace, Service: "nestor-history", Port: second.History.Port(), CABundle: second.History.CABundle(),
		})).To(Succeed())
		store := openLedger(dsn)
		Eventually(func() (held []int) {
			byHolder := map[string]int{}
			owners, err := store.Owners(ctx)
			Expect(err).NotTo(HaveOccurred())
			for _, owner := range owners {
				if owner.Live {
					byHolder[owner.Name]++
				}
			}
			return slices.Collect(maps.Values(byHolder))
		}).Should(ConsistOf(shards/2, shards/2))
		objects, err := client.New(cluster.Config, client.Options{Scheme: operator.NewScheme()})
		Expect(err).NotTo(HaveOccurred())
		script := createProvider(objects, "team-shared")
		script.hold("")

		By("choosing a chat that the other operator runs")
		var chat *v1beta1.AgentChat
		for n := 0; chat == nil; n++ {
			next := &v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: "team-shared", Name: fmt.Sprint("chat-", n)}}
			Expect(objects.Create(ctx, next)).To(Succeed())
			if strings.HasPrefix(shardHolder(store, next.UID), "first_") {
				chat = next
			}
		}
		Eventually(func() error {
			_, err := kubectl("get", "transcript", "chat."+chat.Name, "-n", "team-shared")
			return err
		}).Should(Succeed())
		lines := follow("team-shared", "chat."+chat.Name+"/log?follow=true")
		Expect(objects.Create(ctx, &v1beta1.AgentMessage{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team-shared", Name: "hello"},
			Spec:       v1beta1.AgentMessageSpec{Chat: chat.Name, Content: "Summarise what was released this year."},
		})).To(Succeed())
		Eventually(lines).Should(Receive(HaveSuffix("User Summarise what was released this year.")))
		Eventually(lines).Should(Receive(ContainSubstring(" Delta ")))
		script.release()
		Expect(shardHolder(store, chat.UID)).To(HavePrefix("first_"))
	})
})
