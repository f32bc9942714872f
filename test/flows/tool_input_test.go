// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// asker is an MCP server whose tools ask for input before they take effect.
type asker struct {
	*httptest.Server
	mu      sync.Mutex
	effects map[string]int
}

// startAsker starts the server: of revision 2026-07-28, or of an earlier one, which asks during the call.
func startAsker(earlier bool) *asker {
	a := &asker{effects: map[string]int{}}
	server := mcp.NewServer(&mcp.Implementation{Name: "asker", Version: "1"}, nil)
	schema := json.RawMessage(`{"type":"object","properties":{"color":{"type":"string","enum":["red","blue"]}},"required":["color"]}`)
	deploy := func(_ context.Context, request *mcp.CallToolRequest, in writeInput) (*mcp.CallToolResult, any, error) {
		answer, ok := request.Params.InputResponses["color"].(*mcp.ElicitResult)
		if !ok {
			return &mcp.CallToolResult{RequestState: "asked", InputRequests: mcp.InputRequestMap{"color": &mcp.ElicitParams{Message: "Which color?", RequestedSchema: schema}}}, nil, nil
		}
		if answer.Action != "accept" {
			return text("not deployed"), nil, nil
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.effects[in.Path]++
		return text("deployed " + in.Path + " to " + answer.Content["color"].(string)), nil, nil
	}
	mcp.AddTool(server, &mcp.Tool{Name: "deploy", Description: "Deploys something."}, deploy)
	mcp.AddTool(server, &mcp.Tool{Name: "put", Description: "Deploys something again and again.", Annotations: &mcp.ToolAnnotations{IdempotentHint: true}}, deploy)
	handler := http.Handler(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	if earlier {
		handler = withoutDiscovery(handler)
	}
	a.Server = httptest.NewServer(handler)
	return a
}

// withoutDiscovery behaves like a server of an earlier revision.
func withoutDiscovery(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || bytes.Contains(body, []byte(`"server/discover"`)) {
			http.Error(w, "unknown method", http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// Close stops the server and releases waiting calls.
func (a *asker) Close() {
	a.CloseClientConnections()
	a.Server.Close()
}

func (a *asker) count(path string) func() int {
	return func() int {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.effects[path]
	}
}

// toolInput covers tools that ask a person for input, at every depth.
func toolInput(w *world) {
	for revision, earlier := range map[string]bool{"revision 2026-07-28": false, "an earlier revision": true} {
		Describe("A tool server of "+revision+" that asks for input", Ordered, func() {
			var a *asker
			BeforeAll(func() { a = startAsker(earlier) })
			AfterAll(func() { a.Close() })
			prepare := func(ctx context.Context) *testNamespace {
				GinkgoHelper()
				r := w.newNamespace(ctx)
				r.addToolServer(ctx, MakeToolServer("asker", a.URL))
				role := MakeRole("tester").Allow("asker__*").Obj()
				role.Spec.Approval = &v1beta1.ApprovalPolicy{Mode: v1beta1.ApprovalNever}
				r.create(ctx, role)
				return r
			}
			asks := And(BeIn(v1beta1.TaskWaiting), HaveField("Status.Waiting", HaveValue(And(
				HaveField("Kind", v1beta1.WaitingQuestion), HaveField("Text", And(ContainSubstring("tool server asker"), ContainSubstring("Which color?")))))))

			It("asks at the root of a standalone task for an agent below it, and again if the answer does not fit", func(ctx SpecContext) {
				r := prepare(ctx)
				path := r.namespace + "/nested"
				r.create(ctx, MakeTask("work", "Delegate to tester: Deploy "+path).Role("coder").Obj())
				Eventually(r.task("work")).WithContext(ctx).Should(And(asks, HaveField("Status.Waiting.SubAgent", "work-1")))
				r.create(ctx, MakeMessage("green").Task("work").Content("green").Obj())
				Eventually(r.task("work")).WithContext(ctx).Should(HaveField("Status.Waiting", HaveValue(HaveField("Text", ContainSubstring("does not fit")))))
				r.create(ctx, MakeMessage("blue").Task("work").Content("blue").Obj())
				Eventually(r.task("work-1")).WithContext(ctx).Should(And(BeIn(v1beta1.TaskSuccess), HaveField("Status.Result.Summary", "deployed "+path+" to blue")))
				Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
				Expect(a.count(path)()).To(Equal(1))
			})

			It("asks in the chat", func(ctx SpecContext) {
				r := prepare(ctx)
				path := r.namespace + "/chat"
				r.openChat(ctx)
				r.sendMessage(ctx, "go", "Delegate to tester: Deploy "+path)
				Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Which color?")))
				r.sendMessage(ctx, "answer", "Tell chat-1: red")
				Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("deployed " + path + " to red")))
				Expect(a.count(path)()).To(Equal(1))
			})

			It("asks for a task of type Tool, and takes effect once although the operator is killed before the answer", func(ctx SpecContext) {
				r := prepare(ctx)
				path := r.namespace + "/tool"
				r.create(ctx, MakeToolTask("work", "asker__put", `{"path":"`+path+`"}`).Obj())
				Eventually(r.task("work")).WithContext(ctx).Should(asks)
				Expect(w.Operator.Kill()).To(Succeed())
				Expect(w.StartOperator(ctx)).To(Succeed())
				r.create(ctx, MakeMessage("answer").Task("work").Content("red").Obj())
				Eventually(r.task("work")).WithContext(ctx).Should(And(BeIn(v1beta1.TaskSuccess), HaveField("Status.Result.Summary", "deployed "+path+" to red")))
				Expect(a.count(path)()).To(Equal(1))
			})

			It("receives the refusal of a person", func(ctx SpecContext) {
				r := prepare(ctx)
				r.create(ctx, MakeTask("work", "Deploy "+r.namespace+"/no").Role("tester").Obj())
				Eventually(r.task("work")).WithContext(ctx).Should(asks)
				r.create(ctx, MakeMessage("no").Task("work").Content("decline").Obj())
				Eventually(r.task("work")).WithContext(ctx).Should(And(BeIn(v1beta1.TaskSuccess), HaveField("Status.Result.Summary", "not deployed")))
				Expect(a.count(r.namespace + "/no")()).To(BeZero())
			})
		})
	}
}
