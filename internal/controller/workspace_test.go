// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// newFiles creates a directory with notes below localRoot.
func newFiles() string {
	GinkgoHelper()
	dir, err := os.MkdirTemp(localRoot, "files-")
	Expect(err).NotTo(HaveOccurred())
	Expect(os.Mkdir(filepath.Join(dir, "lists"), 0o755)).To(Succeed())
	Expect(os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("buy milk\n"), 0o644)).To(Succeed())
	return dir
}

// inDirectory creates a chat whose workspace is a directory of this machine.
func inDirectory(dir string) (conversation, *v1beta1.AgentChat) {
	GinkgoHelper()
	c := conversation{newNamespace(nil)}
	c.provide()
	chat := &v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "chat"}}
	chat.Spec.Workspace = &v1beta1.Workspace{Directory: &v1beta1.DirectorySource{Path: dir}}
	Expect(api.Create(ctx, chat)).To(Succeed())
	return c, chat
}

func (c conversation) asked(task string) *v1beta1.ChatWaitingItem {
	GinkgoHelper()
	var found *v1beta1.ChatWaitingItem
	Eventually(func() (*v1beta1.ChatWaitingItem, error) {
		var chat v1beta1.AgentChat
		err := api.Get(ctx, types.NamespacedName{Namespace: c.namespace, Name: "chat"}, &chat)
		for i := range chat.Status.Waiting {
			if chat.Status.Waiting[i].Task == task {
				found = &chat.Status.Waiting[i]
			}
		}
		return found, err
	}).ShouldNot(BeNil())
	Expect(found.Kind).To(Equal(v1beta1.WaitingApproval))
	return found
}

var _ = Describe("A chat with a directory", func() {
	It("shows an agent the files that it was asked about (context Selective)", func() {
		c, _ := inDirectory(newFiles())
		c.say("hello", "Show the notes to somebody")
		Eventually(c.task("chat-1")).Should(Equal("Success"))
		var sub v1beta1.SubAgent
		Eventually(func() (v1beta1.SubAgentPhase, error) {
			err := api.Get(ctx, types.NamespacedName{Namespace: c.namespace, Name: "chat-1"}, &sub)
			return sub.Status.Phase, err
		}).Should(Equal(v1beta1.SubAgentCompleted))
		Expect(sub.Status.Result.Summary).To(Equal("It was shown: buy milk."))
	})

	It("lets its orchestrator read it, and a command run once it is approved", func() {
		c, _ := inDirectory(newFiles())
		c.say("hello", "Read the notes")
		Eventually(c.posts).Should(ContainElement("Assistant hello : The notes say: buy milk."))

		c.say("run", "Run a command")
		c.asked("chat-2")
		c.write("yes", v1beta1.AgentMessageSpec{Approval: &v1beta1.Approval{Task: "chat-2", Decision: v1beta1.DecisionApprove}})
		Eventually(c.posts).Should(ContainElement("Assistant run : Bash said hello."))
	})

	It("lets a sub-agent write in its working directory after an approval", func() {
		dir := newFiles()
		c, _ := inDirectory(dir)
		c.say("hello", "Write a list")
		waiting := c.asked("chat-1")
		Expect(waiting.ToolCall).NotTo(BeEmpty())
		written := filepath.Join(dir, "lists", "today.txt")
		Expect(written).NotTo(BeAnExistingFile())
		c.write("yes", v1beta1.AgentMessageSpec{Approval: &v1beta1.Approval{Task: "chat-1", ToolCall: waiting.ToolCall, Decision: v1beta1.DecisionApprove}})
		Eventually(c.posts).Should(ContainElement("Assistant hello : The coder has written the list."))
		Expect(os.ReadFile(written)).To(BeEquivalentTo("milk\n"))
	})

	It("waits until the directory exists, and reports it", func() {
		dir := filepath.Join(localRoot, "later")
		c, chat := inDirectory(dir)
		c.say("hello", "Read the notes")
		Eventually(ready(chat)).
			Should(HavePrefix("False WorkspaceUnavailable: The operator cannot open the directory " + dir))
		Expect(os.Rename(newFiles(), dir)).To(Succeed())
		Eventually(c.posts).Should(ContainElement("Assistant hello : The notes say: buy milk."))
	})

	It("waits if the operator may not serve the directory", func() {
		_, chat := inDirectory("/etc")
		Eventually(ready(chat)).
			Should(And(HavePrefix("False WorkspaceUnavailable: "), ContainSubstring("--local-workspaces")))
	})
})

var _ = Describe("A chat without a workspace", func() {
	It("has no files", func() {
		c := newConversation()
		c.say("hello", "Read the notes")
		Eventually(c.posts).Should(ContainElement("Assistant hello : I have no files."))
	})
})

var _ = Describe("A chat whose workspace needs a pod", func() {
	It("waits while the operator has no workspace image", func() {
		c := conversation{newNamespace(nil)}
		c.provide()
		chat := &v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "chat"}}
		chat.Spec.Workspace = &v1beta1.Workspace{EmptyDir: &v1beta1.EmptyDirSource{}}
		Expect(api.Create(ctx, chat)).To(Succeed())
		Eventually(ready(chat)).
			Should(Equal("False WorkspaceUnavailable: This operator runs no workspace pods: start it with --workspace-image."))
	})
})

var _ = Describe("A standalone task with a directory", func() {
	It("runs a tool in the requested working directory", func() {
		dir := newFiles()
		c := conversation{newNamespace(nil)}
		task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "write"}}
		task.Spec = v1beta1.AgentTaskSpec{
			Type: v1beta1.TaskTool, Tool: "write", Arguments: &runtime.RawExtension{Raw: []byte(`{"path":"a.txt","content":"b"}`)},
			Workspace: &v1beta1.Workspace{Directory: &v1beta1.DirectorySource{Path: dir}}, WorkingDir: "lists",
		}
		Expect(api.Create(ctx, task)).To(Succeed())
		Eventually(c.task("write")).Should(Equal("Success"))
		Expect(os.ReadFile(filepath.Join(dir, "lists", "a.txt"))).To(BeEquivalentTo("b"))
		Expect(api.Get(ctx, client.ObjectKeyFromObject(task), task)).To(Succeed())
	})
})
