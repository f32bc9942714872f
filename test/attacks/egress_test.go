// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"context"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/controller/workspace"
	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/workspace/gitclone"
	"github.com/nestor-dev/nestor/internal/tool/workspace/gitpush"
	"github.com/nestor-dev/nestor/internal/tool/workspace/pod"
	"github.com/nestor-dev/nestor/test/programs"
)

// useRepository calls a tool in a workspace whose git server is a name with the given addresses. There are no name
// servers here, so the operator's part runs in this process, with a resolver that the attacker controls. The call
// ends with the test.
func (r *testNamespace) useRepository(addresses ...string) (result <-chan string) {
	r.t.Helper()
	chat := r.chatWith(public("https://git.attacker.example/x.git"))
	r.Create(chat)
	operator, err := workspace.New(workspace.Options{
		Client: r.API, Live: r.API, Image: "nestor-workspace:none",
		Operator: pod.Peer{Namespace: "nestor-system", Labels: map[string]string{"app.kubernetes.io/name": "nestor-operator"}},
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			var resolved []netip.Addr
			for _, text := range addresses {
				resolved = append(resolved, netip.MustParseAddr(text))
			}
			return resolved, nil
		},
	})
	r.Expect(err).NotTo(HaveOccurred())
	location, err := operator.Of(r.t.Context(), chat)
	r.Expect(err).NotTo(HaveOccurred())
	set, err := operator.Tools(location)
	r.Expect(err).NotTo(HaveOccurred())
	call := tool.Invocation{ID: "1", Name: "ls", Arguments: []byte(`{}`), Agent: string(chat.UID)}
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan string, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		done <- tool.Executor{}.Execute(ctx, set, call).Text
	}()
	r.t.Cleanup(func() {
		cancel()
		<-ended
		r.Expect(operator.Close(context.Background())).To(Succeed())
	})
	return done
}

func (r *testNamespace) policies() []networkingv1.NetworkPolicy {
	r.t.Helper()
	var list networkingv1.NetworkPolicyList
	r.Expect(r.List(&list)).To(Succeed())
	return list.Items
}

// hostileNameAttack is a name of a git server that also resolves to addresses inside.
func hostileNameAttack(name, words string, addresses ...string) attack {
	return attack{
		name:    name,
		attempt: "mallory's workspace clones from a name of hers, and a command connects to the other addresses of that name",
		defence: "the operator: every address is public, or the operator lists the server",
		run: inNamespace(func(r *testNamespace) {
			r.Eventually(r.useRepository(addresses...)).Should(Receive(And(ContainSubstring(words), ContainSubstring("must not reach"))))
			r.Expect(r.pods()).To(BeEmpty())
			r.Expect(r.policies()).To(BeEmpty())
		}),
		control: inNamespace(func(r *testNamespace) {
			r.useRepository("192.0.2.66", "2001:db8::66")
			r.Eventually(r.pods).Should(HaveLen(1))
			r.Expect(r.policies()).To(HaveLen(1))
			r.Expect(r.policies()[0].Spec.Egress).To(HaveLen(1))
			r.Expect(r.policies()[0].Spec.Egress[0].To).To(ConsistOf(
				HaveField("IPBlock.CIDR", "192.0.2.66/32"), HaveField("IPBlock.CIDR", "2001:db8::66/128")))
		}),
	}
}

func privateURLAttack(name, url, words string) attack {
	return attack{
		name:    name,
		attempt: "mallory creates a task with the repository " + url,
		defence: "the operator: every address is public, or the operator lists the server",
		run: inNamespace(func(r *testNamespace) {
			mallory := r.As("mallory", "nestor-runner")
			r.checkAllowed(func() error { return mallory.Create(r.t.Context(), r.lookTask(public(url))) })
			r.checkNotAllowed(words)
		}),
		control: inNamespace(func(r *testNamespace) {
			r.Create(r.lookTask(public("http://192.0.2.7/x.git")))
			r.workspacePod()
		}),
	}
}

func service() *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "internal"}}
	s.Spec.Selector, s.Spec.Ports = map[string]string{"app": "internal"}, []corev1.ServicePort{{Port: 80}}
	return s
}

// checkFails checks that the task look fails with words, without a pod.
func (r *testNamespace) checkFails(words string) {
	r.t.Helper()
	r.Eventually(func() (string, error) {
		var task v1beta1.AgentTask
		if err := r.Get("look", &task); err != nil || task.Status.Error == nil {
			return "", err
		}
		return task.Status.Error.Message, nil
	}).Should(ContainSubstring(words))
	r.Expect(r.pods()).To(BeEmpty())
}

