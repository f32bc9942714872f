// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1alpha1"
)

const (
	attackersRepository = "http://192.0.2.66/x.git"
	noSecretRight       = "you may not get the Secret db"
	noClaimRight        = "you may not get the PersistentVolumeClaim books"
)

// The servers have addresses reserved for documentation: the operator resolves names, and there are no name servers here.

// private returns a workspace with a repository and the Secret db.
func private(url string) *v1alpha1.Workspace {
	return &v1alpha1.Workspace{Git: &v1alpha1.GitSource{URL: url, SecretName: "db"}}
}

// books returns a workspace on the claim books.
func books() *v1alpha1.Workspace {
	return &v1alpha1.Workspace{PersistentVolumeClaim: &v1alpha1.ClaimSource{ClaimName: "books"}}
}

// db returns a Secret of the namespace that may be sent to these hosts.
func db(hosts string) *corev1.Secret {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "db"}, StringData: map[string]string{"username": "root", "password": "hunter2"}}
	if hosts != "" {
		secret.Annotations = map[string]string{v1alpha1.AnnotationGitHosts: hosts}
	}
	return secret
}

// booksClaim returns a claim of the namespace.
func booksClaim(labels map[string]string) *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "books", Labels: labels}}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	return claim
}

func (r *room) chatWith(w *v1alpha1.Workspace) *v1alpha1.AgentChat {
	return &v1alpha1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "chat"}, Spec: v1alpha1.AgentChatSpec{Workspace: w}}
}

// look returns a task that needs its workspace at once.
func (r *room) look(w *v1alpha1.Workspace) *v1alpha1.AgentTask {
	return &v1alpha1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "look"}, Spec: v1alpha1.AgentTaskSpec{
		Type: v1alpha1.TaskTool, Tool: "ls", Arguments: &runtime.RawExtension{Raw: []byte(`{}`)}, Workspace: w,
	}}
}

// mayGet allows a person to read one object.
func (r *room) mayGet(person, resource, name string) {
	r.t.Helper()
	r.create(
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: person + "-" + name}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{resource}, ResourceNames: []string{name}, Verbs: []string{"get"}},
		}},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: person + "-" + name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: person + "-" + name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: person}},
		},
	)
}

// allowed checks that a request succeeds as soon as the API server has the permissions.
func (r *room) allowed(request func() error) {
	r.t.Helper()
	r.Eventually(request).Should(Succeed())
}

// pods returns the pods of the room.
func (r *room) pods() []corev1.Pod {
	r.t.Helper()
	var pods corev1.PodList
	r.Expect(r.API.List(r.t.Context(), &pods, client.InNamespace(r.namespace))).To(Succeed())
	return pods.Items
}

// workspacePod waits for the pod of the room's only workspace.
func (r *room) workspacePod() corev1.Pod {
	r.t.Helper()
	r.Eventually(r.pods).Should(HaveLen(1))
	return r.pods()[0]
}

// mounts returns the volumes of a container.
func mounts(c corev1.Container) []string {
	var names []string
	for _, mount := range c.VolumeMounts {
		names = append(names, mount.Name)
	}
	return names
}

// notAllowed checks that the operator refuses the workspace of the task look and creates no pod for it.
func (r *room) notAllowed(words string) {
	r.t.Helper()
	r.Eventually(func() ([]metav1.Condition, error) {
		var task v1alpha1.AgentTask
		err := r.get("look", &task)
		return task.Status.Conditions, err
	}).Should(ContainElement(And(HaveField("Type", v1alpha1.ConditionSucceeded), HaveField("Status", metav1.ConditionUnknown),
		HaveField("Reason", v1alpha1.ReasonWorkspaceNotAllowed), HaveField("Message", ContainSubstring(words)))))
	r.Expect(r.pods()).To(BeEmpty())
}

// sends checks that only the clone of the task look gets the Secret.
func (r *room) sends() {
	r.t.Helper()
	pod := r.workspacePod()
	r.Expect(pod.Spec.Volumes).To(ContainElement(HaveField("Secret.SecretName", "db")))
	r.Expect(mounts(pod.Spec.InitContainers[0])).To(ContainElement("git-credentials"))
	r.Expect(mounts(pod.Spec.Containers[0])).NotTo(ContainElement("git-credentials"))
}

// sentTo is an attack on a Secret with hosts by an administrator, to whom no policy applies; the control names the host of the
// URL.
func sentTo(name, url, hosts, entry string) attack {
	return attack{
		name:     name,
		attempts: "a person to whom no policy applies creates a task with " + url + " and a Secret that may be sent to: " + hosts,
		stops:    "the operator: the Secret's annotation nestor.dev/git-hosts does not name the server",
		run: func(t *testing.T, w *world) {
			r := w.room(t)
			r.create(db(hosts), r.look(private(url)))
			r.notAllowed(`The Secret "db" may not be sent to `)
		},
		control: func(t *testing.T, w *world) {
			r := w.room(t)
			r.create(db(entry), r.look(private(url)))
			r.sends()
		},
	}
}

