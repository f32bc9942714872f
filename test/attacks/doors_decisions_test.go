// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1alpha1"
)

var _ = class(
	"doors",
	attack{
		name: "sentences decide about a call that was not shown",
		attempt: "a colleague's message makes a call pending, and the caller, who does not know of it, " +
			"writes sentences that begin with yes, allow, accept or no",
		defence: "only a text that is exactly approve or deny, in reply to the response that showed the call, decides; " +
			"all others are messages",
		run: func(t *testing.T, w *world) {
			c := w.newCaller(t)
			c.colleagueWrites()
			for _, text := range []string{
				"Yes, please also check the weather.", "Allow me to explain what I need.",
				"Accept my apologies, I was away.", "No problem. Go on",
			} {
				c.respond(object{"input": text, "background": true, "metadata": object{"chat": "chat"}})
				c.Expect(c.contents()).To(ContainElement(text), "it is delivered as a message")
			}
			c.expectUndecided("chat-1")
		},
		control: func(t *testing.T, w *world) {
			c := w.newCaller(t)
			text, _ := c.complete(object{"chat": "chat"}, said(sum))
			c.complete(object{"chat": "chat"}, replied(text), said("Approve!"))
			c.expectApproved(sumDigest)
			c.Eventually(c.phase("chat-1")).Should(Equal(v1alpha1.TaskSuccess))
		},
	},
	attack{
		name: "the word approve decides about a call that was not shown",
		attempt: "a colleague's message makes a call pending, and the caller, who does not know of it, " +
			"writes approve to the chat",
		defence: "a decision without the reference of a call decides nothing: the caller is shown the call",
		run: func(t *testing.T, w *world) {
			c := w.newCaller(t)
			c.colleagueWrites()
			text, metadata := c.complete(object{"chat": "chat"}, said("approve"))
			c.Expect(metadata).To(HaveKeyWithValue("notice", "unshown"))
			c.Expect(text).To(ContainSubstring("6 * 7"))
			c.expectUndecided("chat-1")
		},
		control: func(t *testing.T, w *world) {
			c := w.newCaller(t)
			c.colleagueWrites()
			_, metadata := c.complete(object{"chat": "chat"}, said("approve"))
			c.complete(object{"chat": "chat", "ask": metadata["ask"]}, said("approve"))
			c.expectApproved(sumDigest)
		},
	},
	attack{
		name: "a message answers a question that was not shown",
		attempt: "an agent asks a colleague a question, and the caller, who does not know of it, " +
			"writes something else to the chat",
		defence: "only a reply to the response that showed the question is an answer",
		run: func(t *testing.T, w *world) {
			c := w.newCaller(t)
			c.sendMessage(c.as("bob", user), "ask-of-bob", "bob", "Let an agent ask: Which day?")
			c.waitForChat()
			c.Eventually(func() *v1alpha1.AgentMessage { return c.messageWith("Which day?") }).ShouldNot(BeNil(), "the question is posted")
			c.respond(object{"input": "Say: Good day.", "background": true, "metadata": object{"chat": "chat"}})
			c.Expect(c.messageWith("Say: Good day.").Spec.InReplyTo).To(BeEmpty())
		},
		control: func(t *testing.T, w *world) {
			c := w.newCaller(t)
			text, _ := c.complete(object{"chat": "chat"}, said("Let an agent ask: Which day?"))
			c.Expect(text).To(HaveSuffix("Which day?"))
			c.complete(object{"chat": "chat"}, replied(text), said("Tuesday"))
			c.Expect(c.messageWith("Tuesday").Spec.InReplyTo).NotTo(BeEmpty())
		},
	},
	attack{
		name:    "an earlier response decides about a later call",
		attempt: "the caller replies approve to a response of the chat from before the call, by previous_response_id",
		defence: "the ID of a response has the reference of the call that it showed, or none",
		run: func(t *testing.T, w *world) {
			c := w.newCaller(t)
			greeting := c.respond(object{"input": "Say: Good day.", "metadata": object{"chat": "chat"}})
			c.colleagueWrites()
			answer := c.respond(object{"input": "approve", "previous_response_id": greeting["id"]})
			c.Expect(textOfResponse(answer)).To(HavePrefix("Nothing was decided"))
			c.expectUndecided("chat-1")
		},
		control: func(t *testing.T, w *world) {
			c := w.newCaller(t)
			greeting := c.respond(object{"input": "Say: Good day.", "metadata": object{"chat": "chat"}})
			shown := c.respond(object{"input": sum, "previous_response_id": greeting["id"]})
			c.respond(object{"input": "approve", "previous_response_id": shown["id"]})
			c.expectApproved(sumDigest)
		},
	},
	attack{
		name: "approve runs the other of two calls, by response",
		attempt: "two calls wait, the caller is shown the first, a colleague denies it, and the caller " +
			"replies approve by previous_response_id",
		defence: "the ID of the response names the first call, and the reply is stale",
		run: func(t *testing.T, w *world) {
			c := w.newCaller(t)
			shown := c.respond(object{"input": twice})
			c.colleagueDecides(taskOf(shown["metadata"]), v1alpha1.DecisionDeny)
			answer := c.respond(object{"input": "approve", "previous_response_id": shown["id"]})
			c.Expect(textOfResponse(answer)).To(And(HavePrefix("This reply was not used"), ContainSubstring("6 * 8")))
			c.expectUndecided(taskOf(shown["metadata"]))
			c.Expect(c.standalone()).To(Equal(1))
		},
		control: func(t *testing.T, w *world) {
			c := w.newCaller(t)
			shown := c.respond(object{"input": twice})
			next := c.respond(object{"input": "approve", "previous_response_id": shown["id"]})
			c.expectApproved(firstDigest)
			c.respond(object{"input": "deny: no", "previous_response_id": next["id"]})
			c.Expect(c.decisions()).To(ConsistOf(firstDigest, secondDigest))
		},
	},
	attack{
		name: "approve runs the other of two calls, by task",
		attempt: "two calls wait, the caller is shown the first, a colleague denies it, and the caller " +
			"writes approve with metadata.task",
		defence: "metadata.task alone decides nothing, and metadata.ask names the first call",
		run: func(t *testing.T, w *world) {
			c := w.newCaller(t)
			_, metadata := c.complete(object{}, said(twice))
			task := taskOf(metadata)
			c.colleagueDecides(task, v1alpha1.DecisionDeny)
			_, answer := c.complete(object{"task": task}, said("approve"))
			c.Expect(answer).To(HaveKeyWithValue("notice", "unshown"))
			_, answer = c.complete(object{"task": task, "ask": metadata["ask"]}, said("approve"))
			c.Expect(answer).To(HaveKeyWithValue("notice", "stale"))
			c.expectUndecided(task)
		},
		control: func(t *testing.T, w *world) {
			c := w.newCaller(t)
			_, metadata := c.complete(object{}, said(twice))
			c.complete(object{"task": taskOf(metadata), "ask": metadata["ask"]}, said("approve"))
			c.expectApproved(firstDigest)
		},
	},
	attack{
		name: "approve runs the other of two calls, over A2A",
		attempt: "two calls wait, the caller is shown the first, a colleague denies it, and the caller " +
			"sends approve with the data of the first",
		defence: "the data names the first call and its digest",
		run: func(t *testing.T, w *world) {
			c := w.newCaller(t)
			asked := c.message("general", "1", nil, textPart(twice))
			task, _ := dig(asked, "task", "id").(string)
			c.colleagueDecides(task, v1alpha1.DecisionDeny)
			for n, parts := range [][]object{
				{textPart("approve")}, {dataPart(asked, "approve")}, {textPart("approve"), dataPart(asked, "")},
			} {
				answer := c.message("general", fmt.Sprint("a", n), asked, parts...)
				c.Expect(answer).To(HaveKey("error"), "%v", answer)
			}
			c.expectUndecided(task)
		},
		control: func(t *testing.T, w *world) {
			c := w.newCaller(t)
			asked := c.message("general", "1", nil, textPart(twice))
			c.message("general", "2", asked, textPart("approve"), dataPart(asked, ""))
			c.expectApproved(firstDigest)
		},
	},
	attack{
		name:    "a text alone decides over A2A",
		attempt: "the caller sends the text approve to a task that waits for a decision",
		defence: "a text does not say which call it is about: a decision needs the data of the call",
		run: func(t *testing.T, w *world) {
			c := w.newCaller(t)
			asked := c.message("general", "1", nil, textPart(sum))
			task, _ := dig(asked, "task", "id").(string)
			answer := c.message("general", "2", asked, textPart("approve"))
			c.Expect(fmt.Sprint(answer["error"])).To(ContainSubstring("nothing was decided"))
			c.expectUndecided(task)
		},
		control: func(t *testing.T, w *world) {
			c := w.newCaller(t)
			asked := c.message("general", "1", nil, textPart(sum))
			c.message("general", "2", asked, dataPart(asked, "approve"))
			c.expectApproved(sumDigest)
		},
	},
	attack{
		name: "a finished turn decides about another turn's call",
		attempt: "the caller sends a decision over A2A with the taskId of a turn that has ended, while a " +
			"colleague's turn waits",
		defence: "a turn that has ended takes no input",
		run: func(t *testing.T, w *world) {
			c := w.newCaller(t)
			greeted := c.message("orchestrator", "1", nil, textPart("Say: Good day."))
			c.colleagueWrites()
			waits := object{"data": object{"decision": "approve", "ask": "chat-1@chat-1", "digest": sumDigest}}
			for n, part := range []object{textPart("approve"), waits} {
				answer := c.message("orchestrator", fmt.Sprint("a", n), greeted, part)
				c.Expect(fmt.Sprint(answer["error"])).To(ContainSubstring("does not wait for input"))
			}
			c.expectUndecided("chat-1")
		},
		control: func(t *testing.T, w *world) {
			c := w.newCaller(t)
			asked := c.message("orchestrator", "1", nil, textPart(sum))
			c.message("orchestrator", "2", asked, dataPart(asked, "approve"))
			c.expectApproved(sumDigest)
		},
	},
	attack{
		name:    "a decision without the digest counts",
		attempt: "the caller sends a decision over A2A with the ID of a call and no digest, or that of other arguments",
		defence: "the digest is a part of the reference",
		run: func(t *testing.T, w *world) {
			c := w.newCaller(t)
			asked := c.message("general", "1", nil, textPart(sum))
			task, _ := dig(asked, "task", "id").(string)
			id := dig(dataPart(asked, ""), "data", "ask")
			for n, digest := range []string{"", secondDigest} {
				part := object{"data": object{"decision": "approve", "ask": id, "digest": digest}}
				answer := c.message("general", fmt.Sprint("a", n), asked, part)
				c.Expect(answer).To(HaveKey("error"))
			}
			c.expectUndecided(task)
		},
		control: func(t *testing.T, w *world) {
			c := w.newCaller(t)
			asked := c.message("general", "1", nil, textPart(sum))
			ask := dig(dataPart(asked, ""), "data", "ask")
			part := object{"data": object{"decision": "deny", "ask": ask, "digest": sumDigest}}
			c.message("general", "2", asked, part)
			c.expectApproved(sumDigest)
		},
	},
	attack{
		name: "an interrupt decides about the other of two calls",
		attempt: "two calls wait, the caller has the interrupt of the first over AG-UI, a colleague " +
			"denies it, and the caller resumes with approved",
		defence: "the ID of an interrupt has the reference of its call",
		run: func(t *testing.T, w *world) {
			c := w.newCaller(t)
			interrupt, _ := c.agui("1", nil)
			task, _, _ := strings.Cut(interrupt, "/")
			c.colleagueDecides(task, v1alpha1.DecisionDeny)
			for n, payload := range []any{object{"approved": true}, "approve", true} {
				resume := []any{object{"interruptId": interrupt, "status": "resolved", "payload": payload}}
				next, stream := c.agui(fmt.Sprint("a", n), object{"resume": resume})
				c.Expect(next).NotTo(Equal(interrupt))
				c.Expect(stream).To(ContainSubstring("This reply was not used"))
			}
			c.expectUndecided(task)
		},
		control: func(t *testing.T, w *world) {
			c := w.newCaller(t)
			interrupt, _ := c.agui("1", nil)
			payload := object{"interruptId": interrupt, "status": "resolved", "payload": object{"approved": true}}
			c.agui("2", object{"resume": []any{payload}})
			c.expectApproved(firstDigest)
		},
	},
	attack{
		name:    "a model decides over MCP",
		attempt: "a model in an MCP client calls tools to decide about the call of the agent that it has started",
		defence: "no tool decides: a person decides in a form, on the web page or with kubectl",
		run: func(t *testing.T, w *world) {
			c := w.newCaller(t)
			c.callTools(false, func(call func(string, object) *mcp.CallToolResult) {
				result := call("run_agent", object{"role": "general", "instruction": sum})
				task, _ := dig(result.StructuredContent, "task").(string)
				ask := dig(result.StructuredContent, "waiting", "ask")
				for tool, arguments := range map[string]object{
					"decide": {"task": task, "ask": ask, "decision": "approve"},
					"answer": {"task": task, "ask": ask, "answer": "approve"},
				} {
					c.Expect(call(tool, arguments).IsError).To(BeTrue(), "%s", tool)
				}
				next := fmt.Sprint(dig(result.StructuredContent, "next"))
				c.Expect(next).To(ContainSubstring("kubectl nestor approve -n " + c.namespace + " " + task))
				c.expectUndecided(task)
			})
		},
		control: func(t *testing.T, w *world) {
			c := w.newCaller(t)
			c.callTools(true, func(call func(string, object) *mcp.CallToolResult) {
				result := call("run_agent", object{"role": "general", "instruction": sum})
				c.Expect(dig(result.StructuredContent, "phase")).To(BeEquivalentTo(v1alpha1.TaskSuccess), "%v", result)
			})
			c.expectApproved(sumDigest)
		},
	},
	attack{
		name: "a conversation with another call decides",
		attempt: "the last reply in a conversation shows harmless arguments with the reference of the " +
			"call that waits, or only its reference",
		defence: "the reply must end with the request exactly as it was sent",
		run: func(t *testing.T, w *world) {
			c := w.newCaller(t)
			text, metadata := c.complete(object{}, said(sum))
			lines := strings.Split(text, "\n")
			for _, shown := range []string{
				strings.Replace(text, "6 * 7", "1 + 1", 1), "Do you like jokes?\n" + lines[len(lines)-1],
			} {
				_, answer := c.complete(object{}, said(sum), replied(shown), said("approve"))
				c.Expect(answer).To(HaveKeyWithValue("notice", "stale"))
			}
			c.expectUndecided(taskOf(metadata))
			c.Expect(c.standalone()).To(Equal(1), "nothing else was started")
		},
		control: func(t *testing.T, w *world) {
			c := w.newCaller(t)
			text, _ := c.complete(object{}, said(sum))
			c.complete(object{}, said(sum), replied(text), said("approve."))
			c.expectApproved(sumDigest)
		},
	},
	attack{
		name: "a late approve starts the work again",
		attempt: "a colleague approves with kubectl, and the caller writes approve in the conversation, " +
			"or replies to the response",
		defence: "a decision starts nothing: the caller gets the state of the run",
		run: func(t *testing.T, w *world) {
			c := w.newCaller(t)
			text, metadata := c.complete(object{}, said(sum))
			task := taskOf(metadata)
			c.colleagueDecides(task, v1alpha1.DecisionApprove)
			c.Eventually(c.phase(task)).Should(Equal(v1alpha1.TaskSuccess))
			_, answer := c.complete(object{}, said(sum), replied(text), said("approve"))
			c.Expect(answer).To(And(HaveKeyWithValue("notice", "stale"), HaveKeyWithValue("task", metadata["task"])))
			_, answer = c.complete(object{"task": task}, said("approve"))
			c.Expect(answer).To(HaveKeyWithValue("notice", "stale"))
			shown := responseID(c.namespace, task, "")
			response := c.respond(object{"input": "deny: too late", "previous_response_id": shown})
			c.Expect(textOfResponse(response)).To(HavePrefix("This reply was not used"))
			c.Expect(c.standalone()).To(Equal(1), "nothing was started")
			c.Expect(c.decisions()).To(BeEmpty())
		},
		control: func(t *testing.T, w *world) {
			c := w.newCaller(t)
			_, metadata := c.complete(object{}, said(sum))
			task := taskOf(metadata)
			c.colleagueDecides(task, v1alpha1.DecisionApprove)
			c.Eventually(c.phase(task)).Should(Equal(v1alpha1.TaskSuccess))
			c.respond(object{"input": sum, "previous_response_id": responseID(c.namespace, task, "")})
			c.Expect(c.standalone()).To(Equal(2), "a message to a run that has ended is further work")
		},
	},
	attack{
		name:    "a response ID made from parts of two calls decides",
		attempt: "the caller makes the ID of a response that showed the call with the digest of other arguments",
		defence: "the reference is compared as a whole with the call that waits",
		run: func(t *testing.T, w *world) {
			c := w.newCaller(t)
			_, metadata := c.complete(object{}, said(sum))
			task := taskOf(metadata)
			ref, _ := metadata["ask"].(string)
			for _, other := range []string{
				strings.Replace(ref, sumDigest, secondDigest, 1), strings.TrimSuffix(ref, sumDigest), "#" + sumDigest, task,
			} {
				shown := responseID(c.namespace, task, other)
				answer := c.respond(object{"input": "approve", "previous_response_id": shown})
				c.Expect(textOfResponse(answer)).To(HavePrefix("This reply was not used"))
			}
			c.expectUndecided(task)
		},
		control: func(t *testing.T, w *world) {
			c := w.newCaller(t)
			_, metadata := c.complete(object{}, said(sum))
			ref, _ := metadata["ask"].(string)
			c.respond(object{"input": "approve", "previous_response_id": responseID(c.namespace, taskOf(metadata), ref)})
			c.expectApproved(sumDigest)
		},
	},
	attack{
		name:    "a viewer decides with the reference of a call",
		attempt: "a caller who may only read sends a decision with the right reference",
		defence: "the gateway acts with the permissions of the caller's token",
		run: func(t *testing.T, w *world) {
			c := w.newCaller(t, viewer)
			c.colleagueWrites()
			metadata := object{"chat": "chat", "ask": "chat-1@chat-1#" + sumDigest}
			body := object{"model": c.namespace + "/general", "metadata": metadata, "messages": []any{said("approve")}}
			code, answer := c.post("/v1/chat/completions", body)
			c.Expect(code).To(Equal(http.StatusForbidden), "%v", answer)
			c.expectUndecided("chat-1")
		},
		control: func(t *testing.T, w *world) {
			c := w.newCaller(t, user)
			c.colleagueWrites()
			c.complete(object{"chat": "chat", "ask": "chat-1@chat-1#" + sumDigest}, said("approve"))
			c.expectApproved(sumDigest)
		},
	},
	attack{
		name:    "a program is the second person over a door",
		attempt: "a caller with the token of a service account approves a call of a role with separation",
		defence: "the decision is rejected, and the caller gets the reason instead of a response that never ends",
		run: func(t *testing.T, w *world) {
			c := w.newCaller(t)
			code, answer := c.decideForColleague(false)
			c.Expect(code).To(Equal(http.StatusForbidden), "%v", answer)
			c.Expect(fmt.Sprint(answer)).To(ContainSubstring("is a service account"))
			c.Expect(c.phase("of-bob")()).To(Equal(v1alpha1.TaskWaiting), "the call must still wait")
		},
		control: func(t *testing.T, w *world) {
			c := w.newCaller(t)
			code, answer := c.decideForColleague(true)
			c.Expect(code).To(Equal(http.StatusOK), "%v", answer)
			c.expectApproved(sumDigest)
		},
	},
)

