// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// MakeGatedRole builds a role whose runs begin with its promoted revision.
func MakeGatedRole(name, prompt string) *v1beta1.AgentRole {
	r := MakeRole(name).Prompt(prompt).Obj()
	r.Spec.Promotion = &v1beta1.RolePromotion{Mode: v1beta1.PromotionGated}
	return r
}

// promoted returns a role once its promoted revision is recorded and meets a condition.
func (r *testNamespace) promoted(ctx context.Context, name string, is func(v1beta1.AgentRoleStatus) bool) v1beta1.AgentRoleStatus {
	GinkgoHelper()
	var status v1beta1.AgentRoleStatus
	Eventually(func(ctx context.Context) (bool, error) {
		role, err := r.role(name)(ctx)
		if err != nil {
			return false, err
		}
		status = role.Status
		return status.ObservedGeneration == role.Generation && status.PromotedRevision != "" && is(status), nil
	}).WithContext(ctx).Should(BeTrue())
	return status
}

func upToDate(s v1beta1.AgentRoleStatus) bool { return s.PromotedRevision == s.CurrentRevision }

func waits(s v1beta1.AgentRoleStatus) bool { return s.PromotedRevision != s.CurrentRevision }

// promotes sets the annotation that promotes a revision.
func promotes(revision, id string) func(*v1beta1.AgentRole) {
	return func(role *v1beta1.AgentRole) {
		metav1.SetMetaDataAnnotation(&role.ObjectMeta, v1beta1.AnnotationPromote, revision+"/"+id)
	}
}

// promptOf runs a task with a role, and returns its system prompt and its revision.
func (r *testNamespace) promptOf(ctx context.Context, task, role string) (prompt, revision string) {
	GinkgoHelper()
	r.create(ctx, MakeTask(task, "Submit one").Role(role).Obj())
	prompt = r.systemPrompt(ctx, task)
	sub := r.agent(ctx, task)
	record, err := r.history.Agent(ctx, string(sub.UID))
	Expect(err).NotTo(HaveOccurred())
	Expect(must(ctx, r.task(task)).Status.RoleRevision).To(And(Equal(sub.Status.RoleRevision), Equal(record.RoleRevision)))
	return prompt, record.RoleRevision
}

