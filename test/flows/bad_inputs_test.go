// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// badInput is a bad input together with its expected result.
type badInput func(context.Context, *testNamespace)

// badInputs are mistakes of people, models and tools. Each ends in a status that describes what to do, blocks no other agent, and
// needs no restart.
func badInputs(w *world) {
	DescribeTable("A bad input",
		func(ctx SpecContext, do badInput) {
			operator := w.Operator.Pid
			r := w.newEmptyNamespace(ctx)
			do(ctx, r)
			checkNamespaceWorks(ctx, r)
			Expect(w.Operator.Pid).To(Equal(operator))
			Expect(w.Operator.Exited()).NotTo(BeClosed())
		},
		slices.Concat(badReferences(w), badTasks(w), badMessages(w), badDecisions(w), badTools(w), badControl(w), badModels(w)))
}

// checkNamespaceWorks checks that another chat in the same namespace works.
func checkNamespaceWorks(ctx context.Context, r *testNamespace) {
	GinkgoHelper()
	r.create(ctx, MakeProvider("healthy", r.ModelURL).Obj(), MakeRole("healthy").Prompt("You are kind.").Obj(),
		MakeChat("healthy").Role("healthy").Provider("healthy").Obj(), MakeMessage("healthy").Chat("healthy").Content("Greet Health").Obj())
	Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Health!"), ReplyingTo("healthy")))
}

// waitsForMissing checks that a chat waits for something, and continues when it appears.
func waitsForMissing(reason, texts string, setting, fix []client.Object, more ...func(context.Context, *testNamespace)) badInput {
	return func(ctx context.Context, r *testNamespace) {
		GinkgoHelper()
		r.create(ctx, copies(setting)...)
		r.sendMessage(ctx, "hello", "Greet Alice")
		Eventually(r.chat).WithContext(ctx).Should(BeDone(v1beta1.ChatIdle, reason, texts))
		Eventually(r.message("hello")).WithContext(ctx).Should(BeDone(v1beta1.MessagePending, v1beta1.ReasonChatNotReady))
		r.create(ctx, copies(fix)...)
		for _, do := range more {
			do(ctx, r)
		}
		Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Alice!"), ReplyingTo("hello")))
		Eventually(r.chat).WithContext(ctx).Should(BeDone(v1beta1.ChatIdle, v1beta1.ReasonReady))
	}
}

// copies returns copies of objects that can be created again: the tables run with both ledgers.
func copies(objects []client.Object) []client.Object {
	fresh := make([]client.Object, len(objects))
	for i, o := range objects {
		fresh[i] = o.DeepCopyObject().(client.Object)
	}
	return fresh
}

func objectList(objects ...client.Object) []client.Object { return objects }
