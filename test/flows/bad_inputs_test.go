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

// mischief is a bad input together with its expected result.
type mischief func(context.Context, *room)

// badInputs are mistakes of people, models and tools. Each ends in a status that describes what to do, blocks no other agent, and
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

// stillWorks checks that another chat in the same namespace works.
func stillWorks(ctx context.Context, r *room) {
	GinkgoHelper()
	r.create(ctx, MakeProvider("healthy", r.ModelURL).Obj(), MakeRole("healthy").Prompt("You are kind.").Obj(),
		MakeChat("healthy").Role("healthy").Provider("healthy").Obj(), MakeMessage("healthy").Chat("healthy").Content("Greet Health").Obj())
	Eventually(r.posts).WithContext(ctx).Should(HavePost(Saying("Hello, Health!"), ReplyingTo("healthy")))
}

// missing checks that a chat waits for something, and continues when it appears.
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

// copies returns copies of objects that can be created again: the tables run with both ledgers.
func copies(objects []client.Object) []client.Object {
	fresh := make([]client.Object, len(objects))
	for i, o := range objects {
		fresh[i] = o.DeepCopyObject().(client.Object)
	}
	return fresh
}

// several returns a list of objects.
func several(objects ...client.Object) []client.Object { return objects }
