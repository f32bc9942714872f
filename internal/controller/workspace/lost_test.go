// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/tool"
)

var (
	cloned = v1beta1.Workspace{Git: &v1beta1.GitSource{URL: "https://git.example.com/team/app.git"}}
	volume = v1beta1.Workspace{PersistentVolumeClaim: &v1beta1.ClaimSource{ClaimName: "files"}}
)

const (
	outcomeUnknown = "It may have taken effect all the same: check before you call it again."
	emptied        = "Changes since its files were last saved are lost; the next call starts it again with the saved files"
	freshClone     = "Changes since they were last saved are lost; the next call starts it again with a fresh clone and the saved changes"
	onVolume       = "Its files are kept on a volume; the next call starts it again"
	stillThere     = "Its files are still there, but what ran in it has ended"
)

func (r chatWorkspace) claim() {
	GinkgoHelper()
	Expect(api.Create(ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.chat.Namespace, Name: "files", Labels: map[string]string{v1beta1.LabelWorkspace: "true"}},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	})).To(Succeed())
}

func open(w v1beta1.Workspace) (chatWorkspace, *corev1.Pod, string) {
	GinkgoHelper()
	r := newChatWorkspace(w)
	if w.PersistentVolumeClaim != nil {
		r.claim()
	}
	done := r.call(workspaces, "ls", `{}`)
	p := r.pod("")
	r.schedule(p)
	root := r.start(p)
	Expect(finished(done).Failure).To(BeEmpty())
	return r, p, root
}

// schedule assigns a pod to a node. From then on only the node, or force, deletes it.
func (r chatWorkspace) schedule(p *corev1.Pod) {
	GinkgoHelper()
	Expect(api.SubResource("binding").Create(ctx, p, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "node-1"}})).To(Succeed())
	Expect(api.Get(ctx, r.name(), p)).To(Succeed())
}

// report writes a pod's status like a node or a controller.
func (r chatWorkspace) report(change func(*corev1.PodStatus)) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		var found corev1.Pod
		if err := api.Get(ctx, r.name(), &found); err != nil {
			return err
		}
		change(&found.Status)
		return api.Status().Update(ctx, &found)
	})
}

// fail imitates a node that ends a pod.
func fail(reason, message string) func(chatWorkspace) error {
	return func(r chatWorkspace) error {
		return r.report(func(s *corev1.PodStatus) { s.Phase, s.Reason, s.Message = corev1.PodFailed, reason, message })
	}
}

// disrupt imitates a controller that removes a pod.
func disrupt(reason, message string) func(chatWorkspace) error {
	return func(r chatWorkspace) error {
		return errors.Join(r.report(func(s *corev1.PodStatus) {
			s.Conditions = append(s.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason, Message: message})
		}), r.remove())
	}
}

// remove deletes a pod; its node has not confirmed it yet.
func (r chatWorkspace) remove() error {
	return api.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: r.name().Namespace, Name: r.name().Name}})
}

// confirm imitates a node that confirms the end of a deleted pod.
func (r chatWorkspace) confirm() error {
	return client.IgnoreNotFound(api.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: r.name().Namespace, Name: r.name().Name}}, client.GracePeriodSeconds(0)))
}

// loseNode imitates what happens to the pod of a lost node.
func loseNode(r chatWorkspace) error {
	err := disrupt("DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint")(r)
	clock.advance(2 * time.Minute)
	return errors.Join(err, r.report(func(*corev1.PodStatus) {}), r.touched())
}

// killed imitates a node's report of a container that was killed and restarted.
func killed(reason string, code int32) func(chatWorkspace) error {
	return func(r chatWorkspace) error {
		return r.report(func(s *corev1.PodStatus) {
			s.ContainerStatuses = []corev1.ContainerStatus{{
				Name: "workspace", RestartCount: 1, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: reason, ExitCode: code}},
			}}
		})
	}
}

// cut lets the next tool call reach the workspace, damages it, and drops the answer: with a reset or, as when a
// machine is gone, silently. It counts the calls that reach the workspace.
func cut(r chatWorkspace, reset bool, damage func(chatWorkspace) error) *atomic.Int64 {
	reached := &atomic.Int64{}
	network.interceptCalls(func(request *http.Request, reach func()) error {
		reach()
		if reached.Add(1) > 1 {
			return errors.New("a second call")
		}
		if err := damage(r); err != nil {
			return err
		}
		if !reset {
			<-request.Context().Done()
		}
		return errors.New("connection reset by peer")
	})
	DeferCleanup(func() { network.interceptCalls(nil) })
	return reached
}

