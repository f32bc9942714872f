// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/gateway"
	"github.com/nestor-dev/nestor/internal/intake"
	"github.com/nestor-dev/nestor/internal/listen"
	"github.com/nestor-dev/nestor/internal/trigger"
	"github.com/nestor-dev/nestor/test/patience"
)

// operator accepts webhooks with the right token, and records the last one.
type operator struct {
	mu   sync.Mutex
	last intake.Webhook
}

func (o *operator) Deliver(_ context.Context, sent intake.Webhook) (intake.Receipt, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = sent
	switch {
	case sent.Header.Get("Authorization") != "Bearer right":
		return intake.Receipt{}, intake.ErrUnauthorized
	case sent.Trigger == "busy":
		return intake.Receipt{}, intake.Unavailable("the trigger has too many firings at once")
	case sent.Trigger == "suspended":
		return intake.Receipt{Outcome: trigger.Suspended}, nil
	}
	return intake.Receipt{Outcome: trigger.Fired, Name: "review-abc"}, nil
}

// serveHooks returns the address of a gateway with the door.
func serveHooks(t *testing.T, o *operator) string {
	t.Helper()
	server := httptest.NewServer(listen.WithDeadlines(gateway.New(gateway.Options{Doors: []gateway.Door{New(o)}})))
	t.Cleanup(server.Close)
	return server.URL
}

// newRequest returns a request with the right token, and further headers as pairs.
func newRequest(t *testing.T, url, body string, headers ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer right")
	for i := 0; i < len(headers); i += 2 {
		if r.Header.Del(headers[i]); headers[i+1] != "" {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	return r
}

var hookClient = &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Hour}}

// send sends a request, and returns the status and the body.
func send(t *testing.T, r *http.Request) (int, string) {
	t.Helper()
	// The body is sent when it is read: the end of the connection must not reach the client before the response does.
	r.Header.Set("Expect", "100-continue")
	answer, err := hookClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func TestWebhooksPassUnchanged(t *testing.T) {
	o := &operator{}
	url := serveHooks(t, o) + "/hooks/team/"
	code, text := send(t, newRequest(t, url+"review", `{"x": 1}`, "X-GitHub-Event", "push"))
	if code != http.StatusAccepted || !strings.Contains(text, `"name":"review-abc"`) {
		t.Errorf("%d %s", code, text)
	}
	if o.last.Namespace != "team" || o.last.Trigger != "review" || string(o.last.Body) != `{"x": 1}` ||
		o.last.Header.Get("X-GitHub-Event") != "push" || o.last.Header.Get("Authorization") != "Bearer right" {
		t.Errorf("the operator got %+v", o.last)
	}
	for name, c := range map[string]struct {
		request *http.Request
		code    int
		text    string
	}{
		"a wrong token":   {newRequest(t, url+"review", "{}", "Authorization", "Bearer wrong"), 401, "no such webhook"},
		"a suspended one": {newRequest(t, url+"suspended", "{}"), 200, "Suspended"},
		"a busy one":      {newRequest(t, url+"busy", "{}"), 503, "try again"},
	} {
		if code, text := send(t, c.request); code != c.code || !strings.Contains(text, c.text) {
			t.Errorf("%s: %d %s", name, code, text)
		}
	}
}

func TestRefusedRequestStopsAtGateway(t *testing.T) {
	o := &operator{}
	url := serveHooks(t, o) + "/hooks/team/review"
	large := strings.Repeat("x", 3<<20)
	for name, c := range map[string]struct {
		request *http.Request
		code    int
		text    string
	}{
		"neither token nor signature": {newRequest(t, url, large, "Authorization", ""), 401, "no such webhook"},
		"too large, with a token":     {newRequest(t, url, large), 413, "bytes"},
		"too large, with a signature": {newRequest(t, url, large, "Authorization", "", intake.OwnSignature, "v1,x"), 413, "bytes"},
	} {
		if code, text := send(t, c.request); code != c.code || !strings.Contains(text, c.text) {
			t.Errorf("%s: %d %s", name, code, text)
		}
	}
	if o.last.Trigger != "" {
		t.Errorf("the operator received %+v", o.last)
	}
}

// Senders that never finish their bodies use up the limits of some triggers; other triggers still work.
func TestTooManyRequests(t *testing.T) {
	door := New(&operator{}).(*door)
	door.bodyTimeout = 2 * patience.Limit() // on a busy machine the first senders must not give up before the last one is served
	server := httptest.NewServer(listen.WithDeadlines(gateway.New(gateway.Options{Doors: []gateway.Door{door}})))
	t.Cleanup(server.Close)
	url := server.URL
	slow := []string{"generic", "cloudevents", "no-secret", "missing", "schedule"}
	var senders sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	defer senders.Wait()
	defer cancel()
	refused := make(chan string, (maxRequestsOfATrigger+1)*len(slow))
	for i := range cap(refused) { // one more than the limit for each trigger
		trigger := slow[i%len(slow)]
		reader, writer := io.Pipe()
		context.AfterFunc(ctx, func() { _ = writer.CloseWithError(context.Canceled) })
		r := newRequest(t, url+"/hooks/team/"+trigger, "", intake.OwnSignature, "v1,x").WithContext(ctx)
		r.Body, r.ContentLength = reader, -1
		senders.Go(func() { _, _ = writer.Write([]byte("{")) }) // the server waits for more; a refused request takes nothing
		senders.Go(func() {
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				return
			}
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusTooManyRequests {
				refused <- trigger
			}
		})
	}
	full := map[string]bool{}
	if !patience.Until(func() bool {
		for len(refused) > 0 {
			full[<-refused] = true
		}
		return len(full) == len(slow)
	}) {
		t.Errorf("requests were refused for %v only", full)
	}
	if code, text := send(t, newRequest(t, url+"/hooks/team/alertmanager", "{}")); code != http.StatusAccepted {
		t.Errorf("another trigger: %d %s", code, text)
	}
}

func TestOldestSenderIsStopped(t *testing.T) {
	var s senders
	stopped := map[int]bool{}
	ends := make([]func(), maxSenders+2)
	for i := range ends {
		ends[i] = s.begin(func() { stopped[i] = true })
	}
	if len(stopped) != 2 || !stopped[0] || !stopped[1] {
		t.Errorf("too many senders stop %v", stopped)
	}
	ends[0]() // it was stopped before
	ends[2]()
	s.buffered.Store(maxBuffered - 2)
	body := &countedBody{ReadCloser: io.NopCloser(strings.NewReader("1234")), senders: &s}
	if _, err := io.ReadAll(body); err != nil || !stopped[3] || stopped[2] {
		t.Errorf("too many bytes stop %v, %v", stopped, err)
	}
	body.release()
	if s.buffered.Load() != maxBuffered-2 {
		t.Errorf("%d bytes are left", s.buffered.Load())
	}
}
