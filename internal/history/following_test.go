// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	api "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/history"
	"github.com/nestor-dev/nestor/internal/history/historytest"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/streams"
)

// follow reads a log as lines "seq kind text" until it ends, and then closes the channel.
func follow(namespace, nameAndQuery string) <-chan string {
	GinkgoHelper()
	return followAs("", namespace, nameAndQuery)
}

// clientOf returns the client of a user; an empty name is the administrator.
func clientOf(user string) kubernetes.Interface {
	config := rest.CopyConfig(cluster.Config)
	config.Impersonate.UserName = user
	return kubernetes.NewForConfigOrDie(config)
}

func followAs(user, namespace, nameAndQuery string) <-chan string {
	GinkgoHelper()
	reading, stop := context.WithCancel(ctx)
	DeferCleanup(stop)
	stream, err := clientOf(user).CoreV1().RESTClient().Get().RequestURI(raw(namespace, "transcripts/"+nameAndQuery)).Stream(reading)
	Expect(err).NotTo(HaveOccurred())
	lines := make(chan string, 100)
	go func() {
		defer GinkgoRecover()
		defer close(lines)
		defer func() { _ = stream.Close() }() // it may have ended with its context
		scanner := bufio.NewScanner(stream)
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
			var e api.Entry
			Expect(json.Unmarshal(scanner.Bytes(), &e)).To(Succeed())
			text := e.Content
			if e.Delta != nil {
				text = e.Delta.Text + " of " + e.ModelCall
			}
			lines <- fmt.Sprintf("%d %s %s", e.Seq, e.Kind, text)
		}
	}()
	return lines
}