// asAdministrator returns a client with the permissions of nestor-admin, which do not include the verb promote.
func (r *testNamespace) asAdministrator(ctx context.Context, user string) client.Client {
	GinkgoHelper()
	binding := &rbacv1.RoleBinding{ObjectMeta: named("admin"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "nestor-admin"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}}}
	r.create(ctx, binding)
	Expect(r.AwaitRole(ctx, r.namespace, user, "nestor-admin")).To(Succeed())
	config := rest.CopyConfig(r.Cluster.Config)
	config.Impersonate.UserName = user
	api, err := client.New(config, client.Options{Scheme: r.API.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	return api
}

// roleRevisions covers gated roles.
func roleRevisions(w *world) {
	Describe("Revisions of roles", func() {
		It("a gated role is used as it was promoted, also after a restart, until a person with the verb promotes another revision", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeGatedRole("poet", "You write odes."))
			first := r.promoted(ctx, "poet", upToDate)
			prompt, revision := r.promptOf(ctx, "one", "poet")
			Expect(prompt).To(HavePrefix("You write odes."), "the first revision is promoted")
			Expect(revision).To(Equal(first.PromotedRevision))

			change(ctx, r, r.role("poet"), func(role *v1beta1.AgentRole) { role.Spec.SystemPrompt = "You write sonnets." })
			second := r.promoted(ctx, "poet", waits)
			Expect(second.PromotedRevision).To(Equal(first.PromotedRevision))
			Expect(second.Conditions).To(ContainElement(And(HaveField("Type", v1beta1.ConditionReconciling), HaveField("Reason", v1beta1.ReasonWaitingForPromotion))))
			prompt, _ = r.promptOf(ctx, "two", "poet")
			Expect(prompt).To(HavePrefix("You write odes."))

			w.restartOperator(ctx)
			prompt, _ = r.promptOf(ctx, "three", "poet")
			Expect(prompt).To(HavePrefix("You write odes."))

			By("refusing everyone without the verb")
			alice := r.asAdministrator(ctx, "alice")
			for _, how := range []func(*v1beta1.AgentRole){
				promotes(second.CurrentRevision, "x"), func(role *v1beta1.AgentRole) { role.Spec.Promotion = nil },
			} {
				role := must(ctx, r.role("poet"))
				before := role.DeepCopy()
				how(role)
				err := alice.Patch(ctx, role, client.MergeFrom(before))
				Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
				Expect(err).To(MatchError(ContainSubstring("ask for the verb promote on agentroles")))
			}

			By("promoting the new revision, and going back")
			change(ctx, r, r.role("poet"), promotes(second.CurrentRevision, "1"))
			third := r.promoted(ctx, "poet", upToDate)
			Expect(third.Conditions).NotTo(ContainElement(HaveField("Type", v1beta1.ConditionReconciling)))
			prompt, revision = r.promptOf(ctx, "four", "poet")
			Expect(prompt).To(HavePrefix("You write sonnets."))
			Expect(revision).To(Equal(second.CurrentRevision))
			change(ctx, r, r.role("poet"), promotes(third.PreviousRevision, "2"))
			fourth := r.promoted(ctx, "poet", waits)
			Expect(fourth.Conditions).To(ContainElement(And(HaveField("Type", v1beta1.ConditionStalled), HaveField("Reason", v1beta1.ReasonRolledBack))))
			prompt, _ = r.promptOf(ctx, "five", "poet")
			Expect(prompt).To(HavePrefix("You write odes."))
		})

		It("a tree keeps the revisions that it began with, for agents that start later, too", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeGatedRole("poet", "You write odes."), MakeRole("orchestrator").Delegates("poet").Obj())
			first := r.promoted(ctx, "poet", upToDate)
			r.openChat(ctx)
			Eventually(r.chat).WithContext(ctx).Should(HaveField("Status.PinnedRevisions", ConsistOf(v1beta1.RoleRevision{Role: "poet", Revision: first.PromotedRevision})))
			change(ctx, r, r.role("poet"), func(role *v1beta1.AgentRole) { role.Spec.SystemPrompt = "You write sonnets." })
			change(ctx, r, r.role("poet"), promotes(r.promoted(ctx, "poet", waits).CurrentRevision, "1"))
			r.promoted(ctx, "poet", upToDate)
			prompt, _ := r.promptOf(ctx, "alone", "poet")
			Expect(prompt).To(HavePrefix("You write sonnets."))
			r.sendMessage(ctx, "request", "Delegate to poet: Submit one")
			Eventually(r.task("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			Expect(r.systemPrompt(ctx, "chat-1")).To(HavePrefix("You write odes."))
			Expect(must(ctx, r.task("chat-1")).Status.RoleRevision).To(Equal(first.PromotedRevision))
		})

		It("an included text is part of the revision", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeConfigMap("prompts", "style", "Write briefly."), MakeGatedRole("poet", `You write. {{ include "prompts/style" }}`))
			r.promoted(ctx, "poet", upToDate)
			r.setConfigMap(ctx, "prompts", "style", "Write at length.")
			r.promoted(ctx, "poet", waits)
			prompt, _ := r.promptOf(ctx, "one", "poet")
			Expect(prompt).To(HavePrefix("You write. Write briefly."))
		})

		It("a role that becomes gated keeps the revision in use, and one that is broken is used as it was promoted", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeRole("poet").Prompt("You write odes.").Obj())
			first := r.promoted(ctx, "poet", upToDate)
			change(ctx, r, r.role("poet"), func(role *v1beta1.AgentRole) {
				role.Spec.Promotion = &v1beta1.RolePromotion{Mode: v1beta1.PromotionGated}
			})
			Expect(r.promoted(ctx, "poet", upToDate).PromotedRevision).To(Equal(first.PromotedRevision))
			change(ctx, r, r.role("poet"), func(role *v1beta1.AgentRole) { role.Spec.SystemPrompt = `{{ include "no/text" }}` })
			Eventually(r.role("poet")).WithContext(ctx).Should(HaveStatus(And(ContainSubstring("False ConfigMapNotFound"), ContainSubstring("Runs begin with the promoted revision "+first.PromotedRevision))))
			prompt, _ := r.promptOf(ctx, "one", "poet")
			Expect(prompt).To(HavePrefix("You write odes."))
		})

		It("a revision that does not exist is not promoted, and the condition has those that do", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeGatedRole("poet", "You write odes."))
			first := r.promoted(ctx, "poet", upToDate)
			change(ctx, r, r.role("poet"), promotes("0123", "1"))
			Eventually(r.role("poet")).WithContext(ctx).Should(HaveStatus(And(ContainSubstring("True RevisionNotFound"), ContainSubstring("names the revision 0123"), ContainSubstring("REVISION`: "+first.PromotedRevision))))
			prompt, _ := r.promptOf(ctx, "one", "poet")
			Expect(prompt).To(HavePrefix("You write odes."))
		})

		It("a role that is deleted and created again begins anew", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeGatedRole("poet", "You write odes."))
			first := r.promoted(ctx, "poet", upToDate)
			Expect(r.API.Delete(ctx, must(ctx, r.role("poet")))).To(Succeed())
			r.create(ctx, MakeGatedRole("poet", "You write odes."))
			Expect(r.promoted(ctx, "poet", upToDate).PromotedRevision).To(Equal(first.PromotedRevision), "its ControllerRevision has the name of the one that was collected")
			prompt, _ := r.promptOf(ctx, "one", "poet")
			Expect(prompt).To(HavePrefix("You write odes."))
			Expect(r.API.Delete(ctx, must(ctx, r.role("poet")))).To(Succeed())
			r.create(ctx, MakeGatedRole("poet", "You write sonnets."))
			r.promoted(ctx, "poet", upToDate)
			prompt, _ = r.promptOf(ctx, "two", "poet")
			Expect(prompt).To(HavePrefix("You write sonnets."))
		})

		It("old revisions are deleted, except for those in use", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeGatedRole("poet", "You write odes."))
			first := r.promoted(ctx, "poet", upToDate)
			last := first
			for i := range 12 {
				change(ctx, r, r.role("poet"), func(role *v1beta1.AgentRole) { role.Spec.SystemPrompt = fmt.Sprintf("You write %d odes.", i) })
				last = r.promoted(ctx, "poet", func(s v1beta1.AgentRoleStatus) bool { return s.CurrentRevision != last.CurrentRevision })
			}
			Eventually(func(ctx context.Context) []string { return r.revisionsOf(ctx, "poet") }).WithContext(ctx).Should(And(HaveLen(11), ContainElements(first.PromotedRevision, last.CurrentRevision)))
			prompt, _ := r.promptOf(ctx, "one", "poet")
			Expect(prompt).To(HavePrefix("You write odes."))
		})
	})
}

// revisionsOf returns the revisions of a role that are kept.
func (r *testNamespace) revisionsOf(ctx context.Context, role string) []string {
	GinkgoHelper()
	var list appsv1.ControllerRevisionList
	Expect(r.API.List(ctx, &list, r.inNamespace(), client.MatchingLabels{v1beta1.LabelRole: role})).To(Succeed())
	var revisions []string
	for _, kept := range list.Items {
		revisions = append(revisions, kept.Labels[v1beta1.LabelRevision])
	}
	return revisions
}
