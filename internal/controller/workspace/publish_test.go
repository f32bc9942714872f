// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/controller/workspace"
	"github.com/nestor-dev/nestor/internal/tool"
	server "github.com/nestor-dev/nestor/internal/tool/workspace"
	"github.com/nestor-dev/nestor/internal/tool/workspace/changes"
	"github.com/nestor-dev/nestor/internal/tool/workspace/gitclone"
	"github.com/nestor-dev/nestor/internal/tool/workspace/gitpush"
	"github.com/nestor-dev/nestor/internal/tool/workspace/pod"
	"github.com/nestor-dev/nestor/internal/tool/workspace/toolspec"
	"github.com/nestor-dev/nestor/test/programs"
)

func shell(dir, commands string) string {
	GinkgoHelper()
	cmd := exec.CommandContext(ctx, "sh", "-ec", commands)
	cmd.Dir = dir
	cmd.Env = programs.GitEnviron()
	output, err := cmd.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s", output)
	return strings.TrimSpace(string(output))
}

// publishing is a chat whose agents may publish, with its repository.
type publishing struct {
	chatWorkspace
	upstream, root string
}

func newPublishing(push v1beta1.GitPush) *publishing {
	GinkgoHelper()
	programs.Need(GinkgoT(), "git")
	dir := GinkgoT().TempDir()
	shell(dir, "git init -q -b main w && cd w && echo one > f && git add . && git commit -qm first && cd .. && git clone -q --bare w app.git")
	r := newChatWorkspace(v1beta1.Workspace{Git: &v1beta1.GitSource{URL: "https://git.example.com/app.git", SecretName: "login", Push: &push}})
	r.login("login", "git.example.com")
	return &publishing{chatWorkspace: r, upstream: filepath.Join(dir, "app.git")}
}

// run starts the workspace with a clone of the repository.
func (r *publishing) run() {
	GinkgoHelper()
	done := r.call(workspaces, "ls", `{}`)
	p := r.pod("")
	r.start(p) // replaced below; it also makes the pod ready
	r.root = filepath.Join(GinkgoT().TempDir(), "c")
	shell(filepath.Dir(r.root), "git clone -q "+r.upstream+" c")
	var secret corev1.Secret
	Expect(api.Get(ctx, r.name(), &secret)).To(Succeed())
	served, err := server.New(server.Options{Root: r.root, Token: string(secret.Data[pod.TokenKey]),
		Changes: &changes.Tree{Root: r.root, State: GinkgoT().TempDir(), Against: changes.Commit, Base: shell(r.root, "git rev-parse HEAD")}})
	Expect(err).NotTo(HaveOccurred())
	Expect(finished(done).Failure).To(BeEmpty())
	network.answer(r.name(), served.Handler().ServeHTTP)
}

func (r *publishing) publisherName() types.NamespacedName {
	spec := pod.Spec{Owner: pod.Owner{Name: r.chat.Name, UID: string(r.chat.UID)}, Publish: &pod.Publish{}}
	return types.NamespacedName{Namespace: r.chat.Namespace, Name: spec.Name()}
}

// publisher waits for the pod of a publisher and runs it like a node, with the arguments of its container.
func (r *publishing) publisher() *corev1.Pod {
	GinkgoHelper()
	found := &corev1.Pod{}
	Eventually(func(g Gomega) {
		g.Expect(api.Get(ctx, r.publisherName(), found)).To(Succeed())
		g.Expect(found.DeletionTimestamp).To(BeNil())
	}).Should(Succeed())
	var secret corev1.Secret
	Expect(api.Get(ctx, r.publisherName(), &secret)).To(Succeed())
	p := &gitpush.Publisher{Source: gitclone.Source{Dir: GinkgoT().TempDir(), URL: "file://" + r.upstream}}
	for _, arg := range found.Spec.Containers[0].Args {
		switch name, value, _ := strings.Cut(arg, "="); name {
		case "--branch":
			p.Branch = value
		case "--owner":
			p.Owner = value
		case "--allow-path":
			allowed, err := gitpush.ParseAllowed([]string{value})
			Expect(err).NotTo(HaveOccurred())
			p.Allowed = append(p.Allowed, allowed...)
		}
	}
	network.answer(r.publisherName(), server.PublishHandler(string(secret.Data[pod.TokenKey]), p).ServeHTTP)
	found.Status.Phase = corev1.PodRunning
	found.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	Expect(api.Status().Update(ctx, found)).To(Succeed())
	return found
}