var _ = Describe("A workspace pod that is lost during a write", func() {
	const arguments = `{"path":"a.txt","edits":[{"old_string":"1","new_string":"12"}]}`

	// expectUnknown expects that the model is informed about the pod, the call and the files, and that the call is
	// not repeated.
	expectUnknown := func(r chatWorkspace, root string, reached *atomic.Int64, want ...string) {
		GinkgoHelper()
		Expect(os.WriteFile(filepath.Join(root, "a.txt"), []byte("1"), 0o600)).To(Succeed())
		result := finished(r.call(workspaces, "patch", arguments))
		Expect(result.OutcomeUnknown).To(BeTrue(), result.Text)
		for _, w := range append(want, outcomeUnknown) {
			Expect(result.Text).To(ContainSubstring(w))
		}
		Expect(reached.Load()).To(BeEquivalentTo(1))
		Expect(os.ReadFile(filepath.Join(root, "a.txt"))).To(BeEquivalentTo("12"), "it had run, once")
		network.interceptCalls(nil)
	}

	DescribeTable("is reported to the model, and the next call starts another", func(w v1beta1.Workspace, reset bool, damage func(chatWorkspace) error, want ...string) {
		r, first, root := open(w)
		expectUnknown(r, root, cut(r, reset, damage), want...)
		Expect(r.confirm()).To(Succeed())

		done := r.call(workspaces, "ls", `{}`)
		r.start(r.pod(first.UID))
		result := finished(done)
		Expect(result.Failure).To(BeEmpty(), result.Text)
		if w.PersistentVolumeClaim == nil {
			Expect(result.Text).To(ContainSubstring("restarted"))
		} else {
			Expect(result.Text).NotTo(ContainSubstring("restarted"))
		}
	},
		Entry("evicted by its node", empty, false, fail("Evicted", "The node was low on resource: memory."),
			"it ended with the reason Evicted: The node was low on resource: memory", emptied),
		Entry("evicted, on a volume", volume, false, fail("Evicted", "The node was low on resource: memory."), "Evicted", onVolume),
		Entry("evicted, with a clone", cloned, true, fail("Evicted", "Pod ephemeral local storage usage exceeds the total limit of containers 6Gi."),
			"ephemeral local storage", freshClone),
		Entry("preempted", empty, true, disrupt("PreemptionByScheduler", "default-scheduler: preempting to accommodate a higher priority pod"),
			"being removed: a more important pod took its place (PreemptionByScheduler)", emptied),
		Entry("drained", cloned, true, disrupt("EvictionByEvictionAPI", "Eviction API: evicting"),
			"its node is being emptied (EvictionByEvictionAPI), Eviction API: evicting", freshClone),
		Entry("on a node that shuts down", empty, true, fail("Terminated", "Pod was terminated in response to imminent node shutdown."),
			"in response to imminent node shutdown", emptied),
		Entry("on a node that is gone", empty, false, loseNode, "the workspace's pod", emptied),
		Entry("on a node that was deleted", empty, false, func(r chatWorkspace) error {
			return errors.Join(fail("", "")(r), disrupt("DeletionByPodGC", "PodGC: node no longer exists")(r), r.confirm())
		}, "the workspace's pod", emptied),
		Entry("deleted by hand", empty, false, func(r chatWorkspace) error { return errors.Join(r.remove(), r.confirm()) }, "the workspace's pod was removed", emptied),
	)

	DescribeTable("continues in the same pod if only its container ended", func(reason string, code int32, want string) {
		r, first, root := open(empty)
		expectUnknown(r, root, cut(r, true, killed(reason, code)), want, stillThere)
		result := finished(r.call(workspaces, "ls", `{}`))
		Expect(result.Failure).To(BeEmpty(), result.Text)
		Expect(result.Text).To(And(ContainSubstring("a.txt"), Not(ContainSubstring("restarted"))))
		Expect(r.pod("").UID).To(Equal(first.UID))
	},
		Entry("out of memory", "OOMKilled", int32(137), "because it used more memory than it may (OOMKilled)"),
		Entry("with an error", "Error", int32(2), "with code 2 Error"),
	)

	It("waits for a person when it is on a volume and its node is gone", func() {
		r, first, root := open(volume)
		expectUnknown(r, root, cut(r, false, loseNode), "its node does not answer", onVolume)
		Expect(r.pod("").UID).To(Equal(first.UID), "two pods on a volume could corrupt it")
		result := finished(r.call(workspaces, "ls", `{}`))
		Expect(result.Text).To(And(ContainSubstring("nothing was run"), ContainSubstring("hangs on the node node-1, which does not answer"), ContainSubstring("A person must")))
		Expect(result.OutcomeUnknown).To(BeFalse())

		Expect(r.confirm()).To(Succeed())
		done := r.callAgain()
		r.start(r.pod(first.UID))
		Expect(finished(done).Failure).To(BeEmpty())
	})

	It("does not report an unknown outcome for a read-only tool", func() {
		r, _, _ := open(empty)
		reached := cut(r, false, fail("Evicted", "The node was low on resource: memory."))
		result := finished(r.call(workspaces, "ls", `{}`))
		Expect(result.Failure).To(Equal(tool.Failed))
		Expect(result.OutcomeUnknown).To(BeFalse())
		Expect(result.Text).To(And(ContainSubstring("Evicted"), ContainSubstring(emptied), Not(ContainSubstring(outcomeUnknown))))
		Expect(reached.Load()).To(BeEquivalentTo(1))
	})

	It("lets a call finish in a terminating pod", func() {
		r, first, _ := open(empty)
		network.interceptCalls(func(_ *http.Request, reach func()) error {
			network.interceptCalls(nil)
			if err := r.remove(); err != nil { // it has a grace period
				return err
			}
			return errAnswer
		})
		DeferCleanup(func() { network.interceptCalls(nil) })
		Expect(finished(r.call(workspaces, "ls", `{}`)).Failure).To(BeEmpty())
		Expect(r.pod("").UID).To(Equal(first.UID))
		done := r.call(workspaces, "ls", `{}`)
		Expect(r.confirm()).To(Succeed())
		r.start(r.pod(first.UID)) // created for the second call
		Expect(finished(done).Failure).To(BeEmpty())
	})
})
