// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/controller/workspace"
	"github.com/nestor-dev/nestor/internal/tool"
)

// waiting returns the status of a container that does not start.
func waiting(reason, message string) func(*corev1.PodStatus) {
	return func(s *corev1.PodStatus) {
		s.ContainerStatuses = []corev1.ContainerStatus{{Name: "workspace", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}}
	}
}

// callAgain repeats a call until it succeeds, like a model: a call may fail before the operator notices that the
// cause is gone.
func (r chatWorkspace) callAgain() <-chan tool.Result {
	GinkgoHelper()
	succeeded, stop := make(chan tool.Result, 1), make(chan struct{})
	DeferCleanup(func() { close(stop) })
	go func() {
		defer GinkgoRecover()
		for {
			select {
			case <-stop:
				return
			case result := <-r.call(workspaces, "ls", `{}`):
				if result.Failure == "" {
					succeeded <- result
					return
				}
			}
		}
	}()
	return succeeded
}

// expectNotRun expects that a call failed before anything was run, with the given reasons.
func expectNotRun(result tool.Result, want ...string) {
	GinkgoHelper()
	Expect(result.Failure).To(Equal(tool.Failed))
	Expect(result.OutcomeUnknown).To(BeFalse())
	for _, w := range append(want, "nothing was run") {
		Expect(result.Text).To(ContainSubstring(w))
	}
}

var _ = Describe("A workspace pod that does not start", func() {
	const arguments = `{"path":"a.txt","edits":[{"old_string":"a","new_string":"b"}]}`

	DescribeTable("is reported to the model, and works once the cause is gone", func(hopeless bool, change func(*corev1.PodStatus), want ...string) {
		r := newChatWorkspace(empty)
		patient := r.call(workspaces, "ls", `{}`)
		r.pod("")
		Expect(r.report(change)).To(Succeed())
		expectNotRun(finished(r.call(shortTimeout, "patch", arguments)), want...)
		if hopeless {
			expectNotRun(finished(patient), want...)
			patient = r.call(workspaces, "ls", `{}`)
			expectNotRun(finished(patient), want...)
		}

		Expect(r.report(func(s *corev1.PodStatus) { s.ContainerStatuses, s.Conditions = nil, nil })).To(Succeed())
		if hopeless {
			patient = r.callAgain()
		}
		r.start(r.pod(""))
		Expect(finished(patient).Failure).To(BeEmpty())
	},
		Entry("because its image is not there", true, waiting("ErrImagePull", "manifest unknown"), "ErrImagePull: manifest unknown"),
		Entry("because its image cannot be pulled", true, waiting("ImagePullBackOff", "Back-off pulling image"), "ImagePullBackOff"),
		Entry("because a Secret is gone", true, waiting("CreateContainerConfigError", `secret "x" not found`), `secret "x" not found`),
		Entry("because no node has room", false, func(s *corev1.PodStatus) {
			s.Conditions = []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes are available: 3 Insufficient memory.",
			}}
		}, "no node has room for it: 0/3 nodes are available: 3 Insufficient memory", "Try again later"),
		Entry("because its server crashes", false, func(s *corev1.PodStatus) {
			waiting("CrashLoopBackOff", "")(s)
			s.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}
		}, "its container workspace ended with code 1 Error"),
	)

	It("because its volume is gone is reported at once", func() {
		r, first, _ := open(volume)
		Expect(r.remove()).To(Succeed())
		Expect(r.confirm()).To(Succeed())
		r.waitForPodGone()
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: r.chat.Namespace, Name: "files"}}
		Expect(api.Patch(ctx, claim, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
		Expect(api.Delete(ctx, claim)).To(Succeed())
		Eventually(func() error { return api.Get(ctx, client.ObjectKeyFromObject(claim), claim) }).ShouldNot(Succeed())
		expectNotRun(finished(r.call(workspaces, "patch", arguments)), `needs the PersistentVolumeClaim "files": create it in the namespace `+r.chat.Namespace)

		r.claim()
		done := r.call(workspaces, "ls", `{}`)
		r.start(r.pod(first.UID))
		Expect(finished(done).Failure).To(BeEmpty())
	})

	It("because the credentials for its repository are gone is reported at once", func() {
		r := newChatWorkspace(v1beta1.Workspace{Git: &v1beta1.GitSource{URL: "https://git.example.com/team/app.git", SecretName: "login"}})
		expectNotRun(finished(r.call(workspaces, "patch", arguments)), `needs the Secret "login"`)
	})

	It("because a foreign Service has its name is reported at once: the token would go to another pod", func() {
		r := newChatWorkspace(empty)
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: r.chat.Namespace, Name: r.name().Name}}
		service.Spec.Ports = []corev1.ServicePort{{Port: 80}}
		Expect(api.Create(ctx, service)).To(Succeed())
		expectNotRun(finished(r.call(workspaces, "patch", arguments)), "was not created by the operator: delete it")
	})

	It("because the namespace has no quota left is reported with the API server's message", func() {
		r := newChatWorkspace(empty)
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: r.chat.Namespace, Name: "none"}}
		quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
		Expect(api.Create(ctx, quota)).To(Succeed())
		quota.Status.Hard, quota.Status.Used = quota.Spec.Hard, quota.Spec.Hard
		Expect(api.Status().Update(ctx, quota)).To(Succeed())
		Eventually(func() string { return finished(r.call(shortTimeout, "patch", arguments)).Text }).
			Should(And(ContainSubstring("nothing was run"), ContainSubstring("exceeded quota: none")))
	})
})

var _ = Describe("An operator that starts", func() {
	It("uses existing pods, and restores missing objects around them", func() {
		r, first, root := open(empty)
		Expect(os.WriteFile(filepath.Join(root, "kept.txt"), nil, 0o600)).To(Succeed())
		around := []client.Object{&corev1.Service{}, &networkingv1.NetworkPolicy{}}
		for _, object := range around {
			Expect(api.Get(ctx, r.name(), object)).To(Succeed())
			Expect(api.Delete(ctx, object)).To(Succeed())
		}
		next, err := workspace.New(restarted)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(next.Close(ctx)).To(Succeed()) })
		result := finished(r.call(next, "ls", `{}`))
		Expect(result.Text).To(And(ContainSubstring("kept.txt"), Not(ContainSubstring("anew"))))
		Expect(r.pod("").UID).To(Equal(first.UID))
		for _, object := range around {
			Expect(api.Get(ctx, r.name(), object)).To(Succeed())
			Expect(metav1.IsControlledBy(object, r.chat)).To(BeTrue())
		}
	})
})
