// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/tool/workspace/pod"
)

func scratch(size string) *v1beta1.Workspace {
	return &v1beta1.Workspace{EmptyDir: &v1beta1.EmptyDirSource{SizeLimit: size}}
}

func public(url string) *v1beta1.Workspace {
	return &v1beta1.Workspace{Git: &v1beta1.GitSource{URL: url}}
}

// egress returns the allowed egress of the room's only workspace pod.
func (r *testNamespace) egress() []networkingv1.NetworkPolicyEgressRule {
	r.t.Helper()
	var policy networkingv1.NetworkPolicy
	r.Expect(r.Get(r.workspacePod().Name, &policy)).To(Succeed())
	r.Expect(policy.Spec.PolicyTypes).To(ContainElement(networkingv1.PolicyTypeEgress))
	return policy.Spec.Egress
}

// plantedObjectAttack is an attack with an object that mallory creates under the name of one of a workspace's objects
// before the operator does.
func plantedObjectAttack(name, attempts string, object client.Object, owned bool) attack {
	plant := func(t *testing.T, w *target, from string) (*testNamespace, client.Object) {
		t.Helper()
		r := w.newNamespace(t)
		mallory := r.As("mallory", "edit")
		chat := r.chatWith(scratch("1Gi"))
		// The name of the trap contains the chat's UID: the chat must not start before the trap exists. A role is resolved
		// before the objects of a workspace are checked, so no reconcile can check them before the trap and start the chat
		// after it.
		chat.Spec.Role = "later"
		r.Create(chat)
		trap, ok := object.DeepCopyObject().(client.Object)
		r.Expect(ok).To(BeTrue())
		trap.SetNamespace(r.Namespace)
		trap.SetName(pod.Spec{Owner: pod.Owner{Name: chat.Name, UID: string(chat.UID)}}.Name() + from)
		if owned {
			trap.SetOwnerReferences([]metav1.OwnerReference{{
				APIVersion: v1beta1.GroupVersion.String(), Kind: "AgentChat", Name: chat.Name, UID: chat.UID, Controller: new(true),
			}})
		}
		r.checkAllowed(func() error { return mallory.Create(t.Context(), trap) })
		r.Create(&v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Name: "later"}, Spec: v1beta1.AgentRoleSpec{SystemPrompt: "You greet people."}})
		r.Expect(r.API.Create(t.Context(), r.message("hello", ""))).To(Succeed())
		return r, trap
	}
	ready := func(r *testNamespace) func() ([]metav1.Condition, error) {
		return func() ([]metav1.Condition, error) {
			var chat v1beta1.AgentChat
			err := r.Get("chat", &chat)
			return chat.Status.Conditions, err
		}
	}
	return attack{
		name: name, attempt: attempts, defence: "the operator: it uses objects that the chat or task owns, by UID, and that say what they should; the condition names the others",
		run: func(t *testing.T, w *target) {
			r, trap := plant(t, w, "")
			r.Eventually(ready(r)).Should(ContainElement(And(HaveField("Type", v1beta1.ConditionReady), HaveField("Status", metav1.ConditionFalse),
				HaveField("Reason", v1beta1.ReasonWorkspaceUnavailable), HaveField("Message", ContainSubstring(trap.GetName()+" has the name of a workspace object but was not created by the operator: delete it")))))
		},
		control: func(t *testing.T, w *target) {
			r, _ := plant(t, w, "-2")
			r.Eventually(ready(r)).Should(ContainElement(And(HaveField("Type", v1beta1.ConditionReady), HaveField("Status", metav1.ConditionTrue))))
		},
	}
}

// directory returns a task that reads a file in a directory of the operator's machine.
func (r *testNamespace) directory(path, file string) *v1beta1.AgentTask {
	r.t.Helper()
	task := r.lookTask(&v1beta1.Workspace{Directory: &v1beta1.DirectorySource{Path: path}})
	task.Spec.Tool, task.Spec.Arguments = "read", &runtime.RawExtension{Raw: []byte(`{"path":"` + file + `"}`)}
	return task
}

