// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// ledgerFailures covers failures and the loss of the ledger. It must come last, because it leaves another ledger behind.
func ledgerFailures(w *world) {
	Describe("When the ledger fails", func() {
		It("chats and runs with work to do report it, and continue afterwards", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.openChat(ctx)
			Eventually(r.chat).WithContext(ctx).Should(BeDone(v1beta1.ChatIdle, v1beta1.ReasonReady))
			r.create(ctx, MakeTask("asks", "Ask: Which colour?").Obj())
			Eventually(r.task("asks")).WithContext(ctx).Should(BeIn(v1beta1.TaskWaiting))

			restore := w.blockLedger(ctx)
			restored := false
			DeferCleanup(func(ctx SpecContext) {
				if !restored {
					restore(ctx) // a failure here is not one of the following specs
				}
			})
			r.sendMessage(ctx, "during", "Greet Alice")
			r.create(ctx, MakeTask("new", "Submit done").Obj(), MakeToolTask("sum", "calculator", `{"expression":"1+1"}`).Obj(),
				MakeMessage("answer").Task("asks").Content("Green").Obj())
			down := string(ledger.ReasonUnavailable)
			Eventually(r.chat).WithContext(ctx).Should(HaveStatus(And(ContainSubstring("(False "+down+": "), ContainSubstring("Nothing is lost"))))
			for _, name := range []string{"new", "sum"} {
				Eventually(r.task(name)).WithContext(ctx).Should(HaveStatus(ContainSubstring("(Unknown " + down + ": ")))
			}
			Eventually(r.message("answer")).WithContext(ctx).Should(HaveStatus(ContainSubstring("(Unknown " + down + ": ")))

			restore(ctx)
			restored = true
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Alice!"), ReplyingTo("during")))
			for _, name := range []string{"new", "sum", "asks"} {
				Eventually(r.task(name)).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			}
			Eventually(r.message("answer")).WithContext(ctx).Should(BeIn(v1beta1.MessageHandled))
			Eventually(r.chat).WithContext(ctx).Should(BeDone(v1beta1.ChatIdle, v1beta1.ReasonReady))
		})

		It("after its loss nothing runs again, and chats report it and start a new conversation with the next message", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeToolServer("box", w.tools.URL), MakeRole("orchestrator").Allow("*", "box__*").Obj(), MakeRole("general").Allow("box__*").Obj())
			r.openChat(ctx)
			r.sendMessage(ctx, "before", "Greet Alice")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Alice!"), ReplyingTo("before")))
			r.sendMessage(ctx, "work", "Delegate to general: Submit something")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(ReplyingTo("work"), WithText("something")))
			Eventually(r.chat).WithContext(ctx).Should(BeDone(v1beta1.ChatIdle, v1beta1.ReasonReady))
			r.create(ctx, MakeToolTask("tool", "box__wait", `{"gate":"`+r.namespace+`"}`).Obj(), MakeTask("asks", "Ask: Which colour?").Obj())
			Eventually(r.task("tool")).WithContext(ctx).Should(HaveField("Status.StartTime", Not(BeNil())))
			Eventually(r.sub("asks")).WithContext(ctx).Should(BeIn(v1beta1.SubAgentWaitingForUser))
			old := must(ctx, r.posts)

			w.loseLedger(ctx, r)
			w.tools.open(r.namespace)
			Eventually(r.task("tool")).WithContext(ctx).Should(BeDone(v1beta1.TaskFailed, string(v1beta1.ErrorHistoryLost), "may have run"))
			Eventually(r.task("asks")).WithContext(ctx).Should(BeDone(v1beta1.TaskFailed, string(v1beta1.ErrorHistoryLost)))
			Eventually(r.chat).WithContext(ctx).Should(HaveStatus(And(ContainSubstring("(False "+v1beta1.ReasonHistoryLost+": "), ContainSubstring("new conversation"))))

			r.sendMessage(ctx, "after", "Greet Bob")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Bob!"), ReplyingTo("after")))
			r.sendMessage(ctx, "more", "Delegate to general: Submit something else")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(ReplyingTo("more"), WithText("something else")))
			Eventually(r.chat).WithContext(ctx).Should(BeDone(v1beta1.ChatIdle, v1beta1.ReasonReady))
			for _, post := range old {
				Expect(must(ctx, r.message(post.Name)).UID).To(Equal(post.UID), "earlier posts are unchanged")
			}
		})
	})
}

// blockLedger makes the ledger fail temporarily: the server is down, or another process holds the lock of the file.
func (w *world) blockLedger(ctx context.Context) (restore func(context.Context)) {
	GinkgoHelper()
	if w.Postgres != nil {
		w.Postgres.Stop()
		return func(ctx context.Context) {
			GinkgoHelper()
			Expect(w.Postgres.Start(ctx)).To(Succeed())
		}
	}
	db, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(w.LedgerURL, "sqlite:")+"?_pragma=busy_timeout(10000)")
	Expect(err).NotTo(HaveOccurred())
	conn, err := db.Conn(ctx)
	Expect(err).NotTo(HaveOccurred())
	_, err = conn.ExecContext(ctx, "BEGIN IMMEDIATE")
	Expect(err).NotTo(HaveOccurred())
	return func(ctx context.Context) {
		GinkgoHelper()
		_, err := conn.ExecContext(ctx, "ROLLBACK")
		Expect(errors.Join(err, conn.Close(), db.Close())).To(Succeed())
	}
}

// loseLedger replaces the ledger by an empty one, and restarts the operator. The operator detects that its file was deleted.
func (w *world) loseLedger(ctx context.Context, r *testNamespace) {
	GinkgoHelper()
	if w.Postgres == nil {
		for _, part := range []string{"", "-wal", "-shm"} {
			if err := os.Remove(strings.TrimPrefix(w.LedgerURL, "sqlite:") + part); !errors.Is(err, fs.ErrNotExist) {
				Expect(err).NotTo(HaveOccurred())
			}
		}
		r.create(ctx, MakeTask("unlucky", "Submit something").Obj())
		Eventually(r.task("unlucky")).WithContext(ctx).Should(HaveStatus(ContainSubstring("(Unknown " + string(ledger.ReasonMissing) + ": ")))
	}
	Expect(w.Operator.Kill()).To(Succeed())
	if w.Postgres != nil {
		var err error
		w.LedgerURL, err = w.Postgres.NewDatabase(ctx)
		Expect(err).NotTo(HaveOccurred())
	}
	Expect(w.StartOperator(ctx)).To(Succeed())
}