var _ = Describe("Following a transcript", Ordered, ContinueOnFailure, func() {
	var w servedLedger
	BeforeAll(func() {
		namespace("team-a")
		w = serve(newLedger())
		DeferCleanup(func() { w.stop() })
	})

	sendDelta := func(uid, call, text string) {
		w.hub.OnDelta(uid, uid+"/model/"+call+"/1", model.Delta{Text: text})
	}

	It("sends deltas while a reply streams in, and then the complete reply", func() {
		pen := historytest.Chat("team-a", "live", "uid-live")
		write(pen.Write(ctx, w.ledger, pen.Orchestrator(), agent.MessageArrived{Message: "hello", Text: "Hi"}))
		lines := follow("team-a", "chat.live/log?follow=true")
		Eventually(lines).Should(Receive(Equal("1 Started ")))
		Eventually(lines).Should(Receive(Equal("2 User Hi")))

		sendDelta("uid-live", "m1", "Good ")
		Eventually(lines).Should(Receive(Equal("2 Delta Good  of uid-live.m1.1")))
		late := follow("team-a", "chat.live/log?follow&tail=1")
		Eventually(late).Should(Receive(Equal("2 User Hi")))
		Eventually(late).Should(Receive(Equal("2 Delta Good  of uid-live.m1.1")), "a late reader gets the earlier deltas")
		sendDelta("uid-live", "m1", "morning")
		Eventually(lines).Should(Receive(Equal("2 Delta morning of uid-live.m1.1")))

		write(pen.Write(ctx, w.ledger, pen.Replied("Good morning!")))
		w.hub.Changed(pen.Record)
		Eventually(lines).Should(Receive(Equal("3 Assistant Good morning!")))
		sendDelta("uid-live", "m1", "too late")
		write(pen.Write(ctx, w.ledger, agent.MessageArrived{Message: "more", Text: "And now?"}))
		sendDelta("uid-live", "m2", "Now") // before the message was sent to readers
		Eventually(lines).Should(Receive(Equal("4 User And now?")))
		Eventually(lines).Should(Receive(Equal("4 Delta Now of uid-live.m2.1")))

		write(pen.Write(ctx, w.ledger, pen.Replied("Goodbye.")))
		write(pen.Delete(ctx, w.ledger))
		Eventually(lines).Should(Receive(Equal("5 Assistant Goodbye.")), "changes of another replica are found by polling")
		Eventually(lines).Should(BeClosed())
		Eventually(late).Should(BeClosed())
		Eventually(w.hub.Readers).Should(BeZero())
	})

	It("can omit deltas and start anywhere", func() {
		pen := historytest.Chat("team-a", "quiet", "uid-quiet")
		write(pen.Write(ctx, w.ledger, pen.Orchestrator(), agent.MessageArrived{Message: "hello", Text: "Hi"}))
		lines := follow("team-a", "chat.quiet/log?follow=true&deltas=false&since=1")
		Eventually(lines).Should(Receive(Equal("2 User Hi")))
		sendDelta("uid-quiet", "m1", "Hello")
		write(pen.Write(ctx, w.ledger, pen.Replied("Hello.")))
		w.hub.Changed(pen.Record)
		Eventually(lines).Should(Receive(Equal("3 Assistant Hello.")))
	})

	It("ends at once for an agent that has ended", func() {
		pen := historytest.SubAgent(historytest.Chat("team-a", "done", "uid-done"), "done-1", "uid-done-1")
		write(pen.Write(ctx, w.ledger, pen.Researcher(agent.Limits{})))
		write(pen.Write(ctx, w.ledger, pen.Replied("Two.")))
		lines := follow("team-a", "subagent.done-1/log?follow=true")
		Eventually(lines).Should(Receive(HavePrefix("1 Started")))
		Eventually(lines).Should(Receive(Equal("2 Assistant Two.")))
		Eventually(lines).Should(BeClosed())
	})

	It("resumes with another server", func() {
		pen := historytest.Chat("team-a", "moved", "uid-moved")
		write(pen.Write(ctx, w.ledger, pen.Orchestrator(), agent.MessageArrived{Message: "hello", Text: "Hi"}))
		lines := follow("team-a", "chat.moved/log?follow=true")
		Eventually(lines).Should(Receive(Equal("1 Started ")))
		Eventually(lines).Should(Receive(Equal("2 User Hi")))
		w.stop() // a reader does not block the shutdown
		Eventually(lines).Should(BeClosed())

		write(pen.Write(ctx, w.ledger, pen.Replied("Still here.")))
		w = serve(w.ledger)
		Eventually(follow("team-a", "chat.moved/log?follow=true&since=2")).Should(Receive(Equal("3 Assistant Still here.")))
	})

	It("ends for a reader whose permission is revoked", func() {
		pen := historytest.Chat("team-a", "guarded", "uid-guarded")
		write(pen.Write(ctx, w.ledger, pen.Orchestrator(), agent.MessageArrived{Message: "hello", Text: "Hi"}))
		must(kubectl("create", "role", "log", "-n", "team-a", "--verb=get", "--resource=transcripts.history.nestor.dev/log"))
		for _, user := range []string{"erin", "frank"} {
			must(kubectl("create", "rolebinding", "log-"+user, "-n", "team-a", "--role=log", "--user="+user))
			waitForPermission(user, "team-a", "get", "transcripts", "log")
		}
		revoked, allowed := followAs("erin", "team-a", "chat.guarded/log?follow=true"), followAs("frank", "team-a", "chat.guarded/log?follow=true")
		for _, lines := range []<-chan string{revoked, allowed} {
			Eventually(lines).Should(Receive(Equal("1 Started ")))
			Eventually(lines).Should(Receive(Equal("2 User Hi")))
		}
		must(kubectl("delete", "rolebinding", "log-erin", "-n", "team-a"))
		Eventually(revoked).Should(BeClosed())
		write(pen.Write(ctx, w.ledger, pen.Replied("Still here.")))
		Eventually(allowed).Should(Receive(Equal("3 Assistant Still here.")))
	})

	It("is limited per person and in total", func() {
		pen := historytest.Chat("team-a", "busy", "uid-busy")
		write(pen.Write(ctx, w.ledger, pen.Orchestrator(), agent.MessageArrived{Message: "hello", Text: "Hi"}))
		w.stop()
		w = serve(w.ledger, func(o *history.Options) { o.Streams = streams.NewLimiter(streams.Limits{Total: 3, PerUser: 2}) })
		address := raw("team-a", "transcripts/chat.busy/log?follow=true")
		refused := func(user, why string) {
			GinkgoHelper()
			err := clientOf(user).CoreV1().RESTClient().Get().RequestURI(address).MaxRetries(0).Do(ctx).Error()
			Expect(apierrors.IsTooManyRequests(err)).To(BeTrue(), fmt.Sprint(err))
			_, delays := apierrors.SuggestsClientDelay(err)
			Expect(delays).To(BeTrue())
			Expect(err).To(MatchError(ContainSubstring(why)))
		}
		must(kubectl("create", "clusterrolebinding", "followers", "--clusterrole=cluster-admin", "--user=gwen", "--user=hugo"))
		for _, user := range []string{"gwen", "hugo"} {
			waitForPermission(user, "team-a", "get", "transcripts", "log")
		}
		for _, user := range []string{"gwen", "gwen"} {
			Eventually(followAs(user, "team-a", "chat.busy/log?follow=true")).Should(Receive(Equal("1 Started ")))
		}
		refused("gwen", "for one person")
		Expect(clientOf("gwen").CoreV1().RESTClient().Get().RequestURI(raw("team-a", "transcripts/chat.busy/log")).Do(ctx).Error()).To(Succeed(), "a log that is not followed does not count as a stream")
		Eventually(followAs("hugo", "team-a", "chat.busy/log?follow=true")).Should(Receive(Equal("1 Started ")))
		refused("hugo", "of this server")
	})

	It("does not block the engine if readers do not read", func() {
		pen := historytest.Chat("team-a", "slow", "uid-slow")
		write(pen.Write(ctx, w.ledger, pen.Orchestrator(), agent.MessageArrived{Message: "hello", Text: "Hi"}))
		stream, err := core.CoreV1().RESTClient().Get().RequestURI(raw("team-a", "transcripts/chat.slow/log?follow=true")).Stream(ctx)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(stream.Close)
		for i := range 20_000 { // far more than all buffers of the connection hold
			w.hub.OnDelta("uid-slow", "uid-slow/model/m1/1", model.Delta{Text: fmt.Sprintf("%01000d", i)})
		}
		w.hub.Changed(ledger.Agent{UID: "uid-slow"})
	})
})