// checkFileRead checks that the task of the room has read a file.
func (r *testNamespace) checkFileRead(content string) {
	r.t.Helper()
	r.Eventually(func() (string, error) {
		var task v1beta1.AgentTask
		if err := r.Get("look", &task); err != nil || task.Status.Result == nil {
			return "", err
		}
		return task.Status.Result.Summary + task.Status.Result.Details, nil
	}).Should(ContainSubstring(content))
}

// escapeAttack is an attack that leaves the directories that the operator may serve. way returns the path and the file
// to read.
func escapeAttack(name, attempts string, words string, way func(t *testing.T, inside, outside string) (path, file string)) attack {
	try := func(t *testing.T, w *target, outside string) *testNamespace {
		t.Helper()
		r := w.newNamespace(t)
		inside := filepath.Join(w.files, r.Namespace)
		r.Expect(os.Mkdir(inside, 0o755)).To(Succeed())
		r.Expect(os.WriteFile(filepath.Join(outside, "secret.txt"), []byte("the crown jewels"), 0o600)).To(Succeed())
		path, file := way(t, inside, outside)
		r.Create(r.directory(path, file))
		return r
	}
	return attack{
		name: name, attempt: attempts, defence: "the operator resolves links before it compares with --local-workspaces, and opens what it compared; file tools cannot leave the root",
		run: func(t *testing.T, w *target) {
			r := try(t, w, t.TempDir())
			r.Eventually(func() (string, error) {
				var task v1beta1.AgentTask
				if err := r.Get("look", &task); err != nil {
					return "", err
				}
				output := ""
				for _, c := range task.Status.Conditions {
					output += c.Message
				}
				if task.Status.Error != nil {
					output += task.Status.Error.Message
				}
				return output, nil
			}).Should(And(ContainSubstring(words), Not(ContainSubstring("jewels"))))
		},
		control: func(t *testing.T, w *target) {
			r := w.newNamespace(t)
			inside := filepath.Join(w.files, r.Namespace)
			r.Expect(os.Mkdir(inside, 0o755)).To(Succeed())
			r.Expect(os.WriteFile(filepath.Join(inside, "secret.txt"), []byte("the crown jewels"), 0o600)).To(Succeed())
			r.Create(r.directory(inside, "secret.txt"))
			r.checkFileRead("the crown jewels")
		},
	}
}