// refusedURL is a URL that leads somewhere else than it appears to, or runs a command.
func refusedURL(name, url, words string) attack {
	return attack{
		name:     name,
		attempts: "mallory creates a chat with the repository " + url,
		stops:    "the API: a repository has a plain https, http or ssh URL",
		run: func(t *testing.T, w *world) {
			r := w.room(t)
			workspace := &v1alpha1.Workspace{Git: &v1alpha1.GitSource{URL: url}}
			r.Expect(r.as("mallory", "nestor-user").Create(t.Context(), r.chatWith(workspace))).To(MatchError(ContainSubstring(words)))
		},
		control: func(t *testing.T, w *world) {
			r := w.room(t)
			workspace := &v1alpha1.Workspace{Git: &v1alpha1.GitSource{URL: "https://git.example.com/team/app@v2.git"}}
			r.Expect(r.as("mallory", "nestor-user").Create(t.Context(), r.chatWith(workspace))).To(Succeed())
		},
	}
}

const notPlain = "must be an https, http or ssh URL"

var _ = class(
	"workspaces",
	attack{
		name:     "a chat sends a Secret to its user's server",
		attempts: "mallory, who may not read Secrets, creates a chat with her own repository and the Secret db",
		stops:    "the chats policy: the requester must be allowed to get the Secret",
		run: func(t *testing.T, w *world) {
			r := w.room(t)
			r.create(db("http://192.0.2.66"))
			r.Expect(r.as("mallory", "nestor-user").Create(t.Context(), r.chatWith(private(attackersRepository)))).To(MatchError(ContainSubstring(noSecretRight)))
		},
		control: func(t *testing.T, w *world) {
			r := w.room(t)
			r.create(db("http://192.0.2.66"))
			alice := r.as("alice", "nestor-user")
			r.mayGet("alice", "secrets", "db")
			r.allowed(func() error { return alice.Create(t.Context(), r.chatWith(private(attackersRepository))) })
		},
	},
	attack{
		name:     "a chat gets a workspace with a Secret later",
		attempts: "mallory creates a chat without a workspace, and adds one with a Secret that she may not read",
		stops:    "the chats policy, for changes as for creation",
		run: func(t *testing.T, w *world) {
			r := w.room(t)
			r.create(db("http://192.0.2.66"))
			mallory, chat := r.as("mallory", "nestor-user"), r.chatWith(nil)
			r.Expect(mallory.Create(t.Context(), chat)).To(Succeed())
			r.Eventually(func() error {
				r.Expect(mallory.Get(t.Context(), client.ObjectKeyFromObject(chat), chat)).To(Succeed())
				chat.Spec.Workspace = private(attackersRepository)
				return mallory.Update(t.Context(), chat)
			}).Should(MatchError(ContainSubstring(noSecretRight)))
		},
		control: func(t *testing.T, w *world) {
			r := w.room(t)
			r.create(db("http://192.0.2.66"))
			alice, chat := r.as("alice", "nestor-user"), r.chatWith(nil)
			r.mayGet("alice", "secrets", "db")
			r.Expect(alice.Create(t.Context(), chat)).To(Succeed())
			r.allowed(func() error {
				if err := alice.Get(t.Context(), client.ObjectKeyFromObject(chat), chat); err != nil {
					return err
				}
				chat.Spec.Workspace = private(attackersRepository)
				return alice.Update(t.Context(), chat)
			})
		},
	},
	attack{
		name:     "a chat with a Secret is used for other work",
		attempts: "mallory changes the role of a chat that alice created with a Secret which mallory may not read",
		stops:    "the chats policy: a person who changes the spec must be allowed to get the Secret",
		run: func(t *testing.T, w *world) {
			r := w.room(t)
			r.create(db("git.example.com"), r.chatWith(private("https://git.example.com/team/app.git")))
			mallory, chat := r.as("mallory", "nestor-user"), r.chatWith(nil)
			err := mallory.Patch(t.Context(), chat, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"role":"coder"}}`)))
			r.Expect(err).To(MatchError(ContainSubstring(noSecretRight)))
		},
		control: func(t *testing.T, w *world) {
			r := w.room(t)
			r.create(r.chatWith(&v1alpha1.Workspace{Git: &v1alpha1.GitSource{URL: "https://git.example.com/team/app.git"}}))
			mallory, chat := r.as("mallory", "nestor-user"), r.chatWith(nil)
			r.Expect(mallory.Patch(t.Context(), chat, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"role":"coder"}}`)))).To(Succeed())
		},
	},
	attack{
		name:     "a pipeline's task sends a Secret to another server",
		attempts: "mallory, who may run tasks but not read Secrets, creates a task with her own repository and a Secret",
		stops:    "the tasks policy: the requester must be allowed to get the Secret",
		run: func(t *testing.T, w *world) {
			r := w.room(t)
			r.create(db("http://192.0.2.66"))
			r.Expect(r.as("mallory", "nestor-runner").Create(t.Context(), r.look(private(attackersRepository)))).To(MatchError(ContainSubstring(noSecretRight)))
		},
		control: func(t *testing.T, w *world) {
			r := w.room(t)
			r.create(db("http://192.0.2.66"))
			alice := r.as("alice", "nestor-runner")
			r.mayGet("alice", "secrets", "db")
			r.allowed(func() error { return alice.Create(t.Context(), r.look(private(attackersRepository))) })
			r.sends()
		},
	},
	attack{
		name:     "a chat mounts another person's volume",
		attempts: "mallory, who may not read claims, creates a chat on the volume books",
		stops:    "the chats policy: the requester must be allowed to get the claim",
		run: func(t *testing.T, w *world) {
			r := w.room(t)
			r.create(booksClaim(map[string]string{v1alpha1.LabelWorkspace: "true"}))
			r.Expect(r.as("mallory", "nestor-user").Create(t.Context(), r.chatWith(books()))).To(MatchError(ContainSubstring(noClaimRight)))
		},
		control: func(t *testing.T, w *world) {
			r := w.room(t)
			r.create(booksClaim(map[string]string{v1alpha1.LabelWorkspace: "true"}))
			alice := r.as("alice", "nestor-user")
			r.mayGet("alice", "persistentvolumeclaims", "books")
			r.allowed(func() error { return alice.Create(t.Context(), r.chatWith(books())) })
		},
	},
	attack{
		name:     "a pipeline's task mounts another person's volume",
		attempts: "mallory, who may run tasks but not read claims, creates a task on the volume books",
		stops:    "the tasks policy: the requester must be allowed to get the claim",
		run: func(t *testing.T, w *world) {
			r := w.room(t)
			r.create(booksClaim(map[string]string{v1alpha1.LabelWorkspace: "true"}))
			r.Expect(r.as("mallory", "nestor-runner").Create(t.Context(), r.look(books()))).To(MatchError(ContainSubstring(noClaimRight)))
		},
		control: func(t *testing.T, w *world) {
			r := w.room(t)
			r.create(booksClaim(map[string]string{v1alpha1.LabelWorkspace: "true"}))
			alice := r.as("alice", "nestor-runner")
			r.mayGet("alice", "persistentvolumeclaims", "books")
			r.allowed(func() error { return alice.Create(t.Context(), r.look(books())) })
			r.Expect(r.workspacePod().Spec.Volumes).To(ContainElement(HaveField("PersistentVolumeClaim.ClaimName", "books")))
		},
	},
	attack{
		name:     "a workspace mounts a volume that is not for agents",
		attempts: "a person to whom no policy applies creates a task on a claim of a database",
		stops:    "the operator: the claim does not have the label nestor.dev/workspace",
		run: func(t *testing.T, w *world) {
			r := w.room(t)
			r.create(booksClaim(nil), r.look(books()))
			r.notAllowed(`The PersistentVolumeClaim "books" is not for workspaces`)
		},
		control: func(t *testing.T, w *world) {
			r := w.room(t)
			r.create(booksClaim(map[string]string{v1alpha1.LabelWorkspace: "true"}), r.look(books()))
			r.Expect(r.workspacePod().Spec.Volumes).To(ContainElement(HaveField("PersistentVolumeClaim.ClaimName", "books")))
		},
	},
	sentTo("a Secret without hosts is sent", attackersRepository, "", "http://192.0.2.66"),
	sentTo("a Secret is sent to a server that it does not name", "https://192.0.2.66/x.git", "192.0.2.7", "192.0.2.66"),
	sentTo("a Secret is sent to a server with a similar name", "https://192.0.2.77/x.git", "192.0.2.7", "192.0.2.77"),
	sentTo("a Secret is sent to another service of its server", "https://192.0.2.7:8443/x.git", "192.0.2.7", "192.0.2.7:8443"),
	sentTo("a Secret is sent in the clear", "http://192.0.2.7/x.git", "192.0.2.7", "http://192.0.2.7"),
	refusedURL("a URL has two hosts", "https://git.example.com?@attacker.example/x.git", notPlain),
	refusedURL("a URL hides its host behind a user", "https://git.example.com@attacker.example/x.git", "must not contain a password"),
	refusedURL("a URL is an option of ssh", "ssh://-oProxyCommand=id/x.git", notPlain),
	refusedURL("a URL is a command", "ext::sh -c id", notPlain),
	refusedURL("a URL is a file of the pod", "file:///var/run/nestor/git", notPlain),
	attack{
		name:     "a ref is an option of git",
		attempts: "mallory creates a chat whose ref is --upload-pack=id",
		stops:    "the API: a ref does not begin with a dash",
		run: func(t *testing.T, w *world) {
			r := w.room(t)
			workspace := &v1alpha1.Workspace{Git: &v1alpha1.GitSource{URL: "https://git.example.com/x.git", Ref: "--upload-pack=id"}}
			r.Expect(r.as("mallory", "nestor-user").Create(t.Context(), r.chatWith(workspace))).To(MatchError(ContainSubstring("no '-' at the beginning")))
		},
		control: func(t *testing.T, w *world) {
			r := w.room(t)
			workspace := &v1alpha1.Workspace{Git: &v1alpha1.GitSource{URL: "https://git.example.com/x.git", Ref: "upload-pack"}}
			r.Expect(r.as("mallory", "nestor-user").Create(t.Context(), r.chatWith(workspace))).To(Succeed())
		},
	},
)
