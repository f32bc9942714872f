// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/npm"
)

// runClient runs a program with node, and decodes what it prints.
func runClient(ctx context.Context, into any, script string, args ...string) {
	GinkgoHelper()
	output := npm.Program{Dir: "door-clients", Script: script, Args: args}.Output(ctx, GinkgoT())
	Expect(json.Unmarshal([]byte(output), into)).To(Succeed(), "%s", output)
}

type mcpResult struct {
	IsError           bool
	Content           []struct{ Text string }
	StructuredContent struct {
		Task, Phase, Answer string
		Waiting             *struct{ Ask, Kind string }
	}
}

// doors runs clients of other projects: each runs a flow with a question and an approval. What a caller may do is tested by test/rbac.
func doors(w *world) {
	Describe("A door", func() {
		// prepare returns the namespace, a token that may use it, and an instruction that leads to a question and an approval.
		prepare := func(ctx context.Context) (r *testNamespace, token, instruction string) {
			GinkgoHelper()
			r = w.newNamespace(ctx)
			r.create(ctx, MakeToolServer("box", w.tools.URL), MakeRole("tester").Allow("box__*").Obj())
			token, err := w.Token(ctx, r.namespace, "client", "nestor-user", "nestor-runner")
			Expect(err).NotTo(HaveOccurred())
			return r, token, `Spawn [{"task":"Ask: Which colour?","role":"tester"},{"task":"Write ` + r.namespace + `/door","role":"tester"}]`
		}

		for _, revision := range []string{"2026-07-28", "legacy"} {
			It("serves @modelcontextprotocol/client, "+revision, func(ctx SpecContext) {
				r, token, instruction := prepare(ctx)
				var seen struct {
					Tools, Forms []string
					Progress     int
					Result       mcpResult
				}
				runClient(ctx, &seen, "mcp.mjs", w.GatewayURL+"/mcp/"+r.namespace, token, revision, "coder", instruction)
				Expect(seen.Tools).To(ContainElements("run_agent", "start_task", "get_task", "answer", "cancel", "Planner"))
				Expect(seen.Tools).NotTo(ContainElement("decide"), "a model must not decide")
				Expect(seen.Forms).To(ConsistOf(ContainSubstring("Which colour?"), ContainSubstring("box__write")))
				Expect(seen.Result.IsError).To(BeFalse(), "%+v", seen.Result)
				Expect(seen.Result.StructuredContent.Phase).To(BeEquivalentTo(v1beta1.TaskSuccess))
				Expect(seen.Progress).To(BeNumerically(">", 0))
				Expect(w.tools.writeCount(r.namespace + "/door")()).To(Equal(1))
			})
		}

		It("serves the command line of the MCP inspector, which takes no forms", func(ctx SpecContext) {
			r, token, instruction := prepare(ctx)
			call := func(tool string, arguments ...string) (result mcpResult) {
				GinkgoHelper()
				args := []string{w.GatewayURL + "/mcp/" + r.namespace, "--transport", "http", "--header", "Authorization: Bearer " + token, "--method", "tools/call", "--tool-name", tool}
				for _, argument := range arguments {
					args = append(args, "--tool-arg", argument)
				}
				runClient(ctx, &result, "node_modules/@modelcontextprotocol/inspector/cli/build/index.js", args...)
				return result
			}
			result := call("run_agent", "role=coder", "instruction="+instruction)
			answered := map[string]bool{}
			for waiting := result.StructuredContent.Waiting; waiting != nil; waiting = result.StructuredContent.Waiting {
				task := "task=" + result.StructuredContent.Task
				switch {
				case answered[waiting.Ask]: // the status shows the ask for a moment after its answer
				case waiting.Kind == string(v1beta1.WaitingApproval):
					Expect(call("answer", task, "ask="+waiting.Ask, "answer=approve").IsError).To(BeTrue(), "no tool decides")
					waiting, err := r.task(result.StructuredContent.Task)(ctx)
					Expect(err).NotTo(HaveOccurred())
					shown := waiting.Status.Waiting
					r.create(ctx, MakeMessage("approve").Task(waiting.Name).Approve(waiting.Name, shown.ToolCall).Digest(shown.ArgumentsDigest).Obj())
				default:
					call("answer", task, "ask="+waiting.Ask, "answer=Green")
				}
				answered[waiting.Ask] = true
				result = call("get_task", task, "waitSeconds=120")
			}
			Expect(answered).To(HaveLen(2))
			Expect(result.StructuredContent.Phase).To(BeEquivalentTo(v1beta1.TaskSuccess), "%+v", result)
			Expect(w.tools.writeCount(r.namespace + "/door")()).To(Equal(1))
		})

		It("serves @ag-ui/client", func(ctx SpecContext) {
			r, token, instruction := prepare(ctx)
			var seen struct {
				Interrupts     []struct{ ID, Reason, Message string }
				Types          []string
				Outcome, Error string
				Messages       []struct {
					Role    string
					Content any
				}
				State struct{ Nestor struct{ Task, Phase string } }
			}
			runClient(ctx, &seen, "agui.mjs", w.GatewayURL+"/ag-ui/"+r.namespace+"/coder", token, instruction)
			Expect(seen.Error).To(BeEmpty())
			Expect(seen.Outcome).To(Equal("success"))
			Expect(seen.Interrupts).To(ConsistOf(
				And(HaveField("Reason", "input_required"), HaveField("Message", ContainSubstring("Which colour?"))),
				And(HaveField("Reason", "tool_call"), HaveField("Message", ContainSubstring("box__write"))),
			))
			Expect(seen.Types).To(ContainElements("RUN_STARTED", "STATE_SNAPSHOT", "TOOL_CALL_START", "SUBAGENT_STARTED", "STEP_STARTED", "SUBAGENT_FINISHED", "TEXT_MESSAGE_CONTENT", "RUN_FINISHED"))
			Expect(seen.State.Nestor.Phase).To(BeEquivalentTo(v1beta1.TaskSuccess))
			Eventually(r.task(seen.State.Nestor.Task)).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			Expect(w.tools.writeCount(r.namespace + "/door")()).To(Equal(1))
		})
	})
}
