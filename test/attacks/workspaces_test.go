// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

const (
	attackersRepository = "http://192.0.2.66/x.git"
	noSecretRight       = "you may not get the Secret db"
	noClaimRight        = "you may not get the PersistentVolumeClaim books"
)

// The servers have addresses reserved for documentation: the operator resolves names, and there are no name servers
// here.

func privateWorkspace(url string) *v1beta1.Workspace {
	return &v1beta1.Workspace{Git: &v1beta1.GitSource{URL: url, SecretName: "db"}}
}

func claimWorkspace() *v1beta1.Workspace {
	return &v1beta1.Workspace{PersistentVolumeClaim: &v1beta1.ClaimSource{ClaimName: "books"}}
}

// newSecret returns a Secret of the namespace that may be sent to these hosts.
func newSecret(hosts string) *corev1.Secret {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "db"}, StringData: map[string]string{"username": "root", "password": "hunter2"}}
	if hosts != "" {
		secret.Annotations = map[string]string{v1beta1.AnnotationGitHosts: hosts}
	}
	return secret
}

func newClaim(labels map[string]string) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "books", Labels: labels}}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	return claim
}

func (r *testNamespace) chatWith(w *v1beta1.Workspace) *v1beta1.AgentChat {
	return &v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "chat"}, Spec: v1beta1.AgentChatSpec{Workspace: w}}
}

// lookTask returns a task that needs its workspace at once.
func (r *testNamespace) lookTask(w *v1beta1.Workspace) *v1beta1.AgentTask {
	return &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "look"}, Spec: v1beta1.AgentTaskSpec{
		Type: v1beta1.TaskTool, Tool: "ls", Arguments: &runtime.RawExtension{Raw: []byte(`{}`)}, Workspace: w,
	}}
}

func (r *testNamespace) grantGet(person, resource, name string) {
	r.t.Helper()
	r.Create(
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: person + "-" + name}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{resource}, ResourceNames: []string{name}, Verbs: []string{"get"}},
		}},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: person + "-" + name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: person + "-" + name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: person}},
		},
	)
}

// checkAllowed checks that a request succeeds as soon as the API server has the permissions.
func (r *testNamespace) checkAllowed(request func() error) {
	r.t.Helper()
	r.Eventually(request).Should(Succeed())
}

func (r *testNamespace) pods() []corev1.Pod {
	r.t.Helper()
	var pods corev1.PodList
	r.Expect(r.List(&pods)).To(Succeed())
	return pods.Items
}

// workspacePod waits for the pod of the room's only workspace.
func (r *testNamespace) workspacePod() corev1.Pod {
	r.t.Helper()
	r.Eventually(r.pods).Should(HaveLen(1))
	return r.pods()[0]
}

func mounts(c corev1.Container) []string {
	var names []string
	for _, mount := range c.VolumeMounts {
		names = append(names, mount.Name)
	}
	return names
}

// checkNotAllowed checks that the operator refuses the workspace of the task look and creates no pod for it.
func (r *testNamespace) checkNotAllowed(words string) {
	r.t.Helper()
	r.Eventually(func() ([]metav1.Condition, error) {
		var task v1beta1.AgentTask
		err := r.Get("look", &task)
		return task.Status.Conditions, err
	}).Should(ContainElement(And(HaveField("Type", v1beta1.ConditionSucceeded), HaveField("Status", metav1.ConditionUnknown),
		HaveField("Reason", v1beta1.ReasonWorkspaceNotAllowed), HaveField("Message", ContainSubstring(words)))))
	r.Expect(r.pods()).To(BeEmpty())
}

// checkSecretSent checks that only the clone of the task look gets the Secret.
func (r *testNamespace) checkSecretSent() {
	r.t.Helper()
	pod := r.workspacePod()
	r.Expect(pod.Spec.Volumes).To(ContainElement(HaveField("Secret.SecretName", "db")))
	r.Expect(mounts(pod.Spec.InitContainers[0])).To(ContainElement("git-credentials"))
	r.Expect(mounts(pod.Spec.Containers[0])).NotTo(ContainElement("git-credentials"))
}

