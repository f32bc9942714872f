// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"encoding/json"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/stack"
)

// patchMetadata changes the metadata of an object, as the person of a client.
func (r *testNamespace) patchMetadata(api client.Client, object client.Object, metadata map[string]any) error {
	r.t.Helper()
	text, err := json.Marshal(map[string]any{"metadata": metadata})
	r.Expect(err).NotTo(HaveOccurred())
	return api.Patch(r.t.Context(), object, client.RawPatch(types.MergePatchType, text))
}

// delegatedTask creates a chat whose task waits for an approval, and returns the task.
func (r *testNamespace) delegatedTask() *v1beta1.AgentTask {
	r.t.Helper()
	r.requestSum(false)
	task, err := r.Task("chat-1")()
	r.Expect(err).NotTo(HaveOccurred())
	return task
}

// grantRules gives a person permissions in a namespace, and waits until they apply.
func (r *testNamespace) grantRules(namespace, person string, rules ...rbacv1.PolicyRule) {
	r.t.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: r.Namespace + "-"}, Rules: rules}
	r.Expect(r.API.Create(r.t.Context(), role)).To(Succeed())
	r.Expect(r.API.Create(r.t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: person}},
	})).To(Succeed())
	for _, rule := range rules {
		r.Expect(r.AwaitRule(r.t.Context(), namespace, person, rule)).To(Succeed())
	}
}

// may returns the rule that allows one verb on a resource of Nestor, or on one object if a name is given.
func may(verb, resource string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{
		APIGroups: []string{v1beta1.GroupVersion.Group}, Resources: []string{resource}, ResourceNames: names, Verbs: []string{verb},
	}
}

// markAttack is an attack that plants a mark of the operator on a new task. The control plants another one.
func markAttack(name, mark string, metadata func(marks map[string]string) metav1.ObjectMeta, harmless string) attack {
	try := func(t *testing.T, w *target, key string) (*testNamespace, error) {
		t.Helper()
		r := w.newNamespace(t)
		task := r.toolTask("marked", "")
		marked := metadata(map[string]string{key: "planted"})
		task.Labels, task.Annotations = marked.Labels, marked.Annotations
		return r, r.As("mallory", runner).Create(t.Context(), task)
	}
	return attack{
		name: name, attempt: "mallory creates a task with " + mark, defence: "the policy on marks",
		run: func(t *testing.T, w *target) {
			r, err := try(t, w, mark)
			r.Expect(err).To(MatchError(ContainSubstring(mark + " is the operator's")))
		},
		control: func(t *testing.T, w *target) {
			r, err := try(t, w, harmless)
			r.Expect(err).NotTo(HaveOccurred())
		},
	}
}

func labelled(marks map[string]string) metav1.ObjectMeta { return metav1.ObjectMeta{Labels: marks} }
func annotated(marks map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Annotations: marks}
}

// useShared runs a task with a tool of a shared server, by a person with or without the verb use in the operator's
// namespace.
func useShared(t *testing.T, w *target, granted bool) (*testNamespace, func() string) {
	t.Helper()
	r := w.newNamespace(t)
	server := &v1beta1.ToolServer{ObjectMeta: metav1.ObjectMeta{Name: "shared-" + r.Namespace}}
	answer := func(w http.ResponseWriter, id, _ json.RawMessage) {
		result(w, id, `{"content":[{"type":"text","text":"fine"}]}`)
	}
	server.Spec.URL = r.serve(&hostileServer{tools: []string{mcpTool("act", "Acts.", true)}, call: answer})
	r.createShared(server)
	if granted {
		r.grantRules(stack.OperatorNamespace, "mallory", may("use", "toolservers", server.Name))
	}
	task := r.toolTask("call", "mallory")
	task.Spec.Tool = server.Name + "__act"
	r.Expect(r.As("mallory", runner).Create(t.Context(), task)).To(Succeed())
	return r, func() string {
		task, err := r.Task("call")()
		if err != nil || task.Status.Error == nil {
			return string(task.Status.Phase)
		}
		return string(task.Status.Phase) + " " + task.Status.Error.Message
	}
}

