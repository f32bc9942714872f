// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	historyapi "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/controller"
	"github.com/nestor-dev/nestor/internal/model/scripted"
	"github.com/nestor-dev/nestor/internal/operator"
)

// modelKey must not appear anywhere.
const modelKey = "sk-very-secret-key"

// runOperator runs the controllers on a served ledger until the spec ends.
func runOperator(w servedLedger) client.Client {
	GinkgoHelper()
	assembled, err := operator.New(ctx, operator.Options{
		Config: cluster.Config, Live: w.hub,
		Controllers: controller.Options{AllowLoopbackEndpoints: true, OperatorNamespace: operatorNamespace, Ledger: w.ledger},
	})
	Expect(err).NotTo(HaveOccurred())
	running, cancel := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	go func() { stopped <- assembled.Run(running) }()
	DeferCleanup(func() {
		cancel()
		Eventually(stopped).Should(Receive(Succeed()))
	})
	objects, err := client.New(cluster.Config, client.Options{Scheme: operator.NewScheme()})
	Expect(err).NotTo(HaveOccurred())
	return objects
}

// createProvider creates a slow model in a namespace, so that replies can be observed while they stream.
func createProvider(objects client.Client, namespace string) *heldModel {
	GinkgoHelper()
	script, err := scripted.Builtin("central-orchestration")
	Expect(err).NotTo(HaveOccurred())
	held := &heldModel{Handler: scripted.NewServer(scripted.Options{APIKey: modelKey, Scripts: []*scripted.Script{script}})}
	held.release()
	server := httptest.NewServer(held)
	DeferCleanup(func() {
		held.release()
		server.Close()
	})
	Expect(objects.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "model-key"}, StringData: map[string]string{"key": modelKey},
	})).To(Succeed())
	provider := &v1beta1.ModelProvider{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}}
	provider.Spec.BaseURL, provider.Spec.DefaultModel = server.URL+"/v1", "scripted"
	provider.Spec.APIKeyRef = &v1beta1.SecretKeyRef{Name: "model-key", Key: "key"}
	Expect(objects.Create(ctx, provider)).To(Succeed())
	return held
}

// heldModel is a model whose replies can be held before their end, so that a slow reader gets their deltas.
type heldModel struct {
	http.Handler

	mu   sync.Mutex
	text string
	open chan struct{} // closed if replies with the text may end
}

func (m *heldModel) hold(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.text, m.open = text, make(chan struct{})
}

func (m *heldModel) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open == nil {
		m.open = make(chan struct{})
	}
	select {
	case <-m.open:
	default:
		close(m.open)
	}
}

// ServeHTTP implements http.Handler.
func (m *heldModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	reply := &heldReply{ResponseWriter: w, request: r, text: m.text, open: m.open}
	m.mu.Unlock()
	m.Handler.ServeHTTP(reply, r)
}

type heldReply struct {
	http.ResponseWriter

	request *http.Request
	text    string
	open    <-chan struct{}
	sent    bytes.Buffer
}

// Write implements http.ResponseWriter.
func (w *heldReply) Write(p []byte) (int, error) {
	w.sent.Write(p)
	if bytes.Contains(p, []byte("[DONE]")) && strings.Contains(w.sent.String(), w.text) {
		_ = http.NewResponseController(w.ResponseWriter).Flush() // an error is found when it is written
		select {
		case <-w.open:
		case <-w.request.Context().Done():
		}
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap returns the writer with the methods of http.ResponseController.
func (w *heldReply) Unwrap() http.ResponseWriter { return w.ResponseWriter }

var _ = Describe("The history of a running operator", func() {
	It("can be followed, and survives the deletion of the chat", func() {
		w := serve(newLedger())
		DeferCleanup(func() { w.stop() })
		objects := runOperator(w)
		namespace("team-live")
		script := createProvider(objects, "team-live")
		chat := &v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: "team-live", Name: "chat"}}
		Expect(objects.Create(ctx, chat)).To(Succeed())
		write := func(name, text string) {
			GinkgoHelper()
			Expect(objects.Create(ctx, &v1beta1.AgentMessage{
				ObjectMeta: metav1.ObjectMeta{Namespace: "team-live", Name: name}, Spec: v1beta1.AgentMessageSpec{Chat: "chat", Content: text},
			})).To(Succeed())
		}
		Eventually(func() error {
			_, err := kubectl("get", "transcript", "chat.chat", "-n", "team-live")
			return err
		}).Should(Succeed())
		lines := follow("team-live", "chat.chat/log?follow=true")
		script.hold("")
		write("hello", "Summarise what was released this year.")
		Eventually(lines).Should(Receive(HaveSuffix("User Summarise what was released this year.")))
		Eventually(lines).Should(Receive(ContainSubstring(" Delta ")))
		script.release()
		Eventually(lines).Should(Receive(HaveSuffix("Question Which year is it?")))
		script.hold("Thanks")
		write("answer", "It is 2024")
		Eventually(lines).Should(Receive(ContainSubstring("Delta Thanks, I have told")))
		script.release()
		Eventually(lines).Should(Receive(HaveSuffix("Assistant Thanks, I have told the researcher.")))
		Eventually(lines).Should(Receive(ContainSubstring("Assistant Three releases came out")))

		t := transcriptOf("team-live", "subagent.chat-1")
		Expect(t.Status.Phase).To(Equal(historyapi.PhaseSuccess))
		Expect(t.Agent.Parent).To(Equal(chat.UID))
		Expect(t.Entries[0].Kind).To(Equal(historyapi.EntryStarted))
		Expect(t.Entries[len(t.Entries)-1].Outcome).NotTo(BeNil())

		By("hiding the model's key")
		for _, args := range [][]string{
			{"get", "transcripts,modelcalls,usages", "-n", "team-live", "-o", "yaml"},
			{"get", "transcript", "chat.chat", "-n", "team-live", "-o", "yaml"},
			{"get", "modelcall", string(chat.UID) + ".m1.1", "-n", "team-live", "-o", "yaml"},
		} {
			out := must(kubectl(args...))
			Expect(out).To(ContainSubstring("team-live"))
			Expect(out).NotTo(ContainSubstring(modelKey), strings.Join(args, " "))
		}

		By("outliving the objects")
		Expect(objects.Delete(ctx, chat)).To(Succeed())
		Eventually(func() (string, error) { return kubectl("get", "agentchats,subagents,agentmessages", "-n", "team-live") }).Should(BeEmpty())
		Expect(must(kubectl("get", "transcript", "chat.chat", "-n", "team-live", "-o", "yaml"))).To(ContainSubstring("Three releases came out"))
		Expect(must(kubectl("get", "transcript", "subagent.chat-1", "-n", "team-live", "-o", "yaml"))).To(ContainSubstring("Which year is it?"))
		Eventually(lines).Should(BeClosed(), "a deleted chat is no longer followed")
	})
})
