// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// conversation is a chat in its own namespace, with a model.
type conversation struct{ namespace string }

func newConversation() conversation {
	GinkgoHelper()
	c := conversation{newNamespace(nil)}
	c.provide()
	Expect(api.Create(ctx, &v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "chat"}})).To(Succeed())
	return c
}

func (c conversation) provide() {
	GinkgoHelper()
	Expect(api.Create(ctx, secret(c.namespace, "model-key", "key", "right"))).To(Succeed())
	p := &v1beta1.ModelProvider{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "default"}}
	p.Spec.BaseURL, p.Spec.DefaultModel = modelURL, "scripted"
	p.Spec.APIKeyRef = &v1beta1.SecretKeyRef{Name: "model-key", Key: "key"}
	Expect(api.Create(ctx, p)).To(Succeed())
}

func (c conversation) write(name string, spec v1beta1.AgentMessageSpec) {
	GinkgoHelper()
	if spec.StandaloneTask() == "" {
		spec.Chat = "chat"
	}
	if spec.Content == "" {
		spec.User = "alice"
	}
	Expect(api.Create(ctx, &v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name}, Spec: spec})).To(Succeed())
}

func (c conversation) say(name, text string) {
	GinkgoHelper()
	c.write(name, v1beta1.AgentMessageSpec{Content: text})
}

// posts returns the messages of the main chat that are not from the user, as "Role inReplyTo about: content".
func (c conversation) posts() ([]string, error) {
	var list v1beta1.AgentMessageList
	if err := api.List(ctx, &list, client.InNamespace(c.namespace)); err != nil {
		return nil, err
	}
	var posts []string
	for _, m := range list.Items {
		if m.Spec.Role != v1beta1.RoleUser {
			posts = append(posts, strings.Join([]string{string(m.Spec.Role), m.Spec.InReplyTo, m.Spec.Task + ":", m.Spec.Content}, " "))
		}
	}
	return posts, nil
}

func (c conversation) task(name string) func() (string, error) {
	return func() (string, error) {
		var task v1beta1.AgentTask
		err := api.Get(ctx, types.NamespacedName{Namespace: c.namespace, Name: name}, &task)
		return string(task.Status.Phase), client.IgnoreNotFound(err)
	}
}

func (c conversation) messagePhase(name string) func() (string, error) {
	return func() (string, error) {
		var m v1beta1.AgentMessage
		err := api.Get(ctx, types.NamespacedName{Namespace: c.namespace, Name: name}, &m)
		return string(m.Status.Phase) + ": " + m.Status.Reason, err
	}
}

var _ = Describe("A standalone task", func() {
	It("of type Tool runs at once", func() {
		ns := newNamespace(nil)
		task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "sum"}}
		task.Spec = v1beta1.AgentTaskSpec{Type: v1beta1.TaskTool, Tool: "calculator", Arguments: &runtime.RawExtension{Raw: []byte(`{"expression":"6*7"}`)}}
		Expect(api.Create(ctx, task)).To(Succeed())
		c := conversation{ns}
		Eventually(c.task("sum")).Should(Equal("Success"))
		Expect(api.Get(ctx, client.ObjectKeyFromObject(task), task)).To(Succeed())
		Expect(task.Status.Result.Summary).To(Equal("42"))
	})

	It("that is created cancelled starts and ends in the ledger, and does nothing", func() {
		c := newConversation()
		task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "never"}}
		task.Spec = v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent, Role: "researcher", Instruction: "Find out.", Cancel: true}
		Expect(api.Create(ctx, task)).To(Succeed())
		Eventually(c.task("never")).Should(Equal("Cancelled"))
		Expect(api.Get(ctx, client.ObjectKeyFromObject(task), task)).To(Succeed())
		Expect(task.Status.SubAgent).To(Equal("never"), "its status names the sub-agent")
		Expect(task.Status.Usage).To(BeZero(), "no model call was made")
	})

	It("of type Agent asks, is answered, and succeeds", func() {
		c := conversation{newNamespace(nil)}
		c.provide()
		task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "releases"}}
		task.Spec = v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent, Role: "researcher", Instruction: "Summarise the releases of this year."}
		Expect(api.Create(ctx, task)).To(Succeed())
		Eventually(c.task("releases")).Should(Equal("Waiting"))
		c.write("answer", v1beta1.AgentMessageSpec{Task: "releases", Content: "It is 2024"})
		Eventually(c.task("releases")).Should(Equal("Success"))
		Eventually(c.messagePhase("answer")).Should(Equal("Handled: Handled"))
	})
})
