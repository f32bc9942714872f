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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1alpha1"
)

// reply is the part of OpenAI's responses that these tests read.
type reply struct {
	Error *struct{ Message, Type string }
	Data  []struct{ ID string }
}

// openAI sends a request to the OpenAI door, and returns the status and the response.
func (r *room) openAI(method, path, body string) (int, reply) {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), method, r.stack.GatewayURL+path, strings.NewReader(body))
	r.Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Authorization", "Bearer "+r.token)
	response, err := http.DefaultClient.Do(request)
	r.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	r.Expect(err).NotTo(HaveOccurred())
	var parsed reply
	r.Expect(json.Unmarshal(text, &parsed)).To(Succeed(), string(text))
	return response.StatusCode, parsed
}

func TestOpenAIRunThatCannotStart(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	role := &v1alpha1.AgentRole{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "waits"}}
	role.Spec.SystemPrompt, role.Spec.ModelProvider = "You wait.", "later"
	r.create(role)
	code, answer := r.openAI(http.MethodPost, "/v1/chat/completions", `{"model": "`+r.namespace+`/waits", "messages": [{"role": "user", "content": "Say hello"}]}`)
	r.Expect(code).To(Equal(http.StatusServiceUnavailable))
	r.Expect(answer.Error.Message).To(And(ContainSubstring("cannot start yet"), ContainSubstring("later")))
	tasks := r.tasks()
	r.Expect(tasks).To(HaveLen(1))
	r.Expect(r.stack.Provider(t.Context(), r.namespace, "later")).To(Succeed())
	r.Eventually(func() (v1alpha1.TaskPhase, error) {
		err := r.stack.API.Get(t.Context(), client.ObjectKeyFromObject(&tasks[0]), &tasks[0])
		return tasks[0].Status.Phase, err
	}).Should(Equal(v1alpha1.TaskSuccess), "it starts by itself")
}

func TestOpenAIRefusesImagesOutsideOfChats(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	code, answer := r.openAI(http.MethodPost, "/v1/chat/completions", `{"model": "`+r.namespace+`/releaser", "messages": [{"role": "user", "content": [
		{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}]}]}`)
	r.Expect(code).To(Equal(http.StatusBadRequest))
	r.Expect(answer.Error.Message).To(ContainSubstring("chat"))
	r.Expect(r.tasks()).To(BeEmpty())
}

func TestOpenAIModelsOfNamespaces(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	other := r.namespace + "-other"
	r.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: other}})
	code, listed := r.openAI(http.MethodGet, "/v1/models", "")
	r.Expect(code).To(Equal(http.StatusOK))
	r.Expect(listed.Data).To(ContainElement(HaveField("ID", r.namespace+"/releaser")), "the account's own namespace")
	r.Expect(listed.Data).NotTo(ContainElement(HaveField("ID", HavePrefix(other+"/"))))
	code, refused := r.openAI(http.MethodGet, "/v1/models?namespace="+other, "")
	r.Expect(code).To(Equal(http.StatusForbidden))
	r.Expect(refused.Error.Message).To(ContainSubstring("cannot list"))
	code, missing := r.openAI(http.MethodGet, "/v1/files", "")
	r.Expect(code).To(Equal(http.StatusNotFound))
	r.Expect(missing.Error.Message).To(ContainSubstring("/v1/files"))
}