// createWithTool creates a task that calls a tool server, as a person with permission to create tasks. If granted is
// true, the person may use the server too.
func createWithTool(t *testing.T, w *target, granted bool) (*testNamespace, error) {
	t.Helper()
	r := w.newNamespace(t)
	r.grantRules(r.Namespace, "mallory", may("create", "agenttasks"))
	if granted {
		r.grantRules(r.Namespace, "mallory", may("use", "toolservers", "github"))
	}
	task := r.toolTask("call", "mallory")
	task.Spec.Tool = "github__merge"
	return r, r.As("mallory", viewer).Create(t.Context(), task)
}

// workspaceFiles are the paths of the history API that return files of a workspace.
var workspaceFiles = []string{
	"/workspacechanges/chat.chat", "/workspacechanges/chat.chat/archive", "/workspacechanges/chat.chat/file",
}

var _ = class(
	"marks",
	attack{
		name:    "the operator deletes a task that a user marked",
		attempt: "mallory adds the finalizer and the label of a firing to a delegated task, and creates a trigger with that name",
		defence: "the policy on marks; the operator deletes only objects whose owner is the trigger",
		run: inNamespace(func(r *testNamespace) {
			task := r.delegatedTask()
			err := r.patchMetadata(r.As("mallory", runner), task, map[string]any{
				"finalizers": []string{v1beta1.FinalizerFiring}, "labels": map[string]string{v1beta1.LabelTrigger: "bait"},
			})
			r.Expect(err).To(MatchError(ContainSubstring("is the operator's")))
		}),
		control: inNamespace(func(r *testNamespace) {
			task := r.delegatedTask()
			harmless := map[string]any{"labels": map[string]string{"example.com/team": "a"}}
			r.Expect(r.patchMetadata(r.As("mallory", runner), task, harmless)).To(Succeed())
		}),
	},
	attack{
		name:    "a standing object loses the operator's marks",
		attempt: "mallory removes the label of the chat from a delegated task",
		defence: "the policy on marks: only the operator removes them",
		run: inNamespace(func(r *testNamespace) {
			task := r.delegatedTask()
			removed := map[string]any{"labels": map[string]any{v1beta1.LabelChat: nil}}
			err := r.patchMetadata(r.As("mallory", runner), task, removed)
			r.Expect(err).To(MatchError(ContainSubstring("nestor.dev/chat must be spec.chat")))
		}),
		control: inNamespace(func(r *testNamespace) {
			task := r.delegatedTask()
			same := map[string]any{"labels": map[string]any{v1beta1.LabelChat: "chat"}}
			r.Expect(r.patchMetadata(r.As("mallory", runner), task, same)).To(Succeed())
		}),
	},
	markAttack("a task joins another tree", v1beta1.LabelParent, labelled, v1beta1.LabelDoor),
	markAttack("a task has another root", "nestor.dev/root", labelled, "example.com/root"),
	markAttack("a task pretends to have a trigger", v1beta1.LabelTrigger, labelled, v1beta1.LabelConversation),
	markAttack("a task pretends to be cancelled by a user", v1beta1.AnnotationCancelledBy, annotated, v1beta1.AnnotationTitle),
	markAttack("a task appears elsewhere in its chat", v1beta1.AnnotationPostsBefore, annotated, v1beta1.AnnotationRun),
	markAttack("a message pretends to be cut off", v1beta1.AnnotationTruncated, annotated, v1beta1.AnnotationRun),
	markAttack("a message pretends to end a turn", v1beta1.AnnotationNotice, annotated, v1beta1.AnnotationRun),
	markAttack("a task reports its end to any object", v1beta1.AnnotationReportTo, annotated, v1beta1.AnnotationRun),
	markAttack("a notification pretends to be delivered", v1beta1.AnnotationNotified, annotated, v1beta1.AnnotationPush),
	attack{
		name:    "a message appears in another chat",
		attempt: "mallory writes a message to one chat with the label of another, by which clients list messages",
		defence: "the policy on marks: the label must be spec.chat",
		run: inNamespace(func(r *testNamespace) {
			message := r.message("hello", "mallory")
			message.Labels = map[string]string{v1beta1.LabelChat: "another"}
			err := r.As("mallory", user).Create(r.t.Context(), message)
			r.Expect(err).To(MatchError(ContainSubstring("nestor.dev/chat must be spec.chat")))
		}),
		control: inNamespace(func(r *testNamespace) {
			message := r.message("hello", "mallory")
			message.Labels = map[string]string{v1beta1.LabelChat: message.Spec.Chat}
			r.Expect(r.As("mallory", user).Create(r.t.Context(), message)).To(Succeed())
		}),
	},
	attack{
		name:    "a message pretends to be a request for approval",
		attempt: "mallory writes a message with the annotations of the operator's requests",
		defence: "the policy on marks",
		run: inNamespace(func(r *testNamespace) {
			message := r.message("hello", "mallory")
			message.Annotations = map[string]string{v1beta1.AnnotationCall: "c1", v1beta1.AnnotationArgumentsDigest: sumDigest}
			r.Expect(r.As("mallory", user).Create(r.t.Context(), message)).To(MatchError(ContainSubstring("is the operator's")))
		}),
		control: inNamespace(func(r *testNamespace) {
			message := r.message("hello", "mallory")
			message.Annotations = map[string]string{v1beta1.AnnotationRequest: "d"}
			r.Expect(r.As("mallory", user).Create(r.t.Context(), message)).To(Succeed())
		}),
	},
	attack{
		name:    "a person calls a tool with credentials that they may not use",
		attempt: "mallory may create tasks, and creates one of type Tool for a ToolServer",
		defence: "the policy on tasks: the verb use on the ToolServer",
		run: func(t *testing.T, w *target) {
			r, err := createWithTool(t, w, false)
			r.Expect(err).To(MatchError(ContainSubstring("you may not use the ToolServer github")))
		},
		control: func(t *testing.T, w *target) {
			r, err := createWithTool(t, w, true)
			r.Expect(err).NotTo(HaveOccurred())
		},
	},
	attack{
		name:    "a runner calls a shared server's tool",
		attempt: "mallory, a runner of one namespace, creates a task for a tool of a server that the operator's namespace shares",
		defence: "the operator checks the verb use in its own namespace for spec.user",
		run: func(t *testing.T, w *target) {
			r, outcome := useShared(t, w, false)
			r.Eventually(outcome).Should(HavePrefix(string(v1beta1.TaskFailed)))
			r.Expect(outcome()).To(ContainSubstring("does not have the verb use on it there"))
		},
		control: func(t *testing.T, w *target) {
			r, outcome := useShared(t, w, true)
			r.Eventually(outcome).Should(Equal(string(v1beta1.TaskSuccess)))
		},
	},
	attack{
		name:    "a person invents a group",
		attempt: "mallory creates a task with the group of the platform team in spec.userGroups",
		defence: "the policy on tasks: they must be groups of the authenticated user",
		run: inNamespace(func(r *testNamespace) {
			task := r.toolTask("call", "mallory")
			task.Spec.UserGroups = []string{"platform"}
			err := r.As("mallory", runner).Create(r.t.Context(), task)
			r.Expect(err).To(MatchError(ContainSubstring("spec.userGroups must be groups that you are in")))
		}),
		control: inNamespace(func(r *testNamespace) {
			task := r.toolTask("call", "mallory")
			task.Spec.UserGroups = []string{"system:authenticated"}
			r.Expect(r.As("mallory", runner).Create(r.t.Context(), task)).To(Succeed())
		}),
	},
	attack{
		name:    "a viewer reads the files of a workspace",
		attempt: "mallory, a viewer, gets the changes, the archive and a file of a chat's workspace",
		defence: "RBAC: nestor-viewer does not include workspacechanges",
		run: inNamespace(func(r *testNamespace) {
			r.As("mallory", viewer)
			for _, path := range workspaceFiles {
				_, err := r.getAs("mallory", inside(r, path))
				r.Expect(err).To(Satisfy(apierrors.IsForbidden), path)
			}
		}),
		control: inNamespace(func(r *testNamespace) {
			r.As("mallory", user)
			for _, path := range workspaceFiles {
				_, err := r.getAs("mallory", inside(r, path))
				r.Expect(err).NotTo(Satisfy(apierrors.IsForbidden), path)
			}
		}),
	},
)
