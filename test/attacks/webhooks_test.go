// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/trigger"
)

// hookSecret authenticates the webhooks of a room.
const hookSecret = "a-long-random-text"

// hook creates a trigger with a webhook, and waits until it is served.
func (r *testNamespace) hook(name string, format v1beta1.WebhookFormat, when string) *v1beta1.AgentTrigger {
	r.t.Helper()
	created := &v1beta1.AgentTrigger{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1beta1.AgentTriggerSpec{
		Webhook: &v1beta1.TriggerWebhook{Format: format, When: when, SecretKeyRef: v1beta1.SecretKeyRef{Name: name, Key: "token"}},
		Task:    &v1beta1.TriggerTask{Role: "general", Instruction: "Submit done"},
	}}
	r.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{"token": hookSecret + r.Namespace}}, created)
	r.Eventually(r.triggerReady(name)).Should(HaveField("Reason", v1beta1.ReasonReady))
	return created
}

func (r *testNamespace) triggerReady(name string) func() (metav1.Condition, error) {
	return func() (metav1.Condition, error) {
		var hook v1beta1.AgentTrigger
		if err := r.Get(name, &hook); err != nil || len(hook.Status.Conditions) == 0 {
			return metav1.Condition{}, err
		}
		return hook.Status.Conditions[0], nil
	}
}

type hookRequest struct {
	trigger, body string
	headers       map[string]string
}

func (r *testNamespace) signed(trigger, body, id string, at time.Time) hookRequest {
	seconds := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(hookSecret+r.Namespace))
	mac.Write([]byte(id + "." + seconds + "." + body))
	return hookRequest{trigger, body, map[string]string{
		"Webhook-Id": id, "Webhook-Timestamp": seconds, "Webhook-Signature": "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)),
	}}
}

// fromGitHub returns a request with GitHub's signature, which covers the body.
func (r *testNamespace) fromGitHub(trigger, body, delivery string) hookRequest {
	mac := hmac.New(sha256.New, []byte(hookSecret+r.Namespace))
	mac.Write([]byte(body))
	return hookRequest{trigger, body, map[string]string{
		"X-GitHub-Event": "push", "X-GitHub-Delivery": delivery, "X-Hub-Signature-256": "sha256=" + hex.EncodeToString(mac.Sum(nil)),
	}}
}

func (h hookRequest) with(name, value string) hookRequest {
	headers := map[string]string{name: value}
	for other, value := range h.headers {
		if other != name {
			headers[other] = value
		}
	}
	return hookRequest{h.trigger, h.body, headers}
}

// sendHook sends a request, and returns the status and the body of the response.
func (r *testNamespace) sendHook(h hookRequest) (int, string) {
	r.t.Helper()
	url := r.GatewayURL + "/hooks/" + r.Namespace + "/" + h.trigger
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, url, strings.NewReader(h.body))
	r.Expect(err).NotTo(HaveOccurred())
	for name, value := range h.headers {
		request.Header.Set(name, value)
	}
	// The body is sent when the gateway reads it. If it is refused unread, the end of the connection could otherwise
	// reach the client before the response does.
	request.Header.Set("Expect", "100-continue")
	response, err := hookClient.Do(request)
	r.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	r.Expect(err).NotTo(HaveOccurred())
	return response.StatusCode, string(text)
}

var hookClient = &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Hour}}

// hookOutcome sends a request and returns its outcome, or the status if it was refused. The gateway's cache may not
// have the trigger yet.
func (r *testNamespace) hookOutcome(h hookRequest) string {
	r.t.Helper()
	code, text := r.sendHook(h)
	var answer struct {
		Outcome trigger.Outcome `json:"outcome"`
		Reason  string          `json:"reason"`
	}
	if code >= http.StatusMultipleChoices || json.Unmarshal([]byte(text), &answer) != nil {
		return strconv.Itoa(code)
	}
	if answer.Reason != "" {
		return string(answer.Outcome) + " " + answer.Reason
	}
	return string(answer.Outcome)
}

