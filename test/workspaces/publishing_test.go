// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspaces

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/programs"
)

const noOtherBranch = "refs/heads/main"

func TestPublishing(t *testing.T) {
	w := start(t)
	t.Run("approved", func(t *testing.T) { approved(w.newProject(t)) })
	t.Run("denied", func(t *testing.T) { denied(w.newProject(t)) })
	t.Run("not reviewed", func(t *testing.T) { notReviewed(w.newProject(t)) })
	t.Run("changed after the approval", func(t *testing.T) { changedAfterTheApproval(w.newProject(t)) })
	t.Run("denied to a role", func(t *testing.T) { deniedToARole(w.newProject(t)) })
	t.Run("forked", func(t *testing.T) { forked(w.newProject(t)) })
	t.Run("too large to be kept", func(t *testing.T) { tooLargeToBeKept(w.newProject(t)) })
	t.Run("killed between the push and the record", func(t *testing.T) { killedAfterThePush(w.newProject(t)) })
	t.Run("killed before the push", func(t *testing.T) { killedBeforeThePush(w.newProject(t)) })
}

// approved publishes after an approval that shows the branch, the number of lines, the digest and the files.
func approved(p *project) {
	p.task("publisher", "Add two to f")
	waiting := p.approval()
	p.Expect(waiting.Text).To(And(HavePrefix("publish_changes "), MatchRegexp(`nestor/fix: 1 file, \+1 -0 since [0-9a-f]{40}, sha256 [0-9a-f]{64}: Modified f`), ContainSubstring("It was too short.")))
	p.Expect(waiting.ArgumentsDigest).NotTo(BeEmpty())
	p.Expect(waiting.Text).To(ContainSubstring("sha256 "+p.changes().Digest), "what a person reads has the digest of the approval")
	p.Expect(p.refs()).To(Equal(noOtherBranch))
	p.decide(waiting, v1beta1.DecisionApprove, "")
	p.Expect(p.result()).To(MatchRegexp(`^Published nestor/fix: 1 file, \+1 -0 since [0-9a-f]{40}, sha256 [0-9a-f]{64} as the commit ` + p.tip() + `\.$`))
	p.expectPublishedOnce()
	p.publisherIsGone()
}

func denied(p *project) {
	p.task("publisher", "Add two to f")
	p.decide(p.approval(), v1beta1.DecisionDeny, "Ask the owners first.")
	p.Expect(p.result()).To(And(ContainSubstring("denied"), ContainSubstring("Ask the owners first.")))
	p.Expect(p.refs()).To(Equal(noOtherBranch))
	p.Expect(p.pods()).NotTo(ContainElement(HavePrefix("wp-")))
}

func notReviewed(p *project) {
	p.task("publisher", "Publish without a review: nestor/fix: 1 file, +1 -0 since "+programs.Script(p.t, p.upstream, "git rev-parse main")+", sha256 "+strings.Repeat("0", 64))
	p.decide(p.approval(), v1beta1.DecisionApprove, "")
	p.Expect(p.result()).To(ContainSubstring("does not have the changes that you named, and nothing was published"))
	p.Expect(p.refs()).To(Equal(noOtherBranch))
}

func changedAfterTheApproval(p *project) {
	p.task("publisher", "Add two to f")
	waiting := p.approval()
	p.Expect(os.WriteFile(filepath.Join(p.files(), "f"), []byte("something else\n"), 0o600)).To(Succeed())
	p.decide(waiting, v1beta1.DecisionApprove, "")
	p.Expect(p.result()).To(ContainSubstring("does not have the changes that you named, and nothing was published"))
	p.Expect(p.refs()).To(Equal(noOtherBranch))
}

func deniedToARole(p *project) {
	p.createRole("fixer", "publish_*", "review_*")
	p.task("fixer", "Add two to f")
	p.Expect(p.result()).To(Equal("There is no such tool."))
	p.Expect(p.offered()).To(And(ContainElement("bash"), Not(ContainElement("publish_changes")), Not(ContainElement("review_changes"))))
	p.Expect(p.refs()).To(Equal(noOtherBranch))
}

