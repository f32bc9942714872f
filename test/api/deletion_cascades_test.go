// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	nestor "github.com/nestor-dev/nestor/api/v1beta1"
)

// testFinalizer is a finalizer that delays the deletion of an object, to observe what the others wait for.
const testFinalizer = "nestor.dev/test-hold"

var _ = Describe("Deleting a chat", func() {
	var tree, other []client.Object

	BeforeEach(func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		tree = makeTree(ctx, namespace, "chat")
		other = makeTree(ctx, namespace, "other")
	})

	AfterEach(func(ctx SpecContext) {
		for _, object := range other {
			Expect(exists(ctx, object)).To(BeTrue(), "%T of another chat", object)
		}
	})

	It("removes its whole tree", func(ctx SpecContext) {
		Expect(api.Delete(ctx, tree[0])).To(Succeed())
		expectGone(ctx, tree...)
	})

	It("removes the chat first and then the tree, with background propagation", func(ctx SpecContext) {
		chat, deepest := tree[0], tree[len(tree)-1]
		addFinalizer(ctx, deepest)
		Expect(api.Delete(ctx, chat, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		expectGone(ctx, tree[:len(tree)-1]...)
		Eventually(beingDeleted).WithContext(ctx).WithArguments(deepest).Should(BeTrue())
		removeFinalizer(ctx, deepest)
		expectGone(ctx, deepest)
	})

	It("removes the tree first and the chat at the end, with foreground propagation", func(ctx SpecContext) {
		chat, deepest := tree[0], tree[len(tree)-1]
		addFinalizer(ctx, deepest)
		Expect(api.Delete(ctx, chat, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
		Eventually(beingDeleted).WithContext(ctx).WithArguments(deepest).Should(BeTrue())
		for _, ancestor := range tree[:len(tree)-1] {
			Expect(beingDeleted(ctx, ancestor)).To(BeTrue(), "%T waits for what it owns", ancestor)
		}
		removeFinalizer(ctx, deepest)
		expectGone(ctx, tree...)
	})

	It("keeps the tree with orphan propagation", func(ctx SpecContext) {
		Expect(api.Delete(ctx, tree[0], client.PropagationPolicy(metav1.DeletePropagationOrphan))).To(Succeed())
		expectGone(ctx, tree[0])
		for _, object := range tree[1:] {
			Expect(exists(ctx, object)).To(BeTrue(), "%T", object)
		}
	})
})

// makeTree creates chat > task > sub-agent > task > sub-agent, each with a controller reference to the previous one.
func makeTree(ctx context.Context, namespace, chat string) []client.Object {
	GinkgoHelper()
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{nestor.LabelChat: chat}}
	}
	tree := []client.Object{&nestor.AgentChat{ObjectMeta: meta(chat)}}
	parent := ""
	for depth := int32(1); depth <= 2; depth++ {
		name := fmt.Sprintf("%s-%d", chat, depth)
		tree = append(tree,
			&nestor.AgentTask{ObjectMeta: meta(name), Spec: nestor.AgentTaskSpec{
				Chat: chat, Type: nestor.TaskAgent, Role: "general", Instruction: "Do it.",
			}},
			&nestor.SubAgent{ObjectMeta: meta(name), Spec: nestor.SubAgentSpec{
				Chat: chat, Task: name, Parent: parent, Role: "general", Depth: depth, Instruction: "Do it.",
			}},
		)
		parent = name
	}
	for i, object := range tree {
		if i > 0 {
			Expect(controllerutil.SetControllerReference(tree[i-1], object, api.Scheme())).To(Succeed())
		}
		Expect(api.Create(ctx, object)).To(Succeed())
	}
	return tree
}

func addFinalizer(ctx context.Context, object client.Object) {
	GinkgoHelper()
	controllerutil.AddFinalizer(object, testFinalizer)
	Expect(api.Update(ctx, object)).To(Succeed())
}

// removeFinalizer removes the finalizer. It retries, because the garbage collector writes the object too.
func removeFinalizer(ctx context.Context, object client.Object) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(api.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
		controllerutil.RemoveFinalizer(object, testFinalizer)
		g.Expect(api.Update(ctx, object)).To(Succeed())
	}).Should(Succeed())
}

func exists(ctx context.Context, object client.Object) (bool, error) {
	err := api.Get(ctx, client.ObjectKeyFromObject(object), object)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

func beingDeleted(ctx context.Context, object client.Object) (bool, error) {
	found, err := exists(ctx, object)
	return found && object.GetDeletionTimestamp() != nil, err
}

func expectGone(ctx context.Context, objects ...client.Object) {
	GinkgoHelper()
	for _, object := range objects {
		Eventually(exists).WithContext(ctx).WithArguments(object).Should(BeFalse(), "%T %s", object, object.GetName())
	}
}