var _ = class(
	"workspace-pods",
	attack{
		name:    "a workspace fills its node",
		attempt: "mallory creates a chat with an emptyDir of 90Gi",
		defence: "the operator: --workspace-max-size",
		run: inNamespace(func(r *testNamespace) {
			r.Create(r.lookTask(scratch("90Gi")))
			r.checkNotAllowed("The workspace requests 90Gi, and this operator allows 20Gi")
		}),
		control: inNamespace(func(r *testNamespace) {
			r.Create(r.lookTask(scratch("1Gi")))
			for _, volume := range r.workspacePod().Spec.Volumes {
				r.Expect(volume.EmptyDir.SizeLimit.Value()).To(BeNumerically("<=", 1<<30), volume.Name)
			}
		}),
	},
	attack{
		name:    "a workspace asks for more than any node has",
		attempt: "mallory creates a chat with an emptyDir of 1Pi",
		defence: "the API: at most 100Gi",
		run: inNamespace(func(r *testNamespace) {
			r.Expect(r.As("mallory", "nestor-user").Create(r.t.Context(), r.chatWith(scratch("1Pi")))).To(MatchError(ContainSubstring("must be at most 100Gi")))
		}),
		control: inNamespace(func(r *testNamespace) {
			r.Expect(r.As("mallory", "nestor-user").Create(r.t.Context(), r.chatWith(scratch("100Gi")))).To(Succeed())
		}),
	},
	attack{
		name:    "a workspace sends files to any server",
		attempt: "a command in a workspace with a repository connects to another server, or to a name server that forwards its queries",
		defence: "the network policy allows only the address and the port of the git server, and no name servers",
		run: inNamespace(func(r *testNamespace) {
			r.Create(r.lookTask(public("https://192.0.2.7/team/app.git")))
			for _, rule := range r.egress() {
				r.Expect(rule.Ports).To(HaveEach(HaveField("Port.IntVal", int32(443))))
				r.Expect(rule.To).NotTo(BeEmpty(), "no peers would allow all")
				r.Expect(rule.To).To(HaveEach(HaveField("IPBlock.CIDR", "192.0.2.7/32")))
			}
		}),
		control: inNamespace(func(r *testNamespace) {
			r.Create(r.lookTask(public("https://192.0.2.7/team/app.git")))
			r.Expect(r.egress()).To(HaveLen(1), "the git server itself can be reached")
		}),
	},
	attack{
		name:    "a workspace without a repository reaches the network",
		attempt: "a command in an emptyDir connects to the Internet",
		defence: "the network policy: nothing out",
		run: inNamespace(func(r *testNamespace) {
			r.Create(r.lookTask(scratch("1Gi")))
			r.Expect(r.egress()).To(BeEmpty())
		}),
		control: inNamespace(func(r *testNamespace) {
			r.Create(r.lookTask(public("https://192.0.2.7/team/app.git")))
			r.Expect(r.egress()).NotTo(BeEmpty())
		}),
	},
	attack{
		name:    "a repository is the metadata service of the cloud",
		attempt: "mallory creates a task whose repository is at 169.254.169.254",
		defence: "the operator refuses link-local, loopback and similar addresses for git servers",
		run: inNamespace(func(r *testNamespace) {
			mallory := r.As("mallory", "nestor-runner")
			r.checkAllowed(func() error {
				return mallory.Create(r.t.Context(), r.lookTask(public("http://169.254.169.254/latest/x.git")))
			})
			r.checkNotAllowed("which workspaces must not reach: it is a link-local address")
		}),
		control: inNamespace(func(r *testNamespace) {
			r.Create(r.lookTask(public("http://192.0.2.7/latest/x.git")))
			r.workspacePod()
		}),
	},
	plantedObjectAttack("a foreign Service gets the token", "mallory plants a Service that leads to a pod of hers",
		&corev1.Service{Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "trap"}, Ports: []corev1.ServicePort{{Port: pod.Port}}}}, false),
	plantedObjectAttack("a Service that claims the chat as its owner gets the token", "mallory plants a Service that leads to her pod, with the chat as its owner",
		&corev1.Service{Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "trap"}, Ports: []corev1.ServicePort{{Port: pod.Port}}}}, true),
	plantedObjectAttack("a foreign Secret is the token", "mallory plants a Secret with a token that she knows",
		&corev1.Secret{StringData: map[string]string{pod.TokenKey: "0123456789abcdef"}}, false),
	plantedObjectAttack("a foreign NetworkPolicy guards the pod", "mallory plants a policy that lets everything out",
		&networkingv1.NetworkPolicy{Spec: networkingv1.NetworkPolicySpec{Egress: []networkingv1.NetworkPolicyEgressRule{{}}}}, false),
	plantedObjectAttack("a foreign pod is the workspace", "mallory plants a pod with the labels of a workspace's",
		&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels()},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "trap", Image: "example.com/trap"}}},
		}, false),
	escapeAttack("a directory workspace is any directory", "a task has a directory outside of --local-workspaces", "is not below one that --local-workspaces names",
		func(_ *testing.T, _, outside string) (string, string) { return outside, "secret.txt" }),
	escapeAttack("a directory workspace climbs out", "a task has a directory that leaves --local-workspaces by way of ..", "is not below one that --local-workspaces names",
		func(t *testing.T, inside, outside string) (string, string) {
			t.Helper()
			way, err := filepath.Rel(inside, outside)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			return inside + "/" + way, "secret.txt"
		}),
	escapeAttack("a directory workspace is a link", "a task has a directory that is a link to one outside", "is not below one that --local-workspaces names",
		func(t *testing.T, inside, outside string) (string, string) {
			t.Helper()
			NewWithT(t).Expect(os.Symlink(outside, filepath.Join(inside, "link"))).To(Succeed())
			return filepath.Join(inside, "link"), "secret.txt"
		}),
	escapeAttack("a file of a directory workspace is a link", "a task reads a link that leads out of its directory", "escapes",
		func(t *testing.T, inside, outside string) (string, string) {
			t.Helper()
			NewWithT(t).Expect(os.Symlink(filepath.Join(outside, "secret.txt"), filepath.Join(inside, "notes.txt"))).To(Succeed())
			return inside, "notes.txt"
		}),
)
