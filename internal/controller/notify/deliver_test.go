// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/push"
)

var (
	urlRef  = v1beta1.SecretKeyRef{Name: "alerts", Key: "url"}
	hook    = v1beta1.NotifyReceiver{Webhook: &v1beta1.NotifyWebhook{URLKeyRef: urlRef, SecretKeyRef: v1beta1.SecretKeyRef{Name: "alerts", Key: "key"}}}
	channel = v1beta1.NotifyReceiver{Slack: &v1beta1.NotifySlack{URLKeyRef: urlRef}}
	ops     = about{objectKey: objectKey{kindChat, aTask}, uid: "u1", user: "alice"}
	ask     = push.Notice{ID: "post-3", Sequence: 2, State: v1beta1.NotifyWaiting, Time: metav1.NewTime(time.Unix(1_800_000_000, 0).UTC()),
		Waiting: &push.Waiting{Kind: v1beta1.WaitingApproval, Task: "task-1", SubAgent: "task-1", Tool: "box__write", DenyRequesters: true}}
)

// withSecrets lets a sender read these keys of the Secret alerts.
func withSecrets(s *Sender, values map[string]string) *Sender {
	s.PageURL = "https://nestor.example.com/"
	s.Secret = func(_ context.Context, _ string, ref v1beta1.SecretKeyRef) ([]byte, error) {
		if value, ok := values[ref.Key]; ok {
			return []byte(value + "\n"), nil
		}
		return nil, &resolve.Missing{Message: "Create the Secret alerts."}
	}
	return s
}

func TestWebhookBody(t *testing.T) {
	var got string
	var header http.Header
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got, header = string(body), r.Header
	}))
	defer server.Close()
	s := withSecrets(newSender(true), map[string]string{"url": server.URL, "key": "k"})
	if result := s.deliver(t.Context(), ops, hook, ask); result != (outcome{}) {
		t.Fatal(result)
	}
	want := `{"specversion":"1.0","id":"u1/post-3","source":"/namespaces/team/agentchats/task","type":"dev.nestor.notification.waiting","time":"2027-01-15T08:00:00Z",` +
		`"sequence":"2","datacontenttype":"application/json","data":{"namespace":"team","kind":"AgentChat","name":"task","state":"Waiting","user":"alice",` +
		`"waiting":{"kind":"Approval","task":"task-1","subAgent":"task-1","tool":"box__write","denyRequesters":true},"link":"https://nestor.example.com/team/chats/task"}}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if header.Get("Webhook-Id") != "u1/post-3" || !strings.HasPrefix(header.Get("Webhook-Signature"), "v1,") || header.Get("Content-Type") != "application/cloudevents+json" {
		t.Errorf("headers %v", header)
	}
	if result := s.deliver(t.Context(), ops, channel, ask); result != (outcome{}) {
		t.Fatal(result)
	}
	want = `{"text":"AgentChat team/task: an approval waits for a person (tool ` + "`box__write`" + `), who did not request the work.\nhttps://nestor.example.com/team/chats/task"}`
	if got != want || header.Get("Webhook-Signature") != "" {
		t.Errorf("got\n%s\nwant\n%s, headers %v", got, want, header)
	}
}

// TestFailuresHideURLs checks what people can read about receivers whose URLs are secrets.
func TestFailuresHideURLs(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for name, test := range map[string]struct {
		url     string
		failure string
	}{
		"closed":   {closed.URL + "/s3cret", notDelivered},
		"metadata": {"https://169.254.169.254/s3cret", notAllowed},
		"private":  {"https://10.1.2.3/s3cret", notAllowed},
		"password": {"s3cret", notAllowed},
		"user":     {"https://s3cret@example.com", notAllowed},
	} {
		got := withSecrets(newSender(true), map[string]string{"url": test.url, "key": "k"}).deliver(t.Context(), ops, hook, ask)
		if got.failure != test.failure || got.final || strings.Contains(got.cause, "s3cret") || strings.Contains(got.cause, "10.1.2.3") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	s := withSecrets(newSender(true), map[string]string{"url": closed.URL})
	if got := s.deliver(t.Context(), ops, hook, ask); got.failure != "Create the Secret alerts." {
		t.Errorf("without the key: %+v", got)
	}
	s.Secret = func(context.Context, string, v1beta1.SecretKeyRef) ([]byte, error) { return nil, errors.New("s3cret") }
	if got := s.deliver(t.Context(), ops, hook, ask); got.failure != "the operator cannot read the Secret alerts" {
		t.Errorf("unreadable: %+v", got)
	}
}