// replayAttack has a room with a trigger, and requests that mallory recorded and changed.
func replayAttack(name, attempt, defence string, format v1beta1.WebhookFormat, first, again func(r *testNamespace) hookRequest, want string, other func(r *testNamespace) hookRequest) attack {
	begin := func(t *testing.T, w *target) *testNamespace {
		r := w.newNamespace(t)
		r.hook("hook", format, "")
		r.Expect(r.hookOutcome(first(r))).To(Equal("Fired"))
		return r
	}
	return attack{
		name: name, attempt: attempt, defence: defence,
		run: func(t *testing.T, w *target) {
			r := begin(t, w)
			r.Expect(r.hookOutcome(again(r))).To(Equal(want))
			var hook v1beta1.AgentTrigger
			r.Expect(r.Get("hook", &hook)).To(Succeed())
			r.Expect(hook.Status.Firings).To(BeEquivalentTo(1))
		},
		control: func(t *testing.T, w *target) {
			r := begin(t, w)
			r.Expect(r.hookOutcome(other(r))).To(Equal("Fired"))
		},
	}
}

const (
	hookBody   = `{"status": "failed"}`
	cloudEvent = `{"specversion": "1.0", "id": "1", "source": "https://ci.example.com", "type": "com.example.build", "data": {"status": "failed"}}`
)

func signedOne(r *testNamespace) hookRequest { return r.signed("hook", hookBody, "msg-1", time.Now()) }
func signedOther(r *testNamespace) hookRequest {
	return r.signed("hook", hookBody, "msg-2", time.Now())
}
func gitHubOne(r *testNamespace) hookRequest { return r.fromGitHub("hook", hookBody, "1") }