func (r *publishing) publisherGone() {
	GinkgoHelper()
	Eventually(func() error { return api.Get(ctx, r.publisherName(), &corev1.Pod{}) }).ShouldNot(Succeed())
	// The next call must not read it from the cache.
	Eventually(func() error { return reconciler.Client.Get(ctx, r.publisherName(), &corev1.Pod{}) }).ShouldNot(Succeed())
}

// line returns what review_changes prints for publish_changes.
func (r *publishing) line() string {
	GinkgoHelper()
	result := finished(r.call(workspaces, toolspec.ReviewTool, `{}`))
	Expect(result.Failure).To(BeEmpty(), "%s", result.Text)
	return result.Text[strings.LastIndex(result.Text, "\n")+1:]
}

func (r *publishing) publish(key, line string) <-chan tool.Result {
	GinkgoHelper()
	set, err := workspaces.ToolsOf(ctx, r.agent())
	Expect(err).NotTo(HaveOccurred())
	arguments, err := json.Marshal(toolspec.PublishArgs{Message: "Fix f", Changes: line})
	Expect(err).NotTo(HaveOccurred())
	done := make(chan tool.Result, 1)
	go func() {
		done <- tool.Executor{}.Execute(ctx, set, tool.Invocation{ID: key, IdempotencyKey: key, Name: toolspec.PublishTool, Arguments: arguments, Agent: string(r.chat.UID)})
	}()
	return done
}

func received(done <-chan tool.Result) tool.Result {
	GinkgoHelper()
	var result tool.Result
	Eventually(done).Should(Receive(&result))
	return result
}

