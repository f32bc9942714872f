// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/push"
)

// notified creates a task whose state is sent to a URL, and returns what is recorded about that.
func (r *testNamespace) notified(url string) func() (push.Record, error) {
	r.t.Helper()
	configs, err := json.Marshal([]push.Config{{ID: "a", URL: url}})
	r.Expect(err).NotTo(HaveOccurred())
	task := &v1beta1.AgentTask{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "work", Annotations: map[string]string{v1beta1.AnnotationPush: string(configs)}},
		Spec:       v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent, Role: "general", Instruction: "Submit done"},
	}
	r.Expect(r.As("mallory", runner).Create(r.t.Context(), task)).To(Succeed())
	return func() (push.Record, error) {
		var found v1beta1.AgentTask
		err := r.Get("work", &found)
		return push.Records(&found)["a"], err
	}
}

// receiver returns the URL of a server, and how many requests it got.
func receiver(t *testing.T) (string, *atomic.Int64) {
	t.Helper()
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	t.Cleanup(server.Close)
	return server.URL, &requests
}

// insideAttack is an attack with a receiver that is not on the internet. The operator of these tests allows loopback
// addresses, so that the control has a receiver.
func insideAttack(name, url, reason string) attack {
	return attack{
		name: name, attempt: "mallory registers " + url + " for the notifications of a task",
		defence: "the operator: receivers are on the internet, or in --push-networks; the record has the same words for all that cannot be reached",
		run: func(t *testing.T, w *target) {
			r := w.newNamespace(t)
			record := r.notified(url)
			r.Eventually(record).Should(HaveField("Error", ContainSubstring(reason)))
		},
		control: func(t *testing.T, w *target) {
			r := w.newNamespace(t)
			url, requests := receiver(t)
			record := r.notified(url)
			r.Eventually(record).Should(And(HaveField("State", Not(BeEmpty())), HaveField("Error", "")))
			r.Expect(requests.Load()).To(BeNumerically(">", 0))
		},
	}
}

var _ = class(
	"push",
	insideAttack("notifications reach a Service", "https://10.96.0.1:443/", "a private address"),
	insideAttack("notifications reach the network of the office", "https://192.168.1.1/", "a private address"),
	insideAttack("notifications reach the network of the provider", "https://100.64.0.1/", "a private address"),
	insideAttack("notifications reach a private IPv6 address", "https://[fd12:3456::1]/", "a private address"),
	insideAttack("notifications reach a private address in another notation", "https://[::ffff:10.96.0.1]/", "a private address"),
	insideAttack("notifications reach the metadata service", "https://169.254.169.254/latest/meta-data", "a link-local address"),
	insideAttack("notifications carry a password", "https://user:secret@example.com/", "must not contain a user or a password"),
)
