// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1alpha1"
)

// mischief is a bad input, and what must come of it.
type mischief func(context.Context, *room)

// badInputs are what people, models and tools get wrong. Each ends in a status that says what to do, holds nobody up, and
// needs no restart.
func badInputs(w *world) {
	DescribeTable("A bad input",
		func(ctx SpecContext, do mischief) {
			operator := w.Operator.Pid
			r := w.newEmptyRoom(ctx)
			do(ctx, r)
			stillWorks(ctx, r)
			Expect(w.Operator.Pid).To(Equal(operator))
			Expect(w.Operator.Exited()).NotTo(BeClosed())
		},
		slices.Concat(badReferences(w), badTasks(w), badMessages(w), badDecisions(w), badTools(w), badControl(w), badModels(w)))
}

// stillWorks lets somebody else talk in the same namespace.
func stillWorks(ctx context.Context, r *room) {
	GinkgoHelper()
	r.create(ctx, MakeProvider("healthy", r.ModelURL).Obj(), MakeRole("healthy").Prompt("You are kind.").Obj(),
		MakeChat("healthy").Role("healthy").Provider("healthy").Obj(), MakeMessage("healthy").Chat("healthy").Content("Greet Health").Obj())
	Eventually(r.posts).WithContext(ctx).Should(HavePost(Saying("Hello, Health!"), ReplyingTo("healthy")))
}

// missing lets a chat wait for something, and go on when it appears.
func missing(reason, words string, setting, cure []client.Object, more ...func(context.Context, *room)) mischief {
	return func(ctx context.Context, r *room) {
		GinkgoHelper()
		r.create(ctx, copies(setting)...)
		r.say(ctx, "hello", "Greet Alice")
		Eventually(r.chat).WithContext(ctx).Should(BeDone(v1alpha1.ChatIdle, reason, words))
		Eventually(r.message("hello")).WithContext(ctx).Should(BeIn(v1alpha1.MessagePending))
		r.create(ctx, copies(cure)...)
		for _, do := range more {
			do(ctx, r)
		}
		Eventually(r.posts).WithContext(ctx).Should(HavePost(Saying("Hello, Alice!"), ReplyingTo("hello")))
		Eventually(r.chat).WithContext(ctx).Should(BeDone(v1alpha1.ChatIdle, v1alpha1.ReasonReady))
	}
}

// copies are objects that can be created once more: a table is written once and played with both ledgers.
func copies(objects []client.Object) []client.Object {
	fresh := make([]client.Object, len(objects))
	for i, o := range objects {
		fresh[i] = o.DeepCopyObject().(client.Object)
	}
	return fresh
}

// several is a list of objects.
func several(objects ...client.Object) []client.Object { return objects }
