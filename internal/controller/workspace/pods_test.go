// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/controller/workspace"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/workspace/pod"
	"github.com/nestor-dev/nestor/test/patience"
)

// chatWorkspace is a chat with a workspace. This suite acts as its pod's node.
type chatWorkspace struct {
	chat *v1beta1.AgentChat
}

func newChatWorkspace(w v1beta1.Workspace) chatWorkspace {
	GinkgoHelper()
	return newChatWorkspaceIn(newNamespace(), w)
}

func newChatWorkspaceIn(namespace string, w v1beta1.Workspace) chatWorkspace {
	GinkgoHelper()
	chat := &v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "chat"}}
	chat.Spec.Workspace = &w
	Expect(api.Create(ctx, chat)).To(Succeed())
	return chatWorkspace{chat}
}

func (r chatWorkspace) agent() ledger.Agent {
	return ledger.Agent{UID: string(r.chat.UID), Root: string(r.chat.UID), Kind: "AgentChat", Namespace: r.chat.Namespace, Name: r.chat.Name, Chat: r.chat.Name}
}

// call runs a tool like the engine, and returns its result.
func (r chatWorkspace) call(w *workspace.Workspaces, name, arguments string) <-chan tool.Result {
	GinkgoHelper()
	var set tool.Set
	Eventually(func() (err error) {
		set, err = w.ToolsOf(ctx, r.agent())
		return err
	}).Should(Succeed())
	done := make(chan tool.Result, 1)
	go func() {
		done <- tool.Executor{}.Execute(ctx, set, tool.Invocation{ID: "1", Name: name, Arguments: []byte(arguments), Agent: string(r.chat.UID)})
	}()
	return done
}

func finished(done <-chan tool.Result) tool.Result {
	GinkgoHelper()
	var result tool.Result
	Eventually(done).Should(Receive(&result))
	return result
}

func (r chatWorkspace) name() types.NamespacedName {
	return types.NamespacedName{Namespace: r.chat.Namespace, Name: pod.Spec{Owner: pod.Owner{Name: r.chat.Name, UID: string(r.chat.UID)}}.Name()}
}

// pod waits for a pod with another UID than the given one.
func (r chatWorkspace) pod(not types.UID) *corev1.Pod {
	GinkgoHelper()
	found := &corev1.Pod{}
	Eventually(func(g Gomega) {
		g.Expect(api.Get(ctx, r.name(), found)).To(Succeed())
		g.Expect(found.UID).NotTo(Equal(not))
	}).Should(Succeed())
	return found
}

func (r chatWorkspace) podUIDs() []types.UID {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(api.List(ctx, &pods, client.InNamespace(r.chat.Namespace))).To(Succeed())
	var uids []types.UID
	for _, p := range pods.Items {
		uids = append(uids, p.UID)
	}
	return uids
}

// start runs a pod like a node, and returns the directory that it serves.
func (r chatWorkspace) start(p *corev1.Pod) string {
	GinkgoHelper()
	var secret corev1.Secret
	Expect(api.Get(ctx, r.name(), &secret)).To(Succeed())
	root := network.run(r.chat.Namespace, r.name().Name, string(secret.Data[pod.TokenKey]), slices.Contains(p.Spec.Containers[0].Args, pod.WaitForRestore))
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	Expect(api.Status().Update(ctx, p)).To(Succeed())
	return root
}

// touch triggers a reconcile of a pod.
func (r chatWorkspace) touch() {
	GinkgoHelper()
	Eventually(r.touched).Should(Succeed())
}

func (r chatWorkspace) touched() error {
	var found corev1.Pod
	if err := api.Get(ctx, r.name(), &found); err != nil {
		return client.IgnoreNotFound(err)
	}
	metav1.SetMetaDataAnnotation(&found.ObjectMeta, "touched", clock.Now().String())
	return client.IgnoreNotFound(api.Update(ctx, &found))
}

func (r chatWorkspace) waitForPodGone() {
	GinkgoHelper()
	Eventually(func() bool {
		return client.IgnoreNotFound(api.Get(ctx, r.name(), &corev1.Pod{})) == nil && api.Get(ctx, r.name(), &corev1.Pod{}) != nil
	}).Should(BeTrue())
	// Until the controller has seen it, a call would use the session with the deleted pod.
	Eventually(workspaces.InSession).WithArguments(r.name()).Should(BeFalse())
}

