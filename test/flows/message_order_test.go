// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"encoding/json"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// messageOrder checks that messages are handled in the order of creation, however many arrive together.
func messageOrder(w *world) {
	const burst = 50
	// The names sort in a different order than the messages are created.
	name := func(round, i int) string { return fmt.Sprintf("burst-%02d-%d", (i*37)%burst, round) }

	Describe("A burst of messages", func() {
		It("is handled in the order of creation, by an idle chat and by a busy one", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.openChat(ctx)
			Eventually(r.chat).WithContext(ctx).Should(BeDone(v1beta1.ChatIdle, v1beta1.ReasonReady))
			var created []string
			for round := range 3 {
				if round == 1 {
					Eventually(r.message(created[burst-1])).WithContext(ctx).Should(BeIn(v1beta1.MessageHandled))
					Eventually(r.chat).WithContext(ctx).Should(BeIn(v1beta1.ChatIdle))
				} // the last round follows the previous one at once
				for i := range burst {
					created = append(created, name(round, i))
					r.sendMessage(ctx, name(round, i), fmt.Sprintf("Greet number %d", i))
				}
			}
			Eventually(r.message(created[len(created)-1])).WithContext(ctx).Should(BeIn(v1beta1.MessageHandled))
			uid := string(must(ctx, r.chat).UID)
			Expect(arrivedMessages(ctx, w.history, uid)).To(Equal(created))
		})

		It("is handled in the order of creation by a chat that is created after it", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			var created []string
			for i := range burst {
				created = append(created, name(0, i))
				r.sendMessage(ctx, name(0, i), fmt.Sprintf("Greet number %d", i))
			}
			Eventually(r.message(created[burst-1])).WithContext(ctx).Should(BeDone(v1beta1.MessagePending, v1beta1.ReasonChatNotFound))
			r.openChat(ctx)
			for _, message := range created {
				Eventually(r.message(message)).WithContext(ctx).Should(BeIn(v1beta1.MessageHandled))
			}
			Expect(arrivedMessages(ctx, w.history, string(must(ctx, r.chat).UID))).To(Equal(created))
		})

		It("to a standalone task: the oldest answers its question", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			for round := range 3 {
				task := fmt.Sprintf("asks-%d", round)
				r.create(ctx, MakeTask(task, "Ask: Which number?").Obj())
				Eventually(r.task(task)).WithContext(ctx).Should(BeIn(v1beta1.TaskWaiting))
				for i := range burst {
					r.create(ctx, MakeMessage(name(round, i)).Task(task).Content(fmt.Sprintf("number %d", i)).Obj())
				}
				Eventually(r.task(task)).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
				Expect(must(ctx, r.task(task)).Status.Result.Summary).To(Equal("number 0"))
				Eventually(r.message(name(round, 0))).WithContext(ctx).Should(BeIn(v1beta1.MessageHandled))
				for i := 1; i < burst; i++ {
					Eventually(r.message(name(round, i))).WithContext(ctx).Should(BeIn(v1beta1.MessageRejected))
				}
			}
		})
	})
}

// arrivedMessages returns the messages that an orchestrator received, in the order of the ledger.
func arrivedMessages(ctx context.Context, history ledger.Ledger, uid string) []string {
	GinkgoHelper()
	var names []string
	for after := int64(0); ; {
		events, err := history.Events(ctx, uid, after, ledger.MaxLimit)
		Expect(err).NotTo(HaveOccurred())
		if len(events) == 0 {
			return names
		}
		for _, e := range events {
			after = e.Seq
			var event agent.Event
			Expect(json.Unmarshal(e.Data, &event)).To(Succeed())
			if f, ok := event.Fact.(agent.MessageArrived); ok {
				names = append(names, f.Message)
			}
		}
	}
}