// secretHostAttack is an attack on a Secret with hosts by an administrator, to whom no policy applies; the control
// names the host of the URL.
func secretHostAttack(name, url, hosts, entry string) attack {
	return attack{
		name:    name,
		attempt: "a person to whom no policy applies creates a task with " + url + " and a Secret that may be sent to: " + hosts,
		defence: "the operator: the Secret's annotation nestor.dev/git-hosts does not name the server",
		run: inNamespace(func(r *testNamespace) {
			r.Create(newSecret(hosts), r.lookTask(privateWorkspace(url)))
			r.checkNotAllowed(`The Secret "db" may not be sent to `)
		}),
		control: inNamespace(func(r *testNamespace) {
			r.Create(newSecret(entry), r.lookTask(privateWorkspace(url)))
			r.checkSecretSent()
		}),
	}
}

// refusedURLAttack is a URL that leads somewhere else than it appears to, or runs a command.
func refusedURLAttack(name, url, words string) attack {
	return attack{
		name:    name,
		attempt: "mallory creates a chat with the repository " + url,
		defence: "the API: a repository has a plain https, http or ssh URL",
		run: inNamespace(func(r *testNamespace) {
			workspace := &v1beta1.Workspace{Git: &v1beta1.GitSource{URL: url}}
			r.Expect(r.As("mallory", "nestor-user").Create(r.t.Context(), r.chatWith(workspace))).To(MatchError(ContainSubstring(words)))
		}),
		control: inNamespace(func(r *testNamespace) {
			workspace := &v1beta1.Workspace{Git: &v1beta1.GitSource{URL: "https://git.example.com/team/app@v2.git"}}
			r.Expect(r.As("mallory", "nestor-user").Create(r.t.Context(), r.chatWith(workspace))).To(Succeed())
		}),
	}
}

const notPlain = "must be an https, http or ssh URL"