// pushAttack is a change of what CI systems run or who reviews. before and change are shell commands that make the
// cloned commit and the change; allow are globs with which the same change may be published.
func pushAttack(name, before, change string, allow ...string) attack {
	publish := func(t *testing.T, globs []string) (result gitpush.Result, refs string) {
		t.Helper()
		programs.Need(t, "git")
		g, dir := NewWithT(t), t.TempDir()
		programs.Script(t, dir, "git init -q -b main w && cd w && echo one > f && "+before+" && git add -A && "+
			"git commit -qm first && cd .. && git clone -q --bare w app.git && git clone -q app.git c")
		clone := filepath.Join(dir, "c")
		patch := programs.Script(t, clone, "{ "+change+" && git add -A -f; } >/dev/null && "+
			"git diff --cached --binary --full-index --no-renames HEAD")
		allowed, err := gitpush.ParseAllowed(globs)
		g.Expect(err).NotTo(HaveOccurred())
		source := gitclone.Source{Dir: t.TempDir(), URL: "file://" + filepath.Join(dir, "app.git")}
		p := &gitpush.Publisher{Branch: "nestor/fix", Owner: "owner", Allowed: allowed, Source: source}
		result, err = p.Publish(t.Context(), gitpush.Request{
			Call: "call", Base: programs.Script(t, clone, "git rev-parse HEAD"), Message: "Fix", Time: time.Unix(1, 0), Patch: []byte(patch + "\n"),
		})
		g.Expect(err).NotTo(HaveOccurred())
		return result, programs.Script(t, filepath.Join(dir, "app.git"), "git for-each-ref --format='%(refname)'")
	}
	return attack{
		name:    name,
		attempt: "an agent publishes the change: " + change,
		defence: "the publisher checks every changed path of the commit, whatever was shown before",
		run: func(t *testing.T, _ *target) {
			result, refs := publish(t, nil)
			g := NewWithT(t)
			g.Expect(result.Commit).To(BeEmpty())
			g.Expect(result.Refused).To(ContainSubstring("workspace.git.push.allowPaths"))
			g.Expect(refs).To(Equal("refs/heads/main"))
		},
		control: func(t *testing.T, _ *target) {
			result, refs := publish(t, allow)
			g := NewWithT(t)
			g.Expect(result.Refused).To(BeEmpty())
			g.Expect(refs).To(Equal("refs/heads/main\nrefs/heads/nestor/fix"))
		},
	}
}

var _ = class(
	"workspaces",
	hostileNameAttack("a name has a private address behind a public one", "private address 10.96.0.1", "192.0.2.66", "10.96.0.1"),
	hostileNameAttack("a name has the metadata service behind a public address", "169.254.169.254", "192.0.2.66", "169.254.169.254"),
	hostileNameAttack("a name has a private address in IPv6 notation", "10.96.0.1", "::ffff:10.96.0.1"),
	hostileNameAttack("a name has a private address behind a translator", "64:ff9b::a60:1", "2001:db8::66", "64:ff9b::a60:1"),
	hostileNameAttack("a name is a private address", "10.96.0.1", "10.96.0.1"),
	privateURLAttack("a URL is an address of the cluster", "http://10.96.0.1/x.git", "the private address 10.96.0.1"),
	privateURLAttack("a URL is a metadata service that is not link-local", "http://100.100.100.200/x.git", "the address of a metadata service"),
	privateURLAttack("a URL is the metadata service in IPv6 notation", "http://[::ffff:169.254.169.254]/x.git", "a link-local address"),
	attack{
		name:    "a workspace reaches a Service of another namespace",
		attempt: "mallory creates a task whose repository is a Service of a namespace that she has no permissions in",
		defence: "the operator: Services of other namespaces must be listed in --workspace-private-git-servers",
		run: func(t *testing.T, w *target) {
			other, r := w.newNamespace(t), w.newNamespace(t)
			other.Create(service())
			mallory := r.As("mallory", "nestor-runner")
			task := r.lookTask(public("http://internal." + other.Namespace + ".svc/x.git"))
			r.checkAllowed(func() error { return mallory.Create(t.Context(), task) })
			r.checkFails("is a Service of the namespace " + other.Namespace + ", which workspaces of other namespaces must not reach")
		},
		control: inNamespace(func(r *testNamespace) {
			r.Create(service(), r.lookTask(public("http://internal."+r.Namespace+".svc/x.git")))
			r.Expect(r.egress()).To(HaveLen(2))
		}),
	},
)

var _ = class(
	"git",
	pushAttack("a push adds a CI definition", "true", "mkdir -p .github/workflows && echo on: push > .github/workflows/x.yml", ".github/**"),
	pushAttack("a push adds a CI definition in another case", "true", "echo x > .GitLab-CI.yml", ".GitLab-CI.yml"),
	pushAttack("a push renames a file to a CI definition", "true", "git mv f Jenkinsfile", "Jenkinsfile"),
	pushAttack("a push links the directory of CI definitions", "true", "mkdir ci && echo x > ci/x.yml && ln -s ci .github", ".github"),
	pushAttack("a push changes what a CI definition links to", "mkdir ci && echo x > ci/build && ln -s ci/build Jenkinsfile", "echo y > ci/build", "Jenkinsfile"),
	pushAttack("a push deletes the list of reviewers", "mkdir docs && echo '* @team' > docs/CODEOWNERS", "git rm -q docs/CODEOWNERS", "CODEOWNERS"),
	pushAttack("a push moves the list of reviewers away", "echo '* @team' > CODEOWNERS", "git mv CODEOWNERS reviewers.txt", "CODEOWNERS"),
)
