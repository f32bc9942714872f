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
	"sigs.k8s.io/controller-runtime/pkg/client"

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
		var task v1beta1.AgentTask
		err := r.Get("work", &task)
		return push.Records(&task)["a"], err
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
		run: inNamespace(func(r *testNamespace) {
			record := r.notified(url)
			r.Eventually(record).Should(HaveField("Error", ContainSubstring(reason)))
		}),
		control: func(t *testing.T, w *target) {
			r := w.newNamespace(t)
			url, requests := receiver(t)
			record := r.notified(url)
			r.Eventually(record).Should(And(HaveField("State", Not(BeEmpty())), HaveField("Error", "")))
			r.Expect(requests.Load()).To(BeNumerically(">", 0))
		},
	}
}

// notifyOf returns a receiver whose URL and key are in the Secret db.
func notifyOf() v1beta1.NotifyReceivers {
	ref := func(key string) v1beta1.SecretKeyRef { return v1beta1.SecretKeyRef{Name: "db", Key: key} }
	return v1beta1.NotifyReceivers{{
		On: []v1beta1.NotifyState{v1beta1.NotifyFinished, v1beta1.NotifyFailed}, Webhook: &v1beta1.NotifyWebhook{URLKeyRef: ref("url"), SecretKeyRef: ref("password")},
	}}
}

func (r *testNamespace) notifyingTask() *v1beta1.AgentTask {
	return &v1beta1.AgentTask{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "work"},
		Spec:       v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent, Role: "general", Instruction: "Submit done", Notify: notifyOf()},
	}
}

// borrowAttack is an attack with a Secret that its author may not read: the operator would send something to its
// URL, signed with its key.
func borrowAttack(name string, object func(*testNamespace) client.Object, clusterRole string) attack {
	return attack{
		name: name, attempt: "mallory, who may not read Secrets, names the Secret db in spec.notify of " + name,
		defence: "the policies: the requester must be allowed to get each Secret in spec.notify",
		run: inNamespace(func(r *testNamespace) {
			r.Create(newSecret(""))
			r.Expect(r.As("mallory", clusterRole).Create(r.t.Context(), object(r))).To(MatchError(ContainSubstring(noSecretRight)))
		}),
		control: inNamespace(func(r *testNamespace) {
			r.Create(newSecret(""))
			alice := r.As("alice", clusterRole)
			r.grantGet("alice", "secrets", "db")
			r.checkAllowed(func() error { return alice.Create(r.t.Context(), object(r)) })
		}),
	}
}

var _ = class(
	"push",
	borrowAttack("a chat notifies with a foreign Secret", func(r *testNamespace) client.Object {
		chat := r.chatWith(nil)
		chat.Spec.Notify = notifyOf()
		return chat
	}, "nestor-user"),
	borrowAttack("a task notifies with a foreign Secret", func(r *testNamespace) client.Object { return r.notifyingTask() }, runner),
	attack{
		name: "a chat gets a receiver later", attempt: "mallory adds a receiver with a Secret that she may not read to her chat",
		defence: "the chats policy, for changes of spec.notify as for creation",
		run: inNamespace(func(r *testNamespace) {
			mallory, chat := r.As("mallory", "nestor-user"), r.chatWith(nil)
			r.Create(newSecret(""))
			r.Expect(mallory.Create(r.t.Context(), chat)).To(Succeed())
			patch := client.MergeFrom(chat.DeepCopy())
			chat.Spec.Notify = notifyOf()
			r.Expect(mallory.Patch(r.t.Context(), chat, patch)).To(MatchError(ContainSubstring(noSecretRight)))
		}),
		control: inNamespace(func(r *testNamespace) {
			mallory, chat := r.As("mallory", "nestor-user"), r.chatWith(nil)
			chat.Spec.Notify = notifyOf()
			r.Create(newSecret(""), chat)
			patch := client.MergeFrom(chat.DeepCopy())
			chat.Spec.Limits.MaxDepth = 1 // the receivers stay as they are
			r.Expect(mallory.Patch(r.t.Context(), chat, patch)).To(Succeed())
		}),
	},
	attack{
		name: "a Secret sends notifications inside", attempt: "mallory names a Secret whose URL is that of a Service, and reads in the record whether it answers",
		defence: "the operator: receivers are on the internet, or in --push-networks; the record has no part of the URL",
		run: inNamespace(func(r *testNamespace) {
			secret := newSecret("")
			secret.StringData["url"] = "https://10.96.0.1:443/hook"
			r.Create(secret, r.notifyingTask())
			r.Eventually(r.OperatorLog).Should(MatchRegexp(`Notification was not delivered.*` + r.Namespace + `.*the URL in the Secret must begin`))
			r.Expect(r.OperatorLog()).NotTo(ContainSubstring("10.96.0.1:443/hook"))
		}),
		control: func(t *testing.T, w *target) {
			r := w.newNamespace(t)
			url, requests := receiver(t)
			secret := newSecret("")
			secret.StringData["url"] = url
			r.Create(secret, r.notifyingTask())
			r.Eventually(requests.Load).Should(BeNumerically(">", 0))
		},
	},
	insideAttack("notifications reach a Service", "https://10.96.0.1:443/", "a private address"),
	insideAttack("notifications reach the network of the office", "https://192.168.1.1/", "a private address"),
	insideAttack("notifications reach the network of the provider", "https://100.64.0.1/", "a private address"),
	insideAttack("notifications reach a private IPv6 address", "https://[fd12:3456::1]/", "a private address"),
	insideAttack("notifications reach a private address in another notation", "https://[::ffff:10.96.0.1]/", "a private address"),
	insideAttack("notifications reach the metadata service", "https://169.254.169.254/latest/meta-data", "a link-local address"),
	insideAttack("notifications carry a password", "https://user:secret@example.com/", "must not contain a user or a password"),
)
