// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/controller/workspace"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/tool/workspace/pod"
)

// used starts the pod of a workspace with a call that writes a file, and returns the pod and its directory.
func (r chatWorkspace) used(content string) (*corev1.Pod, string) {
	GinkgoHelper()
	done := r.call(workspaces, "write", `{"path":"notes.txt","content":"`+content+`"}`)
	p := r.pod("")
	root := r.start(p)
	Expect(finished(done).Failure).To(BeEmpty())
	return p, root
}

// stopped waits until an idle pod was stopped.
func (r chatWorkspace) stopped() {
	GinkgoHelper()
	clock.advance(time.Hour)
	r.touch()
	r.waitForPodGone()
}

// staleChats is a cache in which no chat has a status.
type staleChats struct{ client.Client }

func (c staleChats) Get(ctx context.Context, name client.ObjectKey, object client.Object, options ...client.GetOption) error {
	err := c.Client.Get(ctx, name, object, options...)
	if chat, ok := object.(*v1beta1.AgentChat); ok {
		chat.Status = v1beta1.AgentChatStatus{}
	}
	return err
}

func (r chatWorkspace) setPhase(phase v1beta1.ChatPhase) {
	GinkgoHelper()
	Eventually(func() error {
		if err := api.Get(ctx, r.key(), r.chat); err != nil {
			return err
		}
		r.chat.Status.Phase = phase
		return api.Status().Update(ctx, r.chat)
	}).Should(Succeed())
}

func (r chatWorkspace) key() types.NamespacedName {
	return types.NamespacedName{Namespace: r.chat.Namespace, Name: r.chat.Name}
}

// keptCondition returns the condition of the chat, or nil.
func (r chatWorkspace) keptCondition() *metav1.Condition {
	GinkgoHelper()
	Expect(api.Get(ctx, r.key(), r.chat)).To(Succeed())
	return meta.FindStatusCondition(r.chat.Status.Conditions, v1beta1.ConditionWorkspaceChangesLost)
}

func (r chatWorkspace) keptText() func() (string, error) {
	return func() (string, error) {
		w, err := store.WorkspaceOf(ctx, string(r.chat.UID))
		return string(w.Summary) + string(w.Archive), err
	}
}