var _ = class(
	"workspaces",
	attack{
		name:    "a chat sends a Secret to its user's server",
		attempt: "mallory, who may not read Secrets, creates a chat with her own repository and the Secret db",
		defence: "the chats policy: the requester must be allowed to get the Secret",
		run: inNamespace(func(r *testNamespace) {
			r.Create(newSecret("http://192.0.2.66"))
			r.Expect(r.As("mallory", "nestor-user").Create(r.t.Context(), r.chatWith(privateWorkspace(attackersRepository)))).To(MatchError(ContainSubstring(noSecretRight)))
		}),
		control: inNamespace(func(r *testNamespace) {
			r.Create(newSecret("http://192.0.2.66"))
			alice := r.As("alice", "nestor-user")
			r.grantGet("alice", "secrets", "db")
			r.checkAllowed(func() error { return alice.Create(r.t.Context(), r.chatWith(privateWorkspace(attackersRepository))) })
		}),
	},
	attack{
		name:    "a chat gets a workspace with a Secret later",
		attempt: "mallory creates a chat without a workspace, and adds one with a Secret that she may not read",
		defence: "the chats policy, for changes as for creation",
		run: inNamespace(func(r *testNamespace) {
			r.Create(newSecret("http://192.0.2.66"))
			mallory, chat := r.As("mallory", "nestor-user"), r.chatWith(nil)
			r.Expect(mallory.Create(r.t.Context(), chat)).To(Succeed())
			r.Eventually(func() error {
				r.Expect(mallory.Get(r.t.Context(), client.ObjectKeyFromObject(chat), chat)).To(Succeed())
				chat.Spec.Workspace = privateWorkspace(attackersRepository)
				return mallory.Update(r.t.Context(), chat)
			}).Should(MatchError(ContainSubstring(noSecretRight)))
		}),
		control: inNamespace(func(r *testNamespace) {
			r.Create(newSecret("http://192.0.2.66"))
			alice, chat := r.As("alice", "nestor-user"), r.chatWith(nil)
			r.grantGet("alice", "secrets", "db")
			r.Expect(alice.Create(r.t.Context(), chat)).To(Succeed())
			r.checkAllowed(func() error {
				if err := alice.Get(r.t.Context(), client.ObjectKeyFromObject(chat), chat); err != nil {
					return err
				}
				chat.Spec.Workspace = privateWorkspace(attackersRepository)
				return alice.Update(r.t.Context(), chat)
			})
		}),
	},
	attack{
		name:    "a chat with a Secret is used for other work",
		attempt: "mallory changes the role of a chat that alice created with a Secret which mallory may not read",
		defence: "the chats policy: a person who changes the spec must be allowed to get the Secret",
		run: inNamespace(func(r *testNamespace) {
			r.Create(newSecret("git.example.com"), r.chatWith(privateWorkspace("https://git.example.com/team/app.git")))
			mallory, chat := r.As("mallory", "nestor-user"), r.chatWith(nil)
			err := mallory.Patch(r.t.Context(), chat, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"role":"coder"}}`)))
			r.Expect(err).To(MatchError(ContainSubstring(noSecretRight)))
		}),
		control: inNamespace(func(r *testNamespace) {
			r.Create(r.chatWith(&v1beta1.Workspace{Git: &v1beta1.GitSource{URL: "https://git.example.com/team/app.git"}}))
			mallory, chat := r.As("mallory", "nestor-user"), r.chatWith(nil)
			r.Expect(mallory.Patch(r.t.Context(), chat, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"role":"coder"}}`)))).To(Succeed())
		}),
	},
	attack{
		name:    "a pipeline's task sends a Secret to another server",
		attempt: "mallory, who may run tasks but not read Secrets, creates a task with her own repository and a Secret",
		defence: "the tasks policy: the requester must be allowed to get the Secret",
		run: inNamespace(func(r *testNamespace) {
			r.Create(newSecret("http://192.0.2.66"))
			r.Expect(r.As("mallory", "nestor-runner").Create(r.t.Context(), r.lookTask(privateWorkspace(attackersRepository)))).To(MatchError(ContainSubstring(noSecretRight)))
		}),
		control: inNamespace(func(r *testNamespace) {
			r.Create(newSecret("http://192.0.2.66"))
			alice := r.As("alice", "nestor-runner")
			r.grantGet("alice", "secrets", "db")
			r.checkAllowed(func() error { return alice.Create(r.t.Context(), r.lookTask(privateWorkspace(attackersRepository))) })
			r.checkSecretSent()
		}),
	},
	attack{
		name:    "a chat mounts another person's volume",
		attempt: "mallory, who may not read claims, creates a chat on the volume books",
		defence: "the chats policy: the requester must be allowed to get the claim",
		run: inNamespace(func(r *testNamespace) {
			r.Create(newClaim(map[string]string{v1beta1.LabelWorkspace: "true"}))
			r.Expect(r.As("mallory", "nestor-user").Create(r.t.Context(), r.chatWith(claimWorkspace()))).To(MatchError(ContainSubstring(noClaimRight)))
		}),
		control: inNamespace(func(r *testNamespace) {
			r.Create(newClaim(map[string]string{v1beta1.LabelWorkspace: "true"}))
			alice := r.As("alice", "nestor-user")
			r.grantGet("alice", "persistentvolumeclaims", "books")
			r.checkAllowed(func() error { return alice.Create(r.t.Context(), r.chatWith(claimWorkspace())) })
		}),
	},
	attack{
		name:    "a pipeline's task mounts another person's volume",
		attempt: "mallory, who may run tasks but not read claims, creates a task on the volume books",
		defence: "the tasks policy: the requester must be allowed to get the claim",
		run: inNamespace(func(r *testNamespace) {
			r.Create(newClaim(map[string]string{v1beta1.LabelWorkspace: "true"}))
			r.Expect(r.As("mallory", "nestor-runner").Create(r.t.Context(), r.lookTask(claimWorkspace()))).To(MatchError(ContainSubstring(noClaimRight)))
		}),
		control: inNamespace(func(r *testNamespace) {
			r.Create(newClaim(map[string]string{v1beta1.LabelWorkspace: "true"}))
			alice := r.As("alice", "nestor-runner")
			r.grantGet("alice", "persistentvolumeclaims", "books")
			r.checkAllowed(func() error { return alice.Create(r.t.Context(), r.lookTask(claimWorkspace())) })
			r.Expect(r.workspacePod().Spec.Volumes).To(ContainElement(HaveField("PersistentVolumeClaim.ClaimName", "books")))
		}),
	},
	attack{
		name:    "a workspace mounts a volume that is not for agents",
		attempt: "a person to whom no policy applies creates a task on a claim of a database",
		defence: "the operator: the claim does not have the label nestor.dev/workspace",
		run: inNamespace(func(r *testNamespace) {
			r.Create(newClaim(nil), r.lookTask(claimWorkspace()))
			r.checkNotAllowed(`The PersistentVolumeClaim "books" is not for workspaces`)
		}),
		control: inNamespace(func(r *testNamespace) {
			r.Create(newClaim(map[string]string{v1beta1.LabelWorkspace: "true"}), r.lookTask(claimWorkspace()))
			r.Expect(r.workspacePod().Spec.Volumes).To(ContainElement(HaveField("PersistentVolumeClaim.ClaimName", "books")))
		}),
	},
	secretHostAttack("a Secret without hosts is sent", attackersRepository, "", "http://192.0.2.66"),
	secretHostAttack("a Secret is sent to a server that it does not name", "https://192.0.2.66/x.git", "192.0.2.7", "192.0.2.66"),
	secretHostAttack("a Secret is sent to a server with a similar name", "https://192.0.2.77/x.git", "192.0.2.7", "192.0.2.77"),
	secretHostAttack("a Secret is sent to another service of its server", "https://192.0.2.7:8443/x.git", "192.0.2.7", "192.0.2.7:8443"),
	secretHostAttack("a Secret is sent in the clear", "http://192.0.2.7/x.git", "192.0.2.7", "http://192.0.2.7"),
	refusedURLAttack("a URL has two hosts", "https://git.example.com?@attacker.example/x.git", notPlain),
	refusedURLAttack("a URL hides its host behind a user", "https://git.example.com@attacker.example/x.git", "must not contain a password"),
	refusedURLAttack("a URL is an option of ssh", "ssh://-oProxyCommand=id/x.git", notPlain),
	refusedURLAttack("a URL is a command", "ext::sh -c id", notPlain),
	refusedURLAttack("a URL is a file of the pod", "file:///var/run/nestor/git", notPlain),
	attack{
		name:    "a ref is an option of git",
		attempt: "mallory creates a chat whose ref is --upload-pack=id",
		defence: "the API: a ref does not begin with a dash",
		run: inNamespace(func(r *testNamespace) {
			workspace := &v1beta1.Workspace{Git: &v1beta1.GitSource{URL: "https://git.example.com/x.git", Ref: "--upload-pack=id"}}
			r.Expect(r.As("mallory", "nestor-user").Create(r.t.Context(), r.chatWith(workspace))).To(MatchError(ContainSubstring("no '-' at the beginning")))
		}),
		control: inNamespace(func(r *testNamespace) {
			workspace := &v1beta1.Workspace{Git: &v1beta1.GitSource{URL: "https://git.example.com/x.git", Ref: "upload-pack"}}
			r.Expect(r.As("mallory", "nestor-user").Create(r.t.Context(), r.chatWith(workspace))).To(Succeed())
		}),
	},
)