// decideForColleague approves the call of a colleague's task whose role has separation.
func (c *gatewayCaller) decideForColleague(serviceAccounts bool) (int, object) {
	c.t.Helper()
	c.create(&v1alpha1.AgentRole{ObjectMeta: metav1.ObjectMeta{Name: "separated"}, Spec: v1alpha1.AgentRoleSpec{
		SystemPrompt: "Help.",
		Approval:     &v1alpha1.ApprovalPolicy{Mode: v1alpha1.ApprovalAlways, Separation: true, AllowServiceAccounts: serviceAccounts},
	}})
	task := &v1alpha1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "of-bob"}}
	task.Spec = v1alpha1.AgentTaskSpec{Type: v1alpha1.TaskAgent, Role: "separated", Instruction: sum, User: "bob"}
	c.Expect(c.as("bob", runner).Create(c.t.Context(), task)).To(Succeed())
	c.waitForApproval("of-bob")
	c.Expect(c.get("of-bob", task)).To(Succeed())
	ref := task.Status.Waiting.ToolCall + "@of-bob#" + task.Status.Waiting.ArgumentsDigest
	return c.post("/v1/chat/completions", object{
		"model": c.namespace + "/separated", "metadata": object{"task": "of-bob", "ask": ref}, "messages": []any{said("approve")},
	})
}

// responseID returns the ID of a response of a run that showed an ask.
func responseID(namespace, task, shown string) string {
	text, err := json.Marshal(map[string]string{"n": namespace, "t": task, "k": shown})
	if err != nil {
		panic(err) // it is all strings
	}
	return "resp_" + base64.RawURLEncoding.EncodeToString(text)
}
