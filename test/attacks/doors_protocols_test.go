// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

var _ = class(
	"doors",
	attack{
		name: "approve runs the other of two calls, over A2A",
		attempt: "two calls wait, the caller is shown the first, a colleague denies it, and the caller " +
			"sends approve with the data of the first",
		defence: "the data names the first call and its digest",
		run: asCaller(func(c *gatewayCaller) {
			pending := c.message("general", "1", nil, textPart(twice))
			task, _ := dig(pending, "task", "id").(string)
			c.colleagueDecides(task, v1beta1.DecisionDeny)
			for n, parts := range [][]object{
				{textPart("approve")}, {dataPart(pending, "approve")}, {textPart("approve"), dataPart(pending, "")},
			} {
				answer := c.message("general", fmt.Sprint("a", n), pending, parts...)
				c.Expect(answer).To(HaveKey("error"), "%v", answer)
			}
			c.expectUndecided(task)
		}),
		control: asCaller(func(c *gatewayCaller) {
			pending := c.message("general", "1", nil, textPart(twice))
			c.message("general", "2", pending, textPart("approve"), dataPart(pending, ""))
			c.expectApproved(firstDigest)
		}),
	},
	attack{
		name:    "a text alone decides over A2A",
		attempt: "the caller sends the text approve to a task that waits for a decision",
		defence: "a text does not say which call it is about: a decision needs the data of the call",
		run: asCaller(func(c *gatewayCaller) {
			pending := c.message("general", "1", nil, textPart(sum))
			task, _ := dig(pending, "task", "id").(string)
			answer := c.message("general", "2", pending, textPart("approve"))
			c.Expect(fmt.Sprint(answer["error"])).To(ContainSubstring("nothing was decided"))
			c.expectUndecided(task)
		}),
		control: asCaller(func(c *gatewayCaller) {
			pending := c.message("general", "1", nil, textPart(sum))
			c.message("general", "2", pending, dataPart(pending, "approve"))
			c.expectApproved(sumDigest)
		}),
	},
	attack{
		name: "a finished turn decides about another turn's call",
		attempt: "the caller sends a decision over A2A with the taskId of a turn that has ended, while a " +
			"colleague's turn waits",
		defence: "a turn that has ended takes no input",
		run: asCaller(func(c *gatewayCaller) {
			greeted := c.message("orchestrator", "1", nil, textPart("Say: Good day."))
			c.colleagueWrites()
			waits := object{"data": object{"decision": "approve", "ask": "chat-1@chat-1", "digest": sumDigest}}
			for n, part := range []object{textPart("approve"), waits} {
				answer := c.message("orchestrator", fmt.Sprint("a", n), greeted, part)
				c.Expect(fmt.Sprint(answer["error"])).To(ContainSubstring("does not wait for input"))
			}
			c.expectUndecided("chat-1")
		}),
		control: asCaller(func(c *gatewayCaller) {
			pending := c.message("orchestrator", "1", nil, textPart(sum))
			c.message("orchestrator", "2", pending, dataPart(pending, "approve"))
			c.expectApproved(sumDigest)
		}),
	},
	attack{
		name:    "a decision without the digest counts",
		attempt: "the caller sends a decision over A2A with the ID of a call and no digest, or that of other arguments",
		defence: "the digest is a part of the reference",
		run: asCaller(func(c *gatewayCaller) {
			pending := c.message("general", "1", nil, textPart(sum))
			task, _ := dig(pending, "task", "id").(string)
			id := dig(dataPart(pending, ""), "data", "ask")
			for n, digest := range []string{"", secondDigest} {
				part := object{"data": object{"decision": "approve", "ask": id, "digest": digest}}
				answer := c.message("general", fmt.Sprint("a", n), pending, part)
				c.Expect(answer).To(HaveKey("error"))
			}
			c.expectUndecided(task)
		}),
		control: asCaller(func(c *gatewayCaller) {
			pending := c.message("general", "1", nil, textPart(sum))
			ask := dig(dataPart(pending, ""), "data", "ask")
			part := object{"data": object{"decision": "deny", "ask": ask, "digest": sumDigest}}
			c.message("general", "2", pending, part)
			c.expectApproved(sumDigest)
		}),
	},
	attack{
		name: "an interrupt decides about the other of two calls",
		attempt: "two calls wait, the caller has the interrupt of the first over AG-UI, a colleague " +
			"denies it, and the caller resumes with approved",
		defence: "the ID of an interrupt has the reference of its call",
		run: asCaller(func(c *gatewayCaller) {
			interrupt, _ := c.agui("1", nil)
			task, _, _ := strings.Cut(interrupt, "/")
			c.colleagueDecides(task, v1beta1.DecisionDeny)
			for n, payload := range []any{object{"approved": true}, "approve", true} {
				resume := []any{object{"interruptId": interrupt, "status": "resolved", "payload": payload}}
				next, stream := c.agui(fmt.Sprint("a", n), object{"resume": resume})
				c.Expect(next).NotTo(Equal(interrupt))
				c.Expect(stream).To(ContainSubstring("This reply was not used"))
			}
			c.expectUndecided(task)
		}),
		control: asCaller(func(c *gatewayCaller) {
			interrupt, _ := c.agui("1", nil)
			payload := object{"interruptId": interrupt, "status": "resolved", "payload": object{"approved": true}}
			c.agui("2", object{"resume": []any{payload}})
			c.expectApproved(firstDigest)
		}),
	},
	attack{
		name:    "a model decides over MCP",
		attempt: "a model in an MCP client calls tools to decide about the call of the agent that it has started",
		defence: "no tool decides: a person decides in a form, on the web page or with kubectl",
		run: asCaller(func(c *gatewayCaller) {
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
				c.Expect(next).To(ContainSubstring("kubectl nestor approve -n " + c.Namespace + " " + task))
				c.expectUndecided(task)
			})
		}),
		control: asCaller(func(c *gatewayCaller) {
			c.callTools(true, func(call func(string, object) *mcp.CallToolResult) {
				result := call("run_agent", object{"role": "general", "instruction": sum})
				c.Expect(dig(result.StructuredContent, "phase")).To(BeEquivalentTo(v1beta1.TaskSuccess), "%v", result)
			})
			c.expectApproved(sumDigest)
		}),
	},
	attack{
		name:    "a viewer decides with the reference of a call",
		attempt: "a caller who may only read sends a decision with the right reference",
		defence: "the gateway acts with the permissions of the caller's token",
		run: func(t *testing.T, w *target) {
			c := w.newCaller(t, viewer)
			c.colleagueWrites()
			metadata := object{"chat": "chat", "ask": "chat-1@chat-1#" + sumDigest}
			body := object{"model": c.Namespace + "/general", "metadata": metadata, "messages": []any{said("approve")}}
			code, answer := c.post("/v1/chat/completions", body)
			c.Expect(code).To(Equal(http.StatusForbidden), "%v", answer)
			c.expectUndecided("chat-1")
		},
		control: func(t *testing.T, w *target) {
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
		run: asCaller(func(c *gatewayCaller) {
			code, answer := c.decideForColleague(false)
			c.Expect(code).To(Equal(http.StatusForbidden), "%v", answer)
			c.Expect(fmt.Sprint(answer)).To(ContainSubstring("is a service account"))
			c.Expect(c.TaskPhase("of-bob")()).To(Equal(v1beta1.TaskWaiting), "the call must still wait")
		}),
		control: asCaller(func(c *gatewayCaller) {
			code, answer := c.decideForColleague(true)
			c.Expect(code).To(Equal(http.StatusOK), "%v", answer)
			c.expectApproved(sumDigest)
		}),
	},
)

// decideForColleague approves the call of a colleague's task whose role has separation.
func (c *gatewayCaller) decideForColleague(serviceAccounts bool) (int, object) {
	c.t.Helper()
	c.Create(&v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Name: "separated"}, Spec: v1beta1.AgentRoleSpec{
		SystemPrompt: "Help.",
		Approval:     &v1beta1.ApprovalPolicy{Mode: v1beta1.ApprovalAlways, DenyRequesters: true, AllowServiceAccounts: serviceAccounts},
	}})
	task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: "of-bob"}}
	task.Spec = v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent, Role: "separated", Instruction: sum, User: "bob"}
	c.Expect(c.As("bob", runner).Create(c.t.Context(), task)).To(Succeed())
	c.waitForApproval("of-bob")
	c.Expect(c.Get("of-bob", task)).To(Succeed())
	ref := task.Status.Waiting.ToolCall + "@of-bob#" + task.Status.Waiting.ArgumentsDigest
	return c.post("/v1/chat/completions", object{
		"model": c.Namespace + "/separated", "metadata": object{"task": "of-bob", "ask": ref}, "messages": []any{said("approve")},
	})
}
