// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
)

// login creates a Secret that may be sent to hosts; an empty list omits the annotation.
func (r chatWorkspace) login(name, hosts string) *corev1.Secret {
	GinkgoHelper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.chat.Namespace, Name: name}, StringData: map[string]string{"username": "robot", "password": "hunter2"}}
	if hosts != "" {
		secret.Annotations = map[string]string{v1beta1.AnnotationGitHosts: hosts}
	}
	Expect(api.Create(ctx, secret)).To(Succeed())
	return secret
}

// check runs the check before a run starts.
func (r chatWorkspace) check() error {
	GinkgoHelper()
	place, err := workspaces.Of(ctx, r.chat)
	Expect(err).NotTo(HaveOccurred())
	return workspaces.Check(ctx, place)
}

// expectNotAllowed expects that neither a run starts nor a pod is created.
func (r chatWorkspace) expectNotAllowed(want string) {
	GinkgoHelper()
	err := r.check()
	var missing *resolve.Missing
	Expect(err).To(BeAssignableToTypeOf(missing))
	Expect(err).To(MatchError(ContainSubstring(want)))
	Expect(err.(*resolve.Missing).Reason).To(Equal(v1beta1.ReasonWorkspaceNotAllowed)) //nolint:errorlint // asserted above
	expectNotRun(finished(r.call(workspaces, "ls", `{}`)), want)
	var pods corev1.PodList
	Expect(api.List(ctx, &pods, client.InNamespace(r.chat.Namespace))).To(Succeed())
	Expect(pods.Items).To(BeEmpty())
}

var _ = Describe("What a workspace may use", func() {
	private := func(url string) v1beta1.Workspace {
		return v1beta1.Workspace{Git: &v1beta1.GitSource{URL: url, SecretName: "login"}}
	}

	DescribeTable("is not a Secret that does not name the server", func(url, hosts, entry string) {
		r := newChatWorkspace(private(url))
		secret := r.login("login", hosts)
		r.expectNotAllowed(`The Secret "login" may not be sent to `)
		Expect(r.check()).To(MatchError(HaveSuffix("kubectl annotate secret -n " + r.chat.Namespace + " login --overwrite nestor.dev/git-hosts=" + entry)))

		metav1.SetMetaDataAnnotation(&secret.ObjectMeta, v1beta1.AnnotationGitHosts, entry)
		Expect(api.Update(ctx, secret)).To(Succeed())
		Expect(r.check()).To(Succeed(), "once it names the server")
	},
		Entry("because it names none", "http://attacker.example/x.git", "", "http://attacker.example"),
		Entry("because it names another", "https://attacker.example/x.git", "git.example.com", "attacker.example"),
		Entry("because it names another port", "https://git.example.com:8443/x.git", "git.example.com", "git.example.com:8443"),
		Entry("because it does not name plain http", "http://git.example.com/x.git", "git.example.com", "http://git.example.com"),
		Entry("because the server only begins like it", "https://git.example.com.attacker.example/x.git", "git.example.com", "git.example.com.attacker.example"),
		Entry("because it names another scheme", "ssh://git@git.example.com/x.git", "https://git.example.com", "git.example.com"),
	)

	It("is a Secret that names the server, for as long as it does", func() {
		r := newChatWorkspace(private("https://git.example.com/team/app.git"))
		secret := r.login("login", "github.example.com, git.example.com")
		Expect(r.check()).To(Succeed())
		done := r.call(workspaces, "ls", `{}`)
		first := r.pod("")
		r.start(first)
		Expect(finished(done).Failure).To(BeEmpty())

		delete(secret.Annotations, v1beta1.AnnotationGitHosts)
		Expect(api.Update(ctx, secret)).To(Succeed())
		Expect(api.Delete(ctx, first)).To(Succeed())
		r.waitForPodGone()
		r.expectNotAllowed(`The Secret "login" may not be sent to https://git.example.com.`)
	})

	It("is not a claim that is not labelled, until it is", func() {
		r := newChatWorkspace(volume)
		r.claim()
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: r.chat.Namespace, Name: "files"}}
		for _, value := range []string{`null`, `"false"`, `""`} {
			Expect(api.Patch(ctx, claim, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"nestor.dev/workspace":`+value+`}}}`)))).To(Succeed())
			r.expectNotAllowed(`The PersistentVolumeClaim "files" is not for workspaces. If agents may use its files, let its owner run: kubectl label pvc -n ` +
				r.chat.Namespace + ` files --overwrite nestor.dev/workspace=true`)
		}
		Expect(api.Patch(ctx, claim, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"nestor.dev/workspace":"true"}}}`)))).To(Succeed())
		Expect(r.check()).To(Succeed())
	})
})