var _ = class(
	"webhooks",
	replayAttack("a recorded request fires again", "mallory sends a signed request a second time",
		"the record of firings: the id is known", v1beta1.WebhookGeneric, signedOne, signedOne, "Duplicate", signedOther),
	replayAttack("a recorded request fires under another id", "mallory sends a signed request with another Webhook-Id",
		"the signature covers the id", v1beta1.WebhookGeneric, signedOne,
		func(r *testNamespace) hookRequest { return signedOne(r).with("Webhook-Id", "msg-2") }, "401", signedOther),
	replayAttack("a recorded request fires under another key", "mallory adds an Idempotency-Key to a signed request",
		"the id of a signed request is the signed one", v1beta1.WebhookGeneric, signedOne,
		func(r *testNamespace) hookRequest { return signedOne(r).with("Idempotency-Key", "new") }, "Duplicate", signedOther),
	replayAttack("an old request fires", "mallory sends a request that was signed ten minutes ago and never arrived",
		"the signature covers the time, and is valid for five minutes", v1beta1.WebhookGeneric, signedOne,
		func(r *testNamespace) hookRequest {
			return r.signed("hook", hookBody, "msg-2", time.Now().Add(-10*time.Minute))
		}, "401",
		func(r *testNamespace) hookRequest {
			return r.signed("hook", hookBody, "msg-2", time.Now().Add(-time.Minute))
		}),
	replayAttack("an old request gets a new time", "mallory sends an old signed request with the present time in its header",
		"the signature covers the time", v1beta1.WebhookGeneric, signedOne,
		func(r *testNamespace) hookRequest {
			old := r.signed("hook", hookBody, "msg-2", time.Now().Add(-10*time.Minute))
			return old.with("Webhook-Timestamp", strconv.FormatInt(time.Now().Unix(), 10))
		}, "401", signedOther),
	replayAttack("a changed body fires", "mallory sends a signed request with another body",
		"the signature covers the body", v1beta1.WebhookGeneric, signedOne,
		func(r *testNamespace) hookRequest {
			changed := signedOther(r)
			changed.body = `{"status": "deploy"}`
			return changed
		}, "401", signedOther),
	replayAttack("GitHub's request fires under another delivery", "mallory sends an event of GitHub again with another X-GitHub-Delivery, which is not signed",
		"the same signed body is the same firing", v1beta1.WebhookGitHub, gitHubOne,
		func(r *testNamespace) hookRequest { return r.fromGitHub("hook", hookBody, "2") }, "Duplicate",
		func(r *testNamespace) hookRequest { return r.fromGitHub("hook", `{"status": "again"}`, "2") }),
	replayAttack("a token replaces GitHub's signature", "mallory sends an event with the secret's value as a bearer token, and with a signature of another kind",
		"the format decides how a request is authenticated", v1beta1.WebhookGitHub, gitHubOne,
		func(r *testNamespace) hookRequest {
			return signedOther(r).with("X-GitHub-Delivery", "2").with("Authorization", "Bearer "+hookSecret+r.Namespace)
		}, "401", func(r *testNamespace) hookRequest { return r.fromGitHub("hook", `{"status": "again"}`, "2") }),
	replayAttack("a CloudEvent gets another id", "mallory sends the signed body of an event in binary mode, where the id and the type are in headers",
		"a signed event must be in structured mode", v1beta1.WebhookCloudEvents,
		func(r *testNamespace) hookRequest {
			return r.signed("hook", cloudEvent, "msg-1", time.Now()).with("Content-Type", "application/cloudevents+json")
		},
		func(r *testNamespace) hookRequest {
			return r.signed("hook", hookBody, "msg-2", time.Now()).with("Content-Type", "application/json").with("Ce-Specversion", "1.0").
				with("Ce-Id", "2").with("Ce-Source", "https://ci.example.com").with("Ce-Type", "com.example.deploy")
		}, "400",
		func(r *testNamespace) hookRequest {
			return r.signed("hook", cloudEvent, "msg-2", time.Now()).with("Content-Type", "application/cloudevents+json")
		}),
	attack{
		name:    "names of triggers can be guessed",
		attempt: "mallory compares the responses for a trigger and for a name that no trigger has, with each kind of credentials",
		defence: "the gateway does the same work for both, and returns the same",
		run: inNamespace(func(r *testNamespace) {
			r.hook("hook", v1beta1.WebhookGeneric, "")
			for name, value := range map[string]string{
				"Authorization": "Bearer guess", "Webhook-Signature": "v1,Z3Vlc3M=", "X-Hub-Signature-256": "sha256=00", "X-Other": "nothing",
			} {
				for _, body := range []string{"{}", strings.Repeat("x", 3<<20)} {
					code, text := r.sendHook(hookRequest{"hook", body, map[string]string{name: value}})
					otherCode, otherText := r.sendHook(hookRequest{"no-such-trigger", body, map[string]string{name: value}})
					r.Expect(fmt.Sprint(otherCode, otherText)).To(Equal(fmt.Sprint(code, text)), name)
				}
			}
		}),
		control: inNamespace(func(r *testNamespace) {
			r.hook("hook", v1beta1.WebhookGeneric, "")
			r.Expect(r.hookOutcome(signedOne(r))).To(Equal("Fired"))
		}),
	},
	attack{
		name:    "a secret fires the trigger of another namespace",
		attempt: "a sender signs a request for a trigger of the same name in another namespace",
		defence: "a request is checked with the Secret of its own trigger",
		run: func(t *testing.T, w *target) {
			own, other := w.newNamespace(t), w.newNamespace(t)
			own.hook("hook", v1beta1.WebhookGeneric, "")
			other.hook("hook", v1beta1.WebhookGeneric, "")
			other.Expect(other.hookOutcome(signedOne(own))).To(Equal("401"))
		},
		control: inNamespace(func(r *testNamespace) {
			r.hook("hook", v1beta1.WebhookGeneric, "")
			r.Expect(r.hookOutcome(signedOne(r))).To(Equal("Fired"))
		}),
	},
	attack{
		name:    "slow senders stop other webhooks",
		attempt: "mallory opens more requests than the gateway takes, to a hundred invented URLs, and never sends their bodies",
		defence: "the gateway limits the requests of each URL and the time of each body, and ends the oldest when there are too many",
		run: inNamespace(func(r *testNamespace) {
			r.hook("hook", v1beta1.WebhookGeneric, "")
			for i := range 1100 {
				r.openSlowly(fmt.Sprintf("slow-%d", i%100))
			}
			r.Expect(r.hookOutcome(signedOne(r))).To(Equal("Fired"))
		}),
		control: inNamespace(func(r *testNamespace) {
			for range 16 {
				r.Expect(r.openSlowly("slow")).To(ContainSubstring("100 Continue"))
			}
			r.Expect(r.openSlowly("slow")).To(ContainSubstring("429"))
		}),
	},
)

// openSlowly begins a request, and leaves it open when the gateway waits for its body or has refused it.
func (r *testNamespace) openSlowly(trigger string) (received string) {
	r.t.Helper()
	host := strings.TrimPrefix(r.GatewayURL, "http://")
	connection, err := new(net.Dialer).DialContext(r.t.Context(), "tcp", host)
	r.Expect(err).NotTo(HaveOccurred())
	r.t.Cleanup(func() { _ = connection.Close() })
	_, err = fmt.Fprintf(connection, "POST /hooks/%s/%s HTTP/1.1\r\nHost: %s\r\nWebhook-Signature: v1,x\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n", r.Namespace, trigger, host)
	r.Expect(err).NotTo(HaveOccurred())
	received, err = bufio.NewReader(connection).ReadString('\n')
	r.Expect(err).NotTo(HaveOccurred())
	return received
}