var _ = Describe("The changes of a workspace that stops", func() {
	It("are kept, and restored before the first call of the next pod", func() {
		r := newChatWorkspace(empty)
		p, _ := r.used("buy milk")
		r.stopped()
		Expect(r.keptText()()).To(ContainSubstring("buy milk"))

		done := r.call(workspaces, "read", `{"path":"notes.txt"}`)
		root := r.start(r.pod(p.UID))
		result := finished(done)
		Expect(result.Text).To(And(ContainSubstring("buy milk"), ContainSubstring("as they were saved at")))

		By("the operator crashes, and the next one does not restore again")
		Expect(os.WriteFile(filepath.Join(root, "later.txt"), []byte("x"), 0o600)).To(Succeed())
		next, err := workspace.New(restarted)
		Expect(err).NotTo(HaveOccurred())
		Expect(finished(r.call(next, "read", `{"path":"later.txt"}`)).Failure).To(BeEmpty())
	})

	It("are kept when its chat pauses, so that a lost pod loses little", func() {
		r := newChatWorkspace(empty)
		r.setPhase(v1beta1.ChatRunning)
		r.used("first")
		r.setPhase(v1beta1.ChatWaiting)
		Eventually(r.keptText()).Should(ContainSubstring("first"))
		Expect(finished(r.call(workspaces, "write", `{"path":"notes.txt","content":"second"}`)).Failure).To(BeEmpty())
		r.setPhase(v1beta1.ChatIdle)
		Eventually(r.keptText()).Should(ContainSubstring("second"))
	})

	It("are reported if they are too large", func() {
		r := newChatWorkspace(empty)
		p, root := r.used("buy milk")
		Expect(os.WriteFile(filepath.Join(root, "large.bin"), make([]byte, 33<<20), 0o600)).To(Succeed())
		r.stopped()
		Expect(r.keptText()()).To(And(ContainSubstring(`"notKept":true`), ContainSubstring("large.bin"), ContainSubstring("notes.txt")))
		Expect(r.keptCondition()).To(And(HaveField("Status", metav1.ConditionTrue), HaveField("Reason", v1beta1.ReasonWorkspaceTooLarge),
			HaveField("Message", ContainSubstring("large.bin")), HaveField("ObservedGeneration", r.chat.Generation)))
		Eventually(events.Events).Should(Receive(And(ContainSubstring(workspace.ReasonNotKept), ContainSubstring("large.bin"))))
		done := r.call(workspaces, "ls", `{}`)
		r.start(r.pod(p.UID))
		Expect(finished(done).Text).To(And(ContainSubstring("were not saved"), ContainSubstring("large.bin"), Not(ContainSubstring("notes.txt"))))

		By("the changes fit again")
		Expect(r.keptCondition()).NotTo(BeNil())
		Expect(finished(r.call(workspaces, "write", `{"path":"notes.txt","content":"small"}`)).Failure).To(BeEmpty())
		r.stopped()
		Expect(r.keptText()()).To(ContainSubstring("small"))
		Expect(r.keptCondition()).To(BeNil())
	})

	It("keep it running while they cannot be read, for a limited time", func() {
		r := newChatWorkspace(empty)
		p, _ := r.used("buy milk")
		network.answer(r.name(), func(rw http.ResponseWriter, _ *http.Request) {
			http.Error(rw, "broken", http.StatusInternalServerError)
		})
		clock.advance(time.Hour)
		r.touch()
		Consistently(r.podUIDs, "500ms").Should(HaveExactElements(p.UID))
		clock.advance(11 * time.Minute)
		r.touch()
		r.waitForPodGone()
		Expect(r.keptText()()).To(ContainSubstring("broken"))
		Expect(r.keptCondition()).To(And(HaveField("Reason", v1beta1.ReasonWorkspaceNotKept), HaveField("Message", ContainSubstring("broken"))))
	})

	It("never replace what was kept earlier if they are not kept themselves", func() {
		r := newChatWorkspace(empty)
		r.setPhase(v1beta1.ChatRunning)
		p, root := r.used("buy milk")
		r.setPhase(v1beta1.ChatWaiting)
		Eventually(r.keptText()).Should(ContainSubstring("buy milk"))
		Expect(finished(r.call(workspaces, "write", `{"path":"notes.txt","content":"buy bread"}`)).Failure).To(BeEmpty())
		Expect(os.WriteFile(filepath.Join(root, "large.bin"), make([]byte, 33<<20), 0o600)).To(Succeed())
		r.setPhase(v1beta1.ChatIdle)
		r.stopped()
		Expect(r.keptText()()).To(And(ContainSubstring("buy milk"), ContainSubstring("were not saved"), ContainSubstring("large.bin"), Not(ContainSubstring("tooLarge"))))
		Expect(r.keptCondition()).To(And(HaveField("Reason", v1beta1.ReasonWorkspaceTooLarge), HaveField("Message", HavePrefix("Changes after"))))

		done := r.call(workspaces, "read", `{"path":"notes.txt"}`)
		r.start(r.pod(p.UID))
		Expect(finished(done).Text).To(And(ContainSubstring("buy milk"), ContainSubstring("Changes after"), ContainSubstring("large.bin")))
	})

	It("fail the call if they cannot be restored, and stay kept", func() {
		r := newChatWorkspace(empty)
		Expect(store.KeepWorkspace(ctx, ledger.Workspace{Owner: string(r.chat.UID), Source: "EmptyDir", CapturedAt: time.Now(), Summary: []byte(`{}`), Archive: []byte("no tar")})).To(Succeed())
		done := r.call(workspaces, "ls", `{}`)
		r.start(r.pod(""))
		Expect(finished(done).Text).To(ContainSubstring("saved changes"))
		Expect(r.keptText()()).To(ContainSubstring("no tar"))
	})

	It("are restored although the pod cannot be reached at first", func() {
		r := newChatWorkspace(empty)
		done := r.call(workspaces, "ls", `{}`)
		network.refuse(r.name(), 2)
		r.start(r.pod(""))
		Expect(finished(done).Failure).To(BeEmpty())
	})

	It("are relative to the commit that was cloned", func() {
		r := newChatWorkspace(v1beta1.Workspace{Git: &v1beta1.GitSource{URL: "https://git.example.com/a.git", Ref: "main"}})
		commit := strings.Repeat("ab", 20)
		Expect(store.KeepWorkspace(ctx, ledger.Workspace{Owner: string(r.chat.UID), Source: "Git", CapturedAt: time.Now(), Summary: []byte(`{"baseCommit":"` + commit + `"}`)})).To(Succeed())
		r.call(workspaces, "ls", `{}`)
		Expect(r.pod("").Spec.InitContainers[0].Args).To(ContainElement("--commit=" + commit))
		Expect(r.pod("").Spec.Containers[0].Args).To(ContainElement(pod.WaitForRestore))
	})
})

var _ = Describe("A workspace of a chat that waits", func() {
	retained := empty
	retained.RetainSeconds = new(int32(7200))

	It("is not stopped by the idle timeout before retainSeconds", func() {
		r := newChatWorkspace(retained)
		r.setPhase(v1beta1.ChatWaiting)
		p, _ := r.used("buy milk")
		clock.advance(time.Hour)
		r.touch()
		stale := *reconciler
		stale.Client = staleChats{reconciler.Client}
		Expect(stale.Reconcile(ctx, ctrl.Request{NamespacedName: r.name()})).To(HaveField("RequeueAfter", BeNumerically(">", 0)))
		Consistently(r.podUIDs, "500ms").Should(HaveExactElements(p.UID))
		By("but when the chat is idle")
		r.setPhase(v1beta1.ChatIdle)
		r.waitForPodGone()
	})

	It("is stopped after retainSeconds", func() {
		r := newChatWorkspace(retained)
		r.setPhase(v1beta1.ChatWaiting)
		r.used("buy milk")
		clock.advance(3 * time.Hour)
		r.touch()
		r.waitForPodGone()
	})
})

var _ = Describe("A fork that begins right after its run", func() {
	It("has the files of the run's pod, which are not saved yet", func() {
		r := newChatWorkspace(empty)
		r.setPhase(v1beta1.ChatRunning)
		r.used("buy milk")
		fork := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: r.chat.Namespace, Name: "fork", UID: "fork-of-" + r.chat.UID}}
		fork.Spec.Workspace = &empty
		run := workspace.RecordedRun{Agent: string(r.chat.UID), Owner: r.chat, EndTime: clock.Now()}
		Expect(workspaces.BeginFork(ctx, fork, "fork-agent", run)).To(Equal(workspace.ForkFiles{Changes: true}))
		kept, err := store.WorkspaceOf(ctx, string(fork.UID))
		Expect(err).NotTo(HaveOccurred())
		Expect(string(kept.Archive)).To(ContainSubstring("buy milk"))
		Expect(kept.Agent).To(Equal("fork-agent"))
	})
})