// tooLargeToBeKept shows in the status of the task that its changes will be lost.
func tooLargeToBeKept(p *project) {
	p.task("publisher", "Write a large file")
	p.Expect(p.result()).To(Equal("Done."))
	p.Eventually(func() []metav1.Condition { return p.current().Status.Conditions }).Should(ContainElement(And(
		HaveField("Type", v1beta1.ConditionWorkspaceChangesLost), HaveField("Status", metav1.ConditionTrue), HaveField("Reason", v1beta1.ReasonWorkspaceTooLarge),
		HaveField("Message", ContainSubstring("large")))))
	p.Expect(p.changes().Digest).To(BeEmpty())
}

// killedAfterThePush kills the operator when the publisher has pushed and before the operator has the answer.
func killedAfterThePush(p *project) {
	pushed := noOtherBranch + "\nrefs/heads/nestor/fix"
	p.killOperatorAt(func(rw http.ResponseWriter, r *http.Request, forward http.HandlerFunc) {
		forward(discard{rw.Header()}, r)
	}, pushed)
	p.expectPublishedOnce()
}

// killedBeforeThePush kills the operator before the publisher has the request.
func killedBeforeThePush(p *project) {
	p.killOperatorAt(func(http.ResponseWriter, *http.Request, http.HandlerFunc) {}, noOtherBranch)
	p.expectPublishedOnce()
}

// killOperatorAt kills the operator at its first request to the publisher, after a function, checks the branches of that moment, and waits for the next
// operator to finish the task.
func (p *project) killOperatorAt(before func(http.ResponseWriter, *http.Request, http.HandlerFunc), refs string) {
	p.t.Helper()
	killed := make(chan struct{})
	var once sync.Once
	p.node.Intercept(func(rw http.ResponseWriter, r *http.Request, forward http.HandlerFunc) {
		first := false
		if r.URL.Path == "/publish" {
			once.Do(func() { first = true })
		}
		if !first {
			forward(rw, r)
			return
		}
		before(rw, r, forward)
		_ = p.Operator.Kill() // that it does not run is seen below
		close(killed)
	})
	defer p.node.Intercept(nil)
	p.task("publisher", "Add two to f")
	p.decide(p.approval(), v1beta1.DecisionApprove, "")
	p.Eventually(killed).Should(BeClosed())
	p.Expect(p.refs()).To(Equal(refs))
	p.Expect(p.StartOperator(p.t.Context())).To(Succeed())
	p.Expect(p.result()).To(And(ContainSubstring("nestor/fix"), ContainSubstring(p.tip())))
	p.publisherIsGone()
}

// discard is an answer that is not sent.
type discard struct{ header http.Header }

func (d discard) Header() http.Header          { return d.header }
func (discard) Write(data []byte) (int, error) { return len(data), nil }
func (discard) WriteHeader(int)                {}

// tip waits for the branch of the task, and returns its commit.
func (p *project) tip() string {
	p.t.Helper()
	p.Eventually(p.refs).Should(ContainSubstring("refs/heads/nestor/fix"))
	return programs.Script(p.t, p.upstream, "git rev-parse nestor/fix")
}

// expectPublishedOnce checks that the branch has exactly one commit more than main, with the change.
func (p *project) expectPublishedOnce() {
	p.t.Helper()
	p.Expect(p.refs()).To(Equal(noOtherBranch + "\nrefs/heads/nestor/fix"))
	p.Expect(programs.Script(p.t, p.upstream, "git log --format=%s main..nestor/fix")).To(Equal("Fix f"))
	p.Expect(programs.Script(p.t, p.upstream, "git show nestor/fix:f")).To(Equal("one\ntwo"))
	p.Expect(programs.Script(p.t, p.upstream, "git show main:f")).To(Equal("one"))
}

func (p *project) pods() []string {
	p.t.Helper()
	var list corev1.PodList
	p.Expect(p.API.List(p.t.Context(), &list, client.InNamespace(p.Namespace))).To(Succeed())
	var names []string
	for _, pod := range list.Items {
		names = append(names, pod.Name)
	}
	return names
}

func (p *project) publisherIsGone() {
	p.t.Helper()
	p.Eventually(p.pods).ShouldNot(ContainElement(HavePrefix("wp-")))
}

func (p *project) files() string {
	p.t.Helper()
	names := p.pods()
	p.Expect(names).To(HaveLen(1))
	dir := p.node.Files(client.ObjectKey{Namespace: p.Namespace, Name: names[0]})
	p.Expect(dir).NotTo(BeEmpty())
	return dir
}
