// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package doors

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// outputItem is a message in a response of the OpenAI API.
type outputItem struct {
	ID      string
	Content []struct{ Text string }
}

// responded is a part of a response of the OpenAI API.
type responded struct {
	ID, Status string
	Output     []outputItem
	Metadata   map[string]string
	Error      *struct{ Message, Param string }
}

func (a responded) text() string {
	text := ""
	for _, item := range a.Output {
		text += item.Content[0].Text
	}
	return text
}

// responses sends a request for a response, and decodes the answer or the last event of the stream.
func (r *room) responses(body map[string]any) (int, responded) {
	r.t.Helper()
	body["model"] = r.Namespace + "/releaser"
	request, err := json.Marshal(body)
	r.Expect(err).NotTo(HaveOccurred())
	code, text := r.raw(http.MethodPost, "/v1/responses", string(request))
	var answer responded
	if body["stream"] == nil {
		r.Expect(json.Unmarshal([]byte(text), &answer)).To(Succeed())
		return code, answer
	}
	for line := range strings.Lines(text) {
		event := struct{ Response *responded }{&answer}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			r.Expect(json.Unmarshal([]byte(data), &event)).To(Succeed())
		}
	}
	return code, answer
}

func userItem(text string) map[string]any {
	return map[string]any{"role": "user", "content": []any{map[string]any{"type": "input_text", "text": text}}}
}

// Clients send the earlier replies of a conversation in several forms.
func TestResponsesConversation(t *testing.T) {
	t.Parallel()
	for name, earlier := range map[string]func(outputItem) map[string]any{
		"references": func(i outputItem) map[string]any {
			return map[string]any{"type": "item_reference", "id": i.ID}
		},
		"items": func(i outputItem) map[string]any {
			text := map[string]any{"type": "output_text", "text": i.Content[0].Text, "annotations": []any{}}
			return map[string]any{"type": "message", "id": i.ID, "role": "assistant", "content": []any{text}}
		},
		"text": func(i outputItem) map[string]any {
			return map[string]any{"role": "assistant", "content": i.Content[0].Text}
		},
	} {
		for _, stream := range []any{nil, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				r := newRoom(t)
				input := []any{map[string]any{"role": "system", "content": "Be brief."}}
				say := func(text string) string {
					t.Helper()
					input = append(input, userItem(text))
					code, answer := r.responses(map[string]any{"input": input, "stream": stream})
					r.Expect(code).To(Equal(http.StatusOK), "%+v", answer.Error)
					for _, item := range answer.Output {
						input = append(input, earlier(item))
					}
					return answer.text()
				}
				r.Expect(say("Release the notes")).To(Equal("Which version?"))
				r.Expect(say("1.2")).To(ContainSubstring(`{"path":"notes-1.2"}`))
				r.Expect(say("Is it safe?")).To(And(HavePrefix("This message was not delivered"), ContainSubstring("box__write")))
				r.Expect(say("approve")).To(Equal("Released the notes: wrote notes-1.2."))
				r.Expect(r.Standalone()).To(HaveLen(1), "every reply reached its question")
				r.Expect(r.Standalone()[0].Spec.Instruction).To(ContainSubstring("Release the notes"))
				r.Expect(r.box.files()).To(Equal([]string{"notes-1.2"}))
			})
		}
	}
}

func TestResponsesReferences_NotResolvable(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	reference := func(id string) map[string]any { return map[string]any{"type": "item_reference", "id": id} }
	_, question := r.responses(map[string]any{"input": "Release the notes"})
	for name, input := range map[string][]any{
		"of another server": {userItem("a"), reference("msg_123"), userItem("b")},
		"not a message":     {userItem("a"), reference("rs_123"), userItem("b")},
		"of an earlier reply": {
			userItem("a"), reference(question.Output[0].ID), userItem("b"), map[string]any{"role": "assistant", "content": "c"}, userItem("d"),
		},
		"a call": {userItem("a"), map[string]any{"type": "function_call_output", "call_id": "1", "output": "x"}, userItem("b")},
	} {
		code, answer := r.responses(map[string]any{"input": input})
		r.Expect(code).To(Equal(http.StatusBadRequest), name)
		r.Expect(answer.Error.Param).To(Equal("input"), name)
	}
	r.Expect(r.Standalone()).To(HaveLen(1), "nothing was started")
}

// Another person answers and decides with the Kubernetes API before the client does.
func TestLateRepliesStartNothing(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	_, question := r.responses(map[string]any{"input": "Release the notes"})
	_, task, _ := strings.Cut(question.Metadata["task"], "/")
	answer := &v1beta1.AgentMessage{Spec: v1beta1.AgentMessageSpec{Task: task, Role: v1beta1.RoleUser, Content: "2.0"}}
	answer.Namespace, answer.Name = r.Namespace, "answer-of-bob"
	r.Create(answer)
	r.Eventually(func() (bool, error) {
		now, err := r.Task(task)()
		return now.Status.Waiting != nil && now.Status.Waiting.Kind == v1beta1.WaitingApproval, err
	}).Should(BeTrue())
	for _, reply := range []map[string]any{
		{"input": "1.2", "previous_response_id": question.ID},
		{"input": []any{userItem("Release the notes"), map[string]any{"role": "assistant", "content": "Which version?"}, userItem("1.2")}},
	} {
		_, late := r.responses(reply)
		r.Expect(late.text()).To(And(HavePrefix("This reply was not used"), ContainSubstring("notes-2.0")))
		r.Expect(late.Metadata).To(HaveKeyWithValue("notice", "stale"))
		question = late
	}
	r.Decide(task, r.WaitForApproval(task), v1beta1.DecisionApprove, "")
	r.Eventually(func() (v1beta1.TaskPhase, error) {
		now, err := r.Task(task)()
		return now.Status.Phase, err
	}).Should(Equal(v1beta1.TaskSuccess))
	for _, stream := range []any{nil, true} {
		_, late := r.responses(map[string]any{"input": "approve", "previous_response_id": question.ID, "stream": stream})
		r.Expect(late.text()).To(And(HavePrefix("This reply was not used"), HaveSuffix("Released the notes: wrote notes-2.0.")))
	}
	r.Expect(r.Standalone()).To(HaveLen(1))
	r.Expect(r.box.files()).To(Equal([]string{"notes-2.0"}))
}