var _ = Describe("Publishing changes", func() {
	It("is offered only if the workspace has push, and asks as push says", func() {
		for approval, want := range map[v1beta1.PushApproval]tool.Approval{"": tool.ApprovalRequired, v1beta1.PushApprovalRequired: tool.ApprovalRequired, v1beta1.PushApprovalNever: tool.ApprovalNotRequired} {
			set, err := workspaces.Tools(newPublishing(v1beta1.GitPush{Approval: approval}).place())
			Expect(err).NotTo(HaveOccurred())
			review, ok := set.Lookup(toolspec.ReviewTool)
			Expect(ok && review.Spec().ReadOnly).To(BeTrue())
			publish, ok := set.Lookup(toolspec.PublishTool)
			Expect(ok).To(BeTrue())
			Expect(publish.Spec().Approval).To(Equal(want))
			Expect(publish.Spec().Repeatable()).To(BeTrue())
		}
		set, err := workspaces.Tools(newChatWorkspace(clonedFrom("https://git.example.com/app.git")).place())
		Expect(err).NotTo(HaveOccurred())
		Expect(set.Names()).NotTo(Or(ContainElement(toolspec.PublishTool), ContainElement(toolspec.ReviewTool)))
		Expect(workspaces.Offers(toolspec.PublishTool) && workspaces.Offers(toolspec.ReviewTool)).To(BeTrue())
	})

	It("pushes what was reviewed, once, and to the branch only", func() {
		r := newPublishing(v1beta1.GitPush{})
		r.run()
		Expect(finished(r.call(workspaces, toolspec.ReviewTool, `{}`)).Text).To(ContainSubstring("Nothing was changed"))
		shell(r.root, "echo two >> f && echo new > g")
		line := r.line()
		Expect(line).To(And(HavePrefix("nestor/chat: 2 files, +2 -0 since "+shell(r.root, "git rev-parse HEAD")+", sha256 "), HaveSuffix(": Modified f, Added g")))
		identity := strings.TrimSuffix(line, ": Modified f, Added g")

		By("publishing nothing if the line is another one")
		before := shell(r.upstream, "git for-each-ref")
		done := r.publish("k0", strings.Replace(line, "2 files", "1 file", 1))
		r.publisher()
		Expect(received(done).Text).To(ContainSubstring("nothing was published"))
		r.publisherGone()
		Expect(shell(r.upstream, "git for-each-ref")).To(Equal(before))

		By("publishing the changes from a pod that alone has the credentials")
		done = r.publish("k1", line)
		publisher := r.publisher()
		Expect(publisher.Spec.InitContainers).To(BeEmpty())
		Expect(publisher.Spec.Containers).To(HaveLen(1))
		Expect(metav1.IsControlledBy(publisher, r.chat)).To(BeTrue())
		var policy networkingv1.NetworkPolicy
		Expect(api.Get(ctx, r.publisherName(), &policy)).To(Succeed())
		Expect(policy.Spec.Egress).To(HaveLen(1))
		expectReaches(policy.Spec.Egress[0], 443, "192.0.2.7/32", "2001:db8::7/128")
		for _, mount := range r.pod("").Spec.Containers[0].VolumeMounts {
			Expect(mount.MountPath).NotTo(ContainSubstring("git"), "the workspace has no credentials")
		}
		first := received(done)
		Expect(first.Failure).To(BeEmpty(), "%s", first.Text)
		tip := shell(r.upstream, "git rev-parse nestor/chat")
		Expect(first.Text).To(Equal("Published " + identity + " as the commit " + tip + "."))
		Expect(shell(r.upstream, "git show nestor/chat:f nestor/chat:g")).To(Equal("one\ntwo\nnew"))
		Expect(shell(r.upstream, "git log -1 --format='%s%n%(trailers:key=Nestor-Owner,valueonly)' nestor/chat")).To(Equal("Fix f\n" + string(r.chat.UID)))
		r.publisherGone()

		By("repeating the call after a crash between the push and its record, with other files by now")
		shell(r.root, "echo three >> f")
		done = r.publish("k1", line)
		r.publisher()
		Expect(received(done).Text).To(Equal("The branch nestor/chat has these changes already, as the commit " + tip + "."))
		Expect(shell(r.upstream, "git rev-parse nestor/chat")).To(Equal(tip))
		r.publisherGone()
	})

	It("shows every file, also one with an unusual name", func() {
		r := newPublishing(v1beta1.GitPush{})
		r.run()
		shell(r.root, "git mv f h && mkdir d && for i in $(seq 1 30); do echo $i > d/$i; done && echo x > 'a, Added b'")
		line := r.line()
		Expect(line).To(And(ContainSubstring(`: Added "a, Added b", Added d/1, Added d/10, `), HaveSuffix("Added d/9, Renamed f to h")))
		done := r.publish("k1", strings.Replace(line, "d/30", "d/31", 1))
		r.publisher()
		Expect(received(done).Text).To(ContainSubstring("nothing was published"))
		r.publisherGone()
	})

	It("refuses more files than an approval shows", func() {
		r := newPublishing(v1beta1.GitPush{})
		r.run()
		shell(r.root, "mkdir generated-files && for i in $(seq 1 300); do echo $i > generated-files/$i.json; done")
		text := finished(r.call(workspaces, toolspec.ReviewTool, `{}`)).Text
		Expect(text).To(MatchRegexp(`the list of the 300 changed files has [0-9]+ bytes, and an approval shows at most 8192`))
		Expect(text).NotTo(ContainSubstring("sha256"))
	})

	It("publishes CI definitions only if push allows their paths", func() {
		r := newPublishing(v1beta1.GitPush{})
		r.run()
		shell(r.root, "mkdir -p .github/workflows && echo x > .github/workflows/x.yml && echo two >> f")
		Expect(finished(r.call(workspaces, toolspec.ReviewTool, `{}`)).Text).To(And(
			ContainSubstring(`".github/workflows/x.yml"`), ContainSubstring("workspace.git.push.allowPaths"), Not(ContainSubstring("sha256"))))

		r = newPublishing(v1beta1.GitPush{AllowPaths: []string{".github/workflows/*.yml"}})
		r.run()
		shell(r.root, "mkdir -p .github/workflows && echo x > .github/workflows/x.yml && echo two >> f")
		done := r.publish("k1", r.line())
		Expect(r.publisher().Spec.Containers[0].Args).To(ContainElement("--allow-path=.github/workflows/*.yml"))
		Expect(received(done).Failure).To(BeEmpty())
		Expect(shell(r.upstream, "git show nestor/chat:.github/workflows/x.yml")).To(Equal("x"))
	})

	It("deletes a publisher that a crashed operator left", func() {
		r := newPublishing(v1beta1.GitPush{Branch: "nestor/left"})
		r.run()
		shell(r.root, "echo two >> f")
		done := r.publish("k1", r.line())
		found := r.publisher()
		Expect(found.Spec.Containers[0].Args).To(ContainElement("--branch=nestor/left"))
		Expect(received(done).Failure).To(BeEmpty())
		r.publisherGone()
		left := found.DeepCopy()
		left.ResourceVersion, left.UID = "", ""
		Expect(api.Create(ctx, left)).To(Succeed())
		Eventually(func() error { return reconciler.Client.Get(ctx, r.publisherName(), &corev1.Pod{}) }).Should(Succeed())
		Eventually(func() error {
			clock.advance(2 * time.Minute)
			_, _ = reconciler.Reconcile(ctx, ctrl.Request{NamespacedName: r.publisherName()}) // it is repeated
			return api.Get(ctx, r.publisherName(), &corev1.Pod{})
		}).ShouldNot(Succeed())
	})

	It("does not send a Secret that does not name the server any more", func() {
		r := newPublishing(v1beta1.GitPush{})
		r.run()
		shell(r.root, "echo two >> f")
		line := r.line()
		var secret corev1.Secret
		Expect(api.Get(ctx, types.NamespacedName{Namespace: r.chat.Namespace, Name: "login"}, &secret)).To(Succeed())
		secret.Annotations[v1beta1.AnnotationGitHosts] = "other.example.com"
		Expect(api.Update(ctx, &secret)).To(Succeed())
		Expect(received(r.publish("k1", line)).Text).To(ContainSubstring("may not be sent to https://git.example.com"))
		Expect(client.IgnoreNotFound(api.Get(ctx, r.publisherName(), &corev1.Pod{}))).To(Succeed())
		Expect(api.Get(ctx, r.publisherName(), &corev1.Pod{})).NotTo(Succeed())
	})

	It("is refused if the branch without a name of its own is the one that is cloned", func() {
		for _, ref := range []string{"nestor/chat", "heads/nestor/chat", "refs/heads/nestor/chat"} {
			r := newChatWorkspace(v1beta1.Workspace{Git: &v1beta1.GitSource{URL: "https://git.example.com/app.git", Ref: ref, Push: &v1beta1.GitPush{}}})
			Expect(r.check()).To(MatchError(ContainSubstring("to which its agents would push")))
		}
		r := newChatWorkspace(v1beta1.Workspace{Git: &v1beta1.GitSource{URL: "https://git.example.com/app.git", Ref: "nestor/other", Push: &v1beta1.GitPush{}}})
		Expect(r.check()).To(Succeed())
	})

	It("serves a publisher only with its token", func() {
		handler := server.PublishHandler("the-token-of-the-pod", &gitpush.Publisher{Branch: "nestor/x", Owner: "o"})
		for _, header := range []string{"", "Bearer wrong", "Basic the-token-of-the-pod"} {
			request := httptest.NewRequest(http.MethodPost, "/publish", strings.NewReader(`{"call":"a","onlyCheck":true}`))
			request.Header.Set("Authorization", header)
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, request)
			Expect(recorder.Code).To(Equal(http.StatusUnauthorized))
		}
	})
})

func (r chatWorkspace) place() *workspace.Location {
	GinkgoHelper()
	found, err := workspaces.Of(ctx, r.chat)
	Expect(err).NotTo(HaveOccurred())
	return found
}
