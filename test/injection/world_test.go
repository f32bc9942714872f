// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/a2atest"
	"github.com/nestor-dev/nestor/test/stack"
	"github.com/nestor-dev/nestor/test/world"
)

// guarded are the labels of the namespaces to which the starter policies apply. Without a restriction they apply to all.
var guarded = map[string]string{"injection": "guarded"}

// target is a Nestor with the starter policies.
type target struct {
	*world.World
	tools *toolbox
	// remote is an agent elsewhere. It answers with the text of the toolbox for the last word of a task.
	remote *a2atest.Agent
	// files is the directory whose subdirectories are served as workspaces.
	files string
}

func start(t testing.TB) *target {
	t.Helper()
	w := &target{tools: startToolbox(t), files: t.TempDir()}
	w.remote = a2atest.Start(t, a2atest.Options{Reply: func(message string) string {
		words := strings.Fields(message)
		return w.tools.text(words[len(words)-1])
	}})
	w.World = world.Start(t, stack.Options{
		ModelFlags: []string{"--no-delay"}, Scripts: []string{filepath.Join("testdata", "obedient.yaml")},
		OperatorFlags: append(stack.FewShards(), "--local-workspaces", w.files), Gateway: true,
	})
	w.applyPolicies(t)
	return w
}

// applyPolicies creates the starter policies in the operator's namespace, restricted to guarded namespaces.
func (w *target) applyPolicies(t testing.TB) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "config", "policies", "*-*.yaml"))
	g := world.Expecting(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(files)).To(BeNumerically(">=", 3))
	for _, file := range files {
		text, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		p := &v1beta1.ToolPolicy{}
		g.Expect(yaml.UnmarshalStrict(text, p)).To(Succeed())
		p.Namespace = stack.OperatorNamespace
		if p.Spec.Namespaces.From == v1beta1.NamespacesAll {
			p.Spec.Namespaces = &v1beta1.AllowedNamespaces{From: v1beta1.NamespacesSelector, Selector: &metav1.LabelSelector{MatchLabels: guarded}}
		}
		g.Expect(w.API.Create(t.Context(), p)).To(Succeed())
		g.Eventually(func() ([]metav1.Condition, error) {
			err := w.API.Get(t.Context(), client.ObjectKeyFromObject(p), p)
			return p.Status.Conditions, err
		}).Should(ContainElement(And(HaveField("Type", v1beta1.ConditionReady), HaveField("Status", metav1.ConditionTrue))), file)
	}
}

// room is a namespace with tools, and roles that need no approval for anything.
type room struct {
	*world.Room
	target *target
}

func (w *target) room(t testing.TB, name string, labels map[string]string) *room {
	t.Helper()
	r := (&room{Room: &world.Room{World: w.World, Namespace: name}, target: w}).at(t)
	r.Expect(w.API.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})).To(Succeed())
	r.Expect(w.Provider(t.Context(), name, "default")).To(Succeed())
	feed := r.server("feed", w.tools.feed)
	for tool := range readers {
		feed.Spec.ReadOnlyTools = append(feed.Spec.ReadOnlyTools, tool)
	}
	r.Create(feed, r.server("box", w.tools.box))
	r.Create(
		r.role("clerk", "feed__*", "box__*", "calculator", "read", "write", "bash", "read_result"), r.role("lead", "feed__*", "box__*"),
		r.role("courier", "box__*"), r.role("quiet-reader", "feed__*", "box__*"),
		r.role("reader", "feed__*"), r.role("failing-reader", "feed__*"), r.role("asking-reader", "feed__*"),
	)
	partner := &v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Name: "partner"}}
	partner.Spec.Remote = &v1beta1.RemoteAgent{A2A: v1beta1.A2AAgent{URL: w.remote.URL}}
	judge := &v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Name: "judge"}}
	judge.Spec.SystemPrompt, judge.Spec.Isolated = "You judge texts.", true
	judge.Spec.OutputSchema = &runtime.RawExtension{Raw: []byte(
		`{"type":"object","additionalProperties":false,"required":["verdict"],"properties":{"verdict":{"enum":["odd","plain"]}}}`)}
	r.Create(partner, judge)
	return r
}

// at returns the room for a subtest.
func (r *room) at(t testing.TB) *room {
	return &room{Room: &world.Room{World: r.World, WithT: world.Expecting(t), Test: t, Namespace: r.Namespace}, target: r.target}
}

func (r *room) server(name, url string) *v1beta1.ToolServer {
	return &v1beta1.ToolServer{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1beta1.ToolServerSpec{URL: url}}
}

func (r *room) role(name string, tools ...string) *v1beta1.AgentRole {
	role := &v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Name: name}}
	role.Spec.SystemPrompt = "You work in an office."
	role.Spec.Tools = &v1beta1.RoleTools{Allow: tools}
	role.Spec.Approval = &v1beta1.ApprovalPolicy{Mode: v1beta1.ApprovalNever}
	role.Spec.Delegation = &v1beta1.Delegation{Roles: []string{"clerk", "courier", "reader", "failing-reader", "asking-reader", "quiet-reader", "partner", "judge"}}
	return role
}

// work is a standalone task or a chat.
type work struct{ task, chat string }

// give creates a standalone task with an instruction of a person.
func (r *room) give(name, role, instruction string) work {
	r.Test.Helper()
	r.Create(r.task(name, role, instruction))
	return work{task: name}
}

func (r *room) task(name, role, instruction string) *v1beta1.AgentTask {
	return &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1beta1.AgentTaskSpec{
		Type: v1beta1.TaskAgent, Role: role, Instruction: instruction,
	}}
}

// say creates a chat with a message of a person.
func (r *room) say(name, text string, attachments ...v1beta1.Attachment) work {
	r.Test.Helper()
	r.Create(&v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1beta1.AgentChatSpec{Role: "lead"}})
	r.send(name, text, attachments...)
	return work{chat: name}
}

func (r *room) send(chat, text string, attachments ...v1beta1.Attachment) {
	r.Test.Helper()
	r.Create(&v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{GenerateName: chat + "-"}, Spec: v1beta1.AgentMessageSpec{
		Chat: chat, Content: text, Attachments: attachments,
	}})
}

// waiting returns status.waiting of the work.
func (r *room) waiting(work work) func() ([]v1beta1.Waiting, error) {
	return func() (shown []v1beta1.Waiting, err error) {
		if work.task != "" {
			task, err := r.Task(work.task)()
			if task.Status.Waiting != nil {
				shown = append(shown, *task.Status.Waiting)
			}
			return shown, err
		}
		var chat v1beta1.AgentChat
		err = r.Get(work.chat, &chat)
		for _, item := range chat.Status.Waiting {
			shown = append(shown, item.Waiting)
		}
		return shown, err
	}
}

// showsRule matches a request for approval that shows a rule, and for rules about content which call has brought it.
func showsRule(rule string) types.GomegaMatcher {
	shows := And(HaveField("Kind", v1beta1.WaitingApproval), HaveField("PolicyRules", ContainElement(HaveField("Rule", rule))))
	if rule == "writes-in-production" {
		return shows
	}
	return And(shows, HaveField("ContentLabels", ContainElement(And(HaveField("Name", "untrusted"), HaveField("Source", Not(BeEmpty()))))))
}
