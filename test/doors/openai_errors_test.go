// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package doors

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// reply is the part of OpenAI's responses that these tests read.
type reply struct {
	Error *struct{ Message, Type string }
	Data  []struct{ ID string }

	ID, Status string
}

// openAI sends a request to the OpenAI door, and returns the status and the response.
func (r *room) openAI(method, path, body string) (int, reply) {
	r.t.Helper()
	code, text := r.raw(method, path, body)
	var parsed reply
	r.Expect(json.Unmarshal([]byte(text), &parsed)).To(Succeed(), text)
	return code, parsed
}

// raw sends a request to the gateway, and returns the status and the body.
func (r *room) raw(method, path, body string) (int, string) {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), method, r.GatewayURL+path, strings.NewReader(body))
	r.Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Authorization", "Bearer "+r.token)
	response, err := http.DefaultClient.Do(request)
	r.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	r.Expect(err).NotTo(HaveOccurred())
	return response.StatusCode, string(text)
}

func TestOpenAIBlockedRun(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.addBlockedRole()
	for range 3 { // as a client that repeats requests would
		code, answer := r.openAI(http.MethodPost, "/v1/chat/completions", `{"model": "`+r.Namespace+`/waits", "messages": [{"role": "user", "content": "Say hello"}]}`)
		r.Expect(code).To(Equal(http.StatusBadRequest))
		r.Expect(answer.Error.Message).To(And(ContainSubstring("cannot start yet"), ContainSubstring("later")))
	}
	tasks := r.Standalone()
	r.Expect(tasks).To(HaveLen(1), "the same request finds the run that cannot start")
	r.Expect(r.Provider(t.Context(), r.Namespace, "later")).To(Succeed())
	r.Eventually(func() (v1beta1.TaskPhase, error) {
		err := r.API.Get(t.Context(), client.ObjectKeyFromObject(&tasks[0]), &tasks[0])
		return tasks[0].Status.Phase, err
	}).Should(Equal(v1beta1.TaskSuccess), "it starts automatically")
	code, _ := r.openAI(http.MethodPost, "/v1/chat/completions", `{"model": "`+r.Namespace+`/waits", "messages": [{"role": "user", "content": "Say hello"}]}`)
	r.Expect(code).To(Equal(http.StatusOK))
	r.Expect(r.Standalone()).To(HaveLen(2), "a run that has ended is not found")
}

func TestOpenAIBlockedRunCancel(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.addBlockedRole()
	code, answer := r.openAI(http.MethodPost, "/v1/responses",
		`{"model": "`+r.Namespace+`/waits", "input": "Say hello", "background": true}`)
	r.Expect(code).To(Equal(http.StatusOK))
	code, answer = r.openAI(http.MethodPost, "/v1/responses/"+answer.ID+"/cancel", "")
	r.Expect(code).To(Equal(http.StatusOK))
	r.Expect(answer.Status).To(Equal("cancelled"))
}

func TestOpenAIFailedResponses(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	body := `{"model": "` + r.Namespace + `/releaser", "input": "Give up"`
	code, answer := r.openAI(http.MethodPost, "/v1/responses", body+`}`)
	r.Expect(code).To(Equal(http.StatusBadRequest))
	r.Expect(answer.Error.Message).To(ContainSubstring("It cannot be done"))
	r.Expect(answer.Error.Type).To(Equal("invalid_request_error"))

	code, answer = r.openAI(http.MethodPost, "/v1/responses", body+`, "background": true}`)
	r.Expect(code).To(Equal(http.StatusOK))
	r.Eventually(func() string {
		code, answer = r.openAI(http.MethodGet, "/v1/responses/"+answer.ID, "")
		r.Expect(code).To(Equal(http.StatusOK))
		return answer.Status
	}).Should(Equal("failed"))
	r.Expect(answer.Error.Type).To(Equal("invalid_request_error"))
	r.Expect(answer.Error.Message).To(ContainSubstring("It cannot be done"))

	for method, path := range map[string]string{http.MethodPost: "/v1/responses", http.MethodGet: "/v1/responses/" + answer.ID + "?stream=true"} {
		code, text := r.raw(method, path, body+`, "stream": true}`)
		r.Expect(code).To(Equal(http.StatusOK))
		failed := strings.Index(text, "event: response.failed")
		r.Expect(text[:failed]).To(MatchRegexp(`event: error\ndata: .*"type":"invalid_request_error".*It cannot be done|event: error\ndata: .*It cannot be done.*"type":"invalid_request_error"`))
	}
}

func TestOpenAIRefusesTaskImages(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	code, answer := r.openAI(http.MethodPost, "/v1/chat/completions", `{"model": "`+r.Namespace+`/releaser", "messages": [{"role": "user", "content": [
		{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]}]}`)
	r.Expect(code).To(Equal(http.StatusBadRequest))
	r.Expect(answer.Error.Message).To(ContainSubstring("chat"))
	r.Expect(r.Standalone()).To(BeEmpty())
}

func TestOpenAIModelsOfNamespaces(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	other := r.Namespace + "-other"
	r.EmptyRoom(t, other)
	code, listed := r.openAI(http.MethodGet, "/v1/models", "")
	r.Expect(code).To(Equal(http.StatusOK))
	r.Expect(listed.Data).To(ContainElement(HaveField("ID", r.Namespace+"/releaser")), "the account's own namespace")
	r.Expect(listed.Data).NotTo(ContainElement(HaveField("ID", HavePrefix(other+"/"))))
	code, refused := r.openAI(http.MethodGet, "/v1/models?namespace="+other, "")
	r.Expect(code).To(Equal(http.StatusForbidden))
	r.Expect(refused.Error.Message).To(ContainSubstring("cannot list"))
	code, missing := r.openAI(http.MethodGet, "/v1/files", "")
	r.Expect(code).To(Equal(http.StatusNotFound))
	r.Expect(missing.Error.Message).To(ContainSubstring("/v1/files"))
}
