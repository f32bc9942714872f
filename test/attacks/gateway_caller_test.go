// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/test/patience"
)

// twice makes an agent call the calculator twice at once; the calls have these digests.
const twice = "Calculate both 6 * 7 and 6 * 8"

var (
	firstDigest  = agent.CallDigest("calculator", `{"expression":"6 * 7"}`)
	secondDigest = agent.CallDigest("calculator", `{"expression":"6 * 8"}`)
)

// gatewayCaller is a caller of the gateway in a room where every call needs an approval.
type gatewayCaller struct {
	*testNamespace
	token, name string
}

// object is JSON that was sent or received.
type object = map[string]any

func (w *target) newCaller(t testing.TB, roles ...string) *gatewayCaller {
	t.Helper()
	c := &gatewayCaller{testNamespace: w.newNamespace(t)}
	c.createGuardedChat(false)
	c.Create(&v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Name: "general"}, Spec: v1beta1.AgentRoleSpec{
		Approval: &v1beta1.ApprovalPolicy{Mode: v1beta1.ApprovalAlways},
	}})
	if len(roles) == 0 {
		roles = []string{user, runner}
	}
	c.name = "system:serviceaccount:" + c.Namespace + ":caller"
	var err error
	c.token, err = w.Token(t.Context(), c.Namespace, "caller", roles...)
	c.Expect(err).NotTo(HaveOccurred())
	return c
}

func (c *gatewayCaller) post(path string, body object) (int, object) {
	c.t.Helper()
	text, err := json.Marshal(body)
	c.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithTimeout(c.t.Context(), patience.Limit()) // a response that does not end is a failure
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.GatewayURL+path, bytes.NewReader(text))
	c.Expect(err).NotTo(HaveOccurred())
	req.Header = http.Header{"Content-Type": {"application/json"}, "A2a-Version": {"1.0"}}
	req.Header.Set("Authorization", "Bearer "+c.token)
	got, err := http.DefaultClient.Do(req)
	c.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = got.Body.Close() }()
	text, err = io.ReadAll(got.Body)
	c.Expect(err).NotTo(HaveOccurred())
	answer := object{}
	if json.Unmarshal(text, &answer) != nil {
		answer["text"] = string(text) // a stream
	}
	return got.StatusCode, answer
}

// respond sends a request for a response, and returns it.
func (c *gatewayCaller) respond(body object) object {
	c.t.Helper()
	body["model"] = c.Namespace + "/general"
	code, answer := c.post("/v1/responses", body)
	c.Expect(code).To(Equal(http.StatusOK), "%v", answer)
	return answer
}

// complete sends a request for a chat completion, and returns its text and metadata.
func (c *gatewayCaller) complete(metadata object, messages ...object) (string, object) {
	c.t.Helper()
	body := object{"model": c.Namespace + "/general", "metadata": metadata, "messages": messages}
	code, answer := c.post("/v1/chat/completions", body)
	c.Expect(code).To(Equal(http.StatusOK), "%v", answer)
	message := dig(answer, "choices", 0, "message", "content")
	responseMetadata, _ := answer["metadata"].(object)
	return fmt.Sprint(message), responseMetadata
}

func said(text string) object    { return object{"role": "user", "content": text} }
func replied(text string) object { return object{"role": "assistant", "content": text} }

// dig returns a value inside of JSON, or nil.
func dig(value any, path ...any) any {
	for _, key := range path {
		switch k := key.(type) {
		case string:
			in, _ := value.(object)
			value = in[k]
		case int:
			list, _ := value.([]any)
			if k >= len(list) {
				return nil
			}
			value = list[k]
		}
	}
	return value
}

func textOfResponse(answer object) string {
	items, _ := answer["output"].([]any)
	text := ""
	for _, item := range items {
		text += fmt.Sprint(dig(item, "content", 0, "text"))
	}
	return text
}

func taskOf(metadata any) string {
	name, _ := dig(metadata, "task").(string)
	_, name, _ = strings.Cut(name, "/")
	return name
}

// decisions returns the digests of the calls that the caller has approved or denied.
func (c *gatewayCaller) decisions() []string {
	c.t.Helper()
	var digests []string
	for _, m := range c.Messages(func(m v1beta1.AgentMessage) bool { return m.Spec.Approval != nil && m.Spec.User == c.name }) {
		digests = append(digests, m.Spec.Approval.ArgumentsDigest)
	}
	return digests
}

// contents returns what people wrote in the room.
func (c *gatewayCaller) contents() []string {
	c.t.Helper()
	var texts []string
	for _, m := range c.Messages(func(m v1beta1.AgentMessage) bool { return !posted(m) && m.Spec.Content != "" }) {
		texts = append(texts, m.Spec.Content)
	}
	return texts
}

// colleagueWrites makes the chat wait for an approval that only a colleague has been shown.
func (c *gatewayCaller) colleagueWrites() {
	c.t.Helper()
	c.sendMessage(c.As("bob", user), "ask-of-bob", "bob", sum)
	c.waitForChat()
}

// waitForChat waits until the status of the chat has what it waits for, which follows the status of the task.
func (c *gatewayCaller) waitForChat() {
	c.t.Helper()
	c.Eventually(func() ([]v1beta1.ChatWaitingItem, error) {
		var chat v1beta1.AgentChat
		err := c.Get("chat", &chat)
		return chat.Status.Waiting, err
	}).Should(HaveLen(1))
}

