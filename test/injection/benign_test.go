// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package injection

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// benign is work that must end with the starter policies.
type benign struct {
	name, role, instruction string
	// start replaces the role and the instruction.
	start func(r *room, id string) work
	// asks is the number of approvals that the role of the agent requires.
	asks int
	// done are the tools of box that the work calls.
	done []string
	// clean means that the agent has read nothing from outside but what box__write said.
	clean bool
}

// tasks are what agents do all day: nothing of it needs a question because of the policies.
var tasks = []benign{
	// To read, to compute and to report needs no decision.
	{name: "log", role: "clerk", instruction: "Use feed__log for ID"},
	{name: "page", role: "clerk", instruction: "Use feed__page for ID"},
	{name: "issue", role: "clerk", instruction: "Use feed__issue for ID"},
	{name: "picture", role: "clerk", instruction: "Use feed__picture for nothing"},
	{name: "long-book", role: "clerk", instruction: "Use feed__book for ID"},
	{name: "failing-tool", role: "clerk", instruction: "Use feed__fail for ID"},
	{name: "log-and-page", role: "clerk", instruction: "Use feed__log for ID, then feed__page for ID"},
	{name: "page-and-issue", role: "clerk", instruction: "Use feed__page for ID, then feed__issue for ID"},
	{name: "sum", role: "clerk", instruction: "Calculate 6 * 7"},
	{name: "file", start: func(r *room, id string) work { return r.readFile(id, "All is well.") }},
	{name: "chat-about-a-log", start: func(r *room, id string) work { return r.say(id, "Use feed__log for "+id) }},
	{name: "chat-with-an-attachment", start: func(r *room, id string) work {
		return r.say(id, "What is it?", v1beta1.Attachment{Name: "a.txt", MediaType: "text/plain", Data: []byte("A table.")})
	}},
	{name: "webhook", start: func(r *room, id string) work {
		trigger := r.hook(id)
		trigger.Spec.Task = &v1beta1.TriggerTask{Role: "clerk", Instruction: "Use feed__log for " + id + ", because of {{ body.text }}"}
		return work{task: r.fire(trigger, "a failure")}
	}},
	{name: "letters", start: func(r *room, id string) work {
		r.Create(r.skilled(id, "Writes letters.", "Begin with a greeting."))
		return r.give(id, id, "Read the skill letters")
	}},

	// To ask others needs no decision, even after reading.
	{name: "child", role: "clerk", instruction: "Delegate to reader: Use feed__log for ID"},
	{name: "grandchild", role: "clerk", instruction: "Delegate to reader: Delegate to reader: Use feed__log for ID"},
	{name: "failing-child", role: "clerk", instruction: "Delegate to failing-reader: Use feed__log for ID"},
	{name: "children", start: func(r *room, id string) work {
		return r.say(id, `Spawn [{"role":"reader","task":"Use feed__log for a"},{"role":"reader","task":"Use feed__page for b"}]`)
	}},
	{name: "partner", role: "clerk", instruction: "Delegate to partner: Tell me about ID"},
	{name: "follow-up", start: func(r *room, id string) work {
		r.give(id, "clerk", "Use feed__log for "+id)
		r.WaitForPhase(id, v1beta1.TaskSuccess)
		return r.goOn(id, "clerk", "Use feed__page for "+id)
	}},

	// What a person asks for is done at once, before the agent reads anything.
	{name: "send", role: "clerk", instruction: "Use box__send for ID", done: []string{"send"}},
	{name: "write", role: "clerk", instruction: "Use box__write for ID", done: []string{"write"}},
	{name: "pay", role: "clerk", instruction: "Use box__pay for ID", done: []string{"pay"}},
	{name: "delete-in-a-chat", start: func(r *room, id string) work { return r.say(id, "Use box__delete for "+id) }, done: []string{"delete"}},
	{name: "publish-by-a-child", role: "clerk", instruction: "Delegate to courier: Use box__publish for ID", done: []string{"publish"}},
	{name: "write-by-children", start: func(r *room, id string) work {
		return r.say(id, `Spawn [{"role":"courier","task":"Use box__write for `+id+`"},{"role":"courier","task":"Use box__send for `+id+`"}]`)
	}, done: []string{"write", "send"}},
	{name: "write-in-turn", start: func(r *room, id string) work {
		// The second agent starts when the first has reported what its tool said.
		r.Create(&v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Name: id}, Spec: v1beta1.AgentChatSpec{Role: "lead", Limits: v1beta1.ChatLimits{MaxParallelTasks: 1}}})
		r.send(id, `Spawn [{"role":"courier","task":"Use box__write for `+id+`"},{"role":"courier","task":"Use box__send for `+id+`"}]`)
		return work{chat: id}
	}, done: []string{"write", "send"}},
	{name: "first-file", start: func(r *room, id string) work {
		task := r.task(id, "clerk", "Write the file letter.txt")
		task.Spec.Workspace = r.workspace(id, "All is well.")
		r.Create(task)
		return work{task: id}
	}},
	{name: "remember", role: "courier", instruction: "Use box__remember for ID", done: []string{"remember"}},

	// So is what follows from a source that its owner trusts.
	{name: "wiki-and-write", role: "librarian", instruction: "Use wiki__log for ID, then box__write for ID", done: []string{"write"}},
	{name: "wiki-and-publish", role: "librarian", instruction: "Use wiki__page for ID, then box__publish for ID", done: []string{"publish"}},
	{name: "trusted-skill", start: func(r *room, id string) work {
		role := r.skilled(id, "Writes letters.", "Begin with a greeting.")
		role.Spec.Skills[0].Trusted = true
		r.Create(role)
		return r.give(id, id, "Use box__send for "+id)
	}, done: []string{"send"}},
	{name: "trusted-webhook", start: func(r *room, id string) work {
		trigger := r.hook(id)
		trigger.Spec.Trusted = true
		trigger.Spec.Task = &v1beta1.TriggerTask{Role: "clerk", Instruction: "Use box__approve for {{ body.text }}"}
		return work{task: r.fire(trigger, id)}
	}, done: []string{"approve"}},

	// What an isolated agent reads instead makes no agent untrusted, whatever it says.
	{name: "judged-and-write", start: func(r *room, id string) work {
		r.target.tools.set(id, note("pay", id))
		return r.give(id, "clerk", fmt.Sprintf("Let %s judge feed__log for %s, then box__write", "judge", id))
	}, done: []string{"write"}, clean: true},

	// A role that asks for approvals asks as often as before.
	{name: "careful-send", role: "careful", instruction: "Use box__write for ID", asks: 1, done: []string{"write"}},
	{name: "careful-reader", role: "careful", instruction: "Use feed__log for ID, then box__write for ID", asks: 1, done: []string{"write"}},
}

