// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

const signingKey = "a key of thirty-two bytes or more"

// inbox is a receiver of notifications.
type inbox struct {
	*httptest.Server

	mu     sync.Mutex
	closed bool
	events []map[string]any // the first of each id
	texts  []string
	bad    []string
}

func newInbox() *inbox {
	i := &inbox{}
	i.Server = httptest.NewServer(i)
	DeferCleanup(i.Close)
	return i
}

// ServeHTTP implements http.Handler.
func (i *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	i.mu.Lock()
	defer i.mu.Unlock()
	var event map[string]any
	switch {
	case err != nil || json.Unmarshal(body, &event) != nil:
		i.bad = append(i.bad, "not JSON: "+string(body))
	case i.closed:
		w.WriteHeader(http.StatusServiceUnavailable)
	case r.URL.Path == "/slack":
		i.texts = append(i.texts, fmt.Sprint(event["text"]))
	case !isSigned(r.Header, body):
		i.bad = append(i.bad, "not signed: "+string(body))
	case !slices.ContainsFunc(i.events, func(e map[string]any) bool { return e["id"] == event["id"] }):
		i.events = append(i.events, event)
	}
}

// isSigned is the example of docs/tasks/notifications.md in Go.
func isSigned(header http.Header, body []byte) bool {
	mac := hmac.New(sha256.New, []byte(signingKey))
	mac.Write([]byte(header.Get("Webhook-Id") + "." + header.Get("Webhook-Timestamp") + "." + string(body)))
	return hmac.Equal([]byte(header.Get("Webhook-Signature")), []byte("v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil))))
}

func (i *inbox) setClosed(closed bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = closed
}

// got returns sequence and state of each notification about an object, in the order in which they arrived.
func (i *inbox) got(name string) func() []string {
	return func() []string {
		i.mu.Lock()
		defer i.mu.Unlock()
		Expect(i.bad).To(BeEmpty())
		var got []string
		for _, e := range i.events {
			if data, ok := e["data"].(map[string]any); ok && data["name"] == name {
				got = append(got, fmt.Sprint(e["sequence"], " ", data["state"]))
			}
		}
		return got
	}
}

// waiting returns the questions and approvals that the notifications announce.
func (i *inbox) waiting() []any {
	i.mu.Lock()
	defer i.mu.Unlock()
	var all []any
	for _, e := range i.events {
		if data, ok := e["data"].(map[string]any); ok && data["waiting"] != nil {
			all = append(all, data["waiting"])
		}
	}
	return all
}

// text returns everything that arrived.
func (i *inbox) text() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	all, err := json.Marshal(i.events)
	Expect(err).NotTo(HaveOccurred())
	return string(all) + strings.Join(i.texts, "\n")
}

// notified returns the receivers of an inbox, whose URLs are in a Secret that the namespace gets.
func (r *testNamespace) notified(ctx context.Context, i *inbox, on ...v1beta1.NotifyState) v1beta1.NotifyReceivers {
	GinkgoHelper()
	secret := &corev1.Secret{ObjectMeta: named("alerts"), StringData: map[string]string{"url": i.URL + "/hook?token=t0ken", "slack": i.URL + "/slack", "key": signingKey}}
	r.create(ctx, secret)
	ref := func(key string) v1beta1.SecretKeyRef { return v1beta1.SecretKeyRef{Name: "alerts", Key: key} }
	return v1beta1.NotifyReceivers{
		{On: on, Webhook: &v1beta1.NotifyWebhook{URLKeyRef: ref("url"), SecretKeyRef: ref("key")}},
		{On: on, Slack: &v1beta1.NotifySlack{URLKeyRef: ref("slack")}},
	}
}

// notifications covers spec.notify.
func notifications(w *world) {
	everything := []v1beta1.NotifyState{v1beta1.NotifyWaiting, v1beta1.NotifyFinished, v1beta1.NotifyFailed}

	Describe("Notifications", func() {
		It("are sent for each state of a task, in order, although the operator is killed while the receiver is down", func(ctx SpecContext) {
			r, to := w.newNamespace(ctx), newInbox()
			task := MakeTask("work", `Spawn [{"task":"Ask: Which colour?","role":"tester"}]`).Role("coder").Obj()
			task.Spec.Notify = r.notified(ctx, to, everything...)
			to.setClosed(true)
			r.create(ctx, task)
			Eventually(r.task("work")).WithContext(ctx).Should(HaveField("Annotations", HaveKeyWithValue(v1beta1.AnnotationNotified, ContainSubstring("waiting-"))))
			Expect(w.Operator.Kill()).To(Succeed())
			Expect(to.got("work")()).To(BeEmpty())
			r.create(ctx, MakeMessage("answer").Task("work").Content("Green").Obj())
			to.setClosed(false)
			Expect(w.StartOperator(ctx)).To(Succeed())
			Eventually(to.got("work")).WithContext(ctx).Should(Equal([]string{"1 Waiting", "2 Finished"}))
			Eventually(r.task("work")).WithContext(ctx).Should(HaveField("Annotations", HaveKeyWithValue(v1beta1.AnnotationNotified,
				MatchJSON(`{"alerts/url":{"state":"end","sequence":2},"alerts/slack":{"state":"end","sequence":2}}`))))
			Expect(to.waiting()).To(HaveExactElements(And(HaveKeyWithValue("kind", "Question"), HaveKeyWithValue("subAgent", "work-1"))))
			Expect(to.text()).NotTo(Or(ContainSubstring("colour"), ContainSubstring("Green")), "neither a model's text nor an answer")
			Expect(to.text()).To(ContainSubstring("AgentTask " + r.namespace + "/work: a question waits for a person."))
			Expect(w.OperatorLog()).NotTo(Or(ContainSubstring(to.URL), ContainSubstring("t0ken")))
		})

		It("are sent for approvals and the turns of a chat, also to receivers that are added later", func(ctx SpecContext) {
			r, to := w.newNamespace(ctx), newInbox()
			r.create(ctx, MakeToolServer("box", w.tools.URL), MakeRole("tester").Allow("box__*").Obj())
			chat, receivers := MakeChat("chat").Obj(), r.notified(ctx, to, everything...)
			r.create(ctx, chat)
			r.sendMessage(ctx, "first", "Greet Alice")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Alice!")))
			before := must(ctx, r.chat)
			changed := before.DeepCopy()
			changed.Spec.Notify = receivers[:1]
			Expect(r.API.Patch(ctx, changed, client.MergeFrom(before))).To(Succeed())
			Eventually(r.chat).WithContext(ctx).Should(HaveField("Annotations", HaveKey(v1beta1.AnnotationNotified)))
			r.sendMessage(ctx, "second", "Greet Bob")
			Eventually(to.got("chat")).WithContext(ctx).Should(Equal([]string{"1 Finished"}), "the first turn was over")
			r.sendMessage(ctx, "third", "Delegate to tester: Write "+r.namespace+"/one")
			Eventually(to.waiting).WithContext(ctx).Should(HaveExactElements(And(HaveKeyWithValue("kind", "Approval"),
				HaveKeyWithValue("tool", "box__write"), HaveKeyWithValue("task", "chat-1"))))
			Expect(to.text()).NotTo(ContainSubstring(r.namespace+"/one"), "no arguments")
		})

		It("are sent for the tasks of a trigger before these are deleted", func(ctx SpecContext) {
			r, to := w.newNamespace(ctx), newInbox()
			trigger := MakeTrigger("nightly", "Submit done").Obj()
			trigger.Spec.Notify = r.notified(ctx, to, v1beta1.NotifyFinished, v1beta1.NotifyFailed)
			trigger.Spec.SuccessfulTasksHistoryLimit = new(int32(0))
			r.create(ctx, trigger)
			Eventually(r.trigger("nightly")).WithContext(ctx).Should(HaveStatus(ContainSubstring("True Ready")))
			r.fire(ctx, "nightly", "1", "")
			Eventually(to.text).WithContext(ctx).Should(ContainSubstring(`"state":"Finished","trigger":"nightly"`))
			Eventually(r.tasksOf("nightly")).WithContext(ctx).Should(BeEmpty())
			Expect(to.waiting()).To(BeEmpty())
		})
	})
}