var empty = v1beta1.Workspace{EmptyDir: &v1beta1.EmptyDirSource{SizeLimit: "1Gi"}}

var _ = Describe("A workspace pod", func() {
	It("starts with the first call, is owned by its chat, and is deleted with it", func() {
		r := newChatWorkspace(empty)
		done := r.call(workspaces, "ls", `{}`)
		p := r.pod("")
		for _, object := range []client.Object{p, &corev1.Service{}, &corev1.Secret{}, &networkingv1.NetworkPolicy{}} {
			Expect(api.Get(ctx, r.name(), object)).To(Succeed())
			Expect(metav1.IsControlledBy(object, r.chat)).To(BeTrue(), "%T", object)
			Expect(object.GetLabels()).To(HaveKeyWithValue(v1beta1.LabelChat, "chat"))
		}
		Expect(p.Spec.Containers[0].Image).To(Equal("example.com/nestor-workspace:test"))
		root := r.start(p)
		Expect(finished(done).Failure).To(BeEmpty())

		Expect(os.WriteFile(filepath.Join(root, "notes.txt"), []byte("buy milk\n"), 0o644)).To(Succeed())
		result := finished(r.call(workspaces, "read", `{"path":"notes.txt"}`))
		Expect(result.Text).To(And(ContainSubstring("buy milk"), Not(ContainSubstring("anew"))))

		Expect(api.Delete(ctx, r.chat)).To(Succeed())
		r.waitForPodGone()
		for _, object := range []client.Object{&corev1.Service{}, &corev1.Secret{}, &networkingv1.NetworkPolicy{}} {
			Eventually(func() error { return client.IgnoreNotFound(api.Get(ctx, r.name(), object)) }).Should(Succeed())
			Eventually(func() error { return api.Get(ctx, r.name(), object) }).ShouldNot(Succeed())
		}
	})

	It("is created once for concurrent calls", func() {
		r := newChatWorkspace(empty)
		var all []<-chan tool.Result
		for range 5 {
			all = append(all, r.call(workspaces, "ls", `{}`))
		}
		p := r.pod("")
		r.start(p)
		for _, done := range all {
			Expect(finished(done).Failure).To(BeEmpty())
		}
		Expect(r.podUIDs()).To(HaveExactElements(p.UID), "one pod serves all calls")
	})

	It("is removed when idle, and recreated by the next call", func() {
		r := newChatWorkspace(v1beta1.Workspace{EmptyDir: &v1beta1.EmptyDirSource{}, IdleTimeoutSeconds: 600})
		done := r.call(workspaces, "ls", `{}`)
		first := r.pod("")
		r.start(first)
		Expect(finished(done).Failure).To(BeEmpty())
		clock.advance(9 * time.Minute)
		result, err := reconciler.Reconcile(ctx, ctrl.Request{NamespacedName: r.name()})
		Expect(err).NotTo(HaveOccurred())
		Expect(result.RequeueAfter).To(BeNumerically(">", 0), "the pod is checked again when it may be idle for long enough")
		Expect(r.pod("").DeletionTimestamp).To(BeNil())
		clock.advance(2 * time.Minute)
		r.touch()
		r.waitForPodGone()
		Expect(api.Get(ctx, r.name(), &corev1.Secret{})).To(Succeed())

		done = r.call(workspaces, "ls", `{}`)
		r.start(r.pod(first.UID))
		Expect(finished(done).Text).To(ContainSubstring("restarted"))
		Expect(finished(r.call(workspaces, "ls", `{}`)).Text).NotTo(ContainSubstring("restarted"))
	})

	It("is recreated after an eviction, for a waiting call and for the next one", func() {
		r := newChatWorkspace(empty)
		done := r.call(workspaces, "ls", `{}`)
		first := r.pod("")
		first.Status.Phase, first.Status.Reason, first.Status.Message = corev1.PodFailed, "Evicted", "The node was low on memory."
		Expect(api.Status().Update(ctx, first)).To(Succeed())
		second := r.pod(first.UID)
		r.start(second)
		Expect(finished(done).Failure).To(BeEmpty())

		Expect(api.Delete(ctx, second)).To(Succeed())
		r.waitForPodGone()
		done = r.call(workspaces, "ls", `{}`)
		r.start(r.pod(second.UID))
		Expect(finished(done).Failure).To(BeEmpty())
	})

	It("reports to the model that it was lost during a call", func() {
		r := newChatWorkspace(empty)
		done := r.call(workspaces, "ls", `{}`)
		first := r.pod("")
		r.start(first)
		Expect(finished(done).Failure).To(BeEmpty())
		network.interceptCalls(func(*http.Request, func()) error {
			var found corev1.Pod
			if err := api.Get(ctx, r.name(), &found); err == nil && found.UID == first.UID {
				_ = api.Delete(ctx, &found) // the call is interrupted either way
			}
			// The controller has handled it when it has ended the session, which it does last.
			sessionEnded := func(context.Context) (bool, error) { return !workspaces.InSession(r.name()), nil }
			return errors.Join(errors.New("connection reset by peer"), wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, patience.Limit(), true, sessionEnded))
		})
		DeferCleanup(func() { network.interceptCalls(nil) })
		Expect(finished(r.call(workspaces, "ls", `{}`)).Text).To(And(
			MatchRegexp("the workspace's pod (was|is being) removed"), ContainSubstring("Changes since its files were last saved are lost; the next call starts it again with the saved files")))

		network.interceptCalls(nil)
		done = r.call(workspaces, "ls", `{}`)
		r.start(r.pod(first.UID))
		Expect(finished(done).Text).To(ContainSubstring("restarted"))
	})

	It("is removed from a lost node", func() {
		r := newChatWorkspace(empty)
		done := r.call(workspaces, "ls", `{}`)
		first := r.pod("")
		Expect(api.SubResource("binding").Create(ctx, first, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "lost"}})).To(Succeed())
		Expect(api.Get(ctx, r.name(), first)).To(Succeed())
		// The API server ends a pod at once if its cache does not contain the binding yet. This read waits for the cache.
		Expect(api.Get(ctx, r.name(), first, &client.GetOptions{Raw: &metav1.GetOptions{ResourceVersion: first.ResourceVersion}})).To(Succeed())
		Expect(api.Delete(ctx, first)).To(Succeed()) // like the node controller; the node cannot confirm it
		Expect(api.Get(ctx, r.name(), first)).To(Succeed())
		clock.advance(2 * time.Minute)
		r.touch()
		r.start(r.pod(first.UID))
		Expect(finished(done).Failure).To(BeEmpty())
	})

	It("reports to the model that it does not start, and that nothing was run", func() {
		r := newChatWorkspace(v1beta1.Workspace{Git: &v1beta1.GitSource{URL: "https://git.example.com/team/app.git"}})
		result := finished(r.call(shortTimeout, "write", `{"path":"a","content":"b"}`))
		Expect(result.Text).To(And(ContainSubstring("not ready after 300ms, and nothing was run"), ContainSubstring("Try again later")))
		Expect(result.OutcomeUnknown).To(BeFalse())

		done := r.call(workspaces, "ls", `{}`)
		p := r.pod("")
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "clone", RestartCount: 2, LastTerminationState: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: "fatal: repository not found"}}}}
		Expect(api.Status().Update(ctx, p)).To(Succeed())
		Expect(finished(done).Text).To(ContainSubstring("the repository cannot be cloned: fatal: repository not found"))
	})

	It("does not trust a foreign token", func() {
		r := newChatWorkspace(empty)
		planted := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.name().Namespace, Name: r.name().Name}, StringData: map[string]string{pod.TokenKey: "known"}}
		Expect(api.Create(ctx, planted)).To(Succeed())
		Expect(finished(r.call(workspaces, "ls", `{}`)).Text).To(ContainSubstring("was not created by the operator: delete it"))
		Expect(api.Delete(ctx, planted)).To(Succeed())
		done := r.call(workspaces, "ls", `{}`)
		r.start(r.pod(""))
		Expect(finished(done).Failure).To(BeEmpty())
	})

	It("offers no writing tools on a read-only volume", func() {
		r := newChatWorkspace(v1beta1.Workspace{PersistentVolumeClaim: &v1beta1.ClaimSource{ClaimName: "sources", ReadOnly: true}})
		place, err := workspaces.Of(ctx, r.chat)
		Expect(err).NotTo(HaveOccurred())
		Expect(workspaces.Check(ctx, place)).To(MatchError(ContainSubstring(`needs the PersistentVolumeClaim "sources"`)))
		set, err := workspaces.Tools(place)
		Expect(err).NotTo(HaveOccurred())
		Expect(set.Names()).To(ConsistOf("read", "ls", "glob", "grep", "keyword_search", "read_image"))
	})
})