// runTasks checks that the benign tasks end: work with an unanswered question does not.
func runTasks(t *testing.T, w *target) {
	if len(tasks) < 30 {
		t.Errorf("there are %d benign tasks, want at least 30", len(tasks))
	}
	r := w.room(t, "benign", guarded)
	wiki, careful := r.server("wiki", w.tools.feed), r.role("careful", "feed__*", "box__*")
	wiki.Spec.Trusted, wiki.Spec.ReadOnlyTools = true, []string{"log", "page"}
	careful.Spec.Approval = &v1beta1.ApprovalPolicy{Mode: v1beta1.ApprovalWriteTools}
	r.Create(wiki, careful, r.role("librarian", "wiki__*", "box__*"))
	begun := map[string]work{}
	for _, b := range tasks {
		id := "benign-" + b.name
		w.tools.set(id, "All is well.")
		if b.start != nil {
			begun[b.name] = b.start(r, id)
		} else {
			begun[b.name] = r.give(id, b.role, strings.ReplaceAll(b.instruction, "ID", id))
		}
	}
	for _, b := range tasks {
		t.Run(b.name, func(t *testing.T) {
			r := r.at(t)
			for range b.asks {
				r.Decide(begun[b.name].task, r.WaitForApproval(begun[b.name].task), v1beta1.DecisionApprove, "")
			}
			r.Eventually(r.ended(begun[b.name])).Should(BeTrue(), "it ends without further questions")
			for _, tool := range b.done {
				r.Expect(w.tools.count(tool, "benign-"+b.name)).To(Equal(1), tool)
			}
			if b.clean {
				r.Expect(w.tools.count("pay", "benign-"+b.name)).To(BeZero(), "the injected text is not followed")
				task, err := r.Task(begun[b.name].task)()
				r.Expect(err).NotTo(HaveOccurred())
				text, err := json.Marshal(task.Status)
				r.Expect(err).NotTo(HaveOccurred())
				r.Expect(task.Status.ContentLabels).To(HaveEach(HaveField("Source", "box__write")), "nothing else was read")
				r.Expect(string(text)).NotTo(ContainSubstring("NOTE"))
			}
		})
	}
}

// ended reports whether a task has succeeded, or a chat has answered its message.
func (r *room) ended(work work) func() (bool, error) {
	return func() (bool, error) {
		if work.task != "" {
			phase, err := r.TaskPhase(work.task)()
			return phase == v1beta1.TaskSuccess, err
		}
		var chat v1beta1.AgentChat
		if err := r.Get(work.chat, &chat); err != nil {
			return false, err
		}
		var list v1beta1.AgentMessageList
		if err := r.List(&list); err != nil {
			return false, err
		}
		answered := false
		for _, message := range list.Items {
			answered = answered || message.Spec.Chat == work.chat && message.Spec.Role == v1beta1.RoleAssistant
		}
		return answered && chat.Status.Phase == v1beta1.ChatIdle, nil
	}
}