// messageWith returns the newest message whose content ends with text, or nil.
func (c *gatewayCaller) messageWith(content string) *v1beta1.AgentMessage {
	c.t.Helper()
	messages := c.Messages(func(m v1beta1.AgentMessage) bool { return strings.HasSuffix(m.Spec.Content, content) })
	if len(messages) == 0 {
		return nil
	}
	return &messages[len(messages)-1]
}

// colleagueDecides decides about the call that a standalone task shows, as kubectl does, and waits until it shows
// another or none.
func (c *gatewayCaller) colleagueDecides(name string, decision v1beta1.Decision) {
	c.t.Helper()
	var task v1beta1.AgentTask
	c.Expect(c.Get(name, &task)).To(Succeed())
	c.Expect(task.Status.Waiting).NotTo(BeNil())
	shown := *task.Status.Waiting
	message := c.approval("decision-of-bob", "bob", name)
	message.Spec.Chat, message.Spec.Task = "", name
	message.Spec.Approval.ToolCall, message.Spec.Approval.ArgumentsDigest = shown.ToolCall, shown.ArgumentsDigest
	message.Spec.Approval.Decision = decision
	c.Expect(c.As("bob", runner).Create(c.t.Context(), message)).To(Succeed())
	c.Eventually(func() (bool, error) {
		err := c.Get(name, &task)
		return task.Status.Waiting == nil || task.Status.Waiting.ToolCall != shown.ToolCall, err
	}).Should(BeTrue(), "the decision of the colleague counts")
}

// message sends a message to an A2A agent, and returns the task or the error. to is the task that it replies to, or
// nil.
func (c *gatewayCaller) message(role, id string, to object, parts ...object) object {
	c.t.Helper()
	message := object{"messageId": id, "role": "ROLE_USER", "parts": parts}
	switch {
	case to != nil:
		message["taskId"] = dig(to, "task", "id")
	case role == "orchestrator":
		message["contextId"] = "chat/chat"
	}
	_, answer := c.post("/a2a/"+c.Namespace+"/"+role+"/v1/message:send", object{"message": message})
	return answer
}

func textPart(text string) object { return object{"text": text} }

// dataPart returns a decision about the ask that an A2A task shows.
func dataPart(task object, decision string) object {
	ask := dig(task, "task", "status", "message", "parts", 1, "data")
	return object{"data": object{"decision": decision, "ask": dig(ask, "ask"), "digest": dig(ask, "digest")}}
}

// agui sends a request of AG-UI, and returns the id of the interrupt that ends its stream, and the text of the stream.
func (c *gatewayCaller) agui(run string, more object) (interrupt, stream string) {
	c.t.Helper()
	in := object{"threadId": "t", "runId": run, "state": object{}, "tools": []any{}, "context": []any{}}
	in["protocolVersion"] = "1.0"
	in["messages"] = []any{object{"id": "m", "role": "user", "content": twice}}
	maps.Copy(in, more)
	code, answer := c.post("/ag-ui/"+c.Namespace+"/general", in)
	c.Expect(code).To(Equal(http.StatusOK), "%v", answer)
	stream = fmt.Sprint(answer["text"])
	for line := range strings.Lines(stream) {
		var event object
		if data, ok := strings.CutPrefix(line, "data: "); ok && json.Unmarshal([]byte(data), &event) == nil {
			if id, ok := dig(event, "outcome", "interrupts", 0, "id").(string); ok {
				interrupt = id
			}
		}
	}
	return interrupt, stream
}

// callTools calls tools of the MCP door in one session. If person is true, forms are answered with approve.
func (c *gatewayCaller) callTools(person bool, calls func(call func(tool string, arguments object) *mcp.CallToolResult)) {
	c.t.Helper()
	options := &mcp.ClientOptions{}
	if person {
		options.ElicitationHandler = func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: object{"decision": "approve"}}, nil
		}
	}
	transport := &mcp.StreamableClientTransport{
		Endpoint: c.GatewayURL + "/mcp/" + c.Namespace, HTTPClient: &http.Client{Transport: withToken(c.token)}, DisableStandaloneSSE: true,
	}
	attacker := mcp.NewClient(&mcp.Implementation{Name: "attacker", Version: "1"}, options)
	session, err := attacker.Connect(c.t.Context(), transport, nil)
	c.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = session.Close() }()
	calls(func(tool string, arguments object) *mcp.CallToolResult {
		result, err := session.CallTool(c.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil {
			result = &mcp.CallToolResult{}
			result.SetError(err)
		}
		return result
	})
}

// expectUndecided checks that the caller has decided nothing and a task still waits.
func (c *gatewayCaller) expectUndecided(task string) {
	c.t.Helper()
	c.Expect(c.decisions()).To(BeEmpty(), "the caller must have decided nothing")
	c.Expect(c.TaskPhase(task)()).To(Equal(v1beta1.TaskWaiting), "the call must still wait")
}

// expectApproved checks that the caller has decided about one call only.
func (c *gatewayCaller) expectApproved(digest string) {
	c.t.Helper()
	c.Expect(c.decisions()).To(Equal([]string{digest}))
}
