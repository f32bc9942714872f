// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
)

func unavailable(w http.ResponseWriter, _ *http.Request, _ string, _ http.Handler) {
	http.Error(w, "upgrading", http.StatusServiceUnavailable)
}

func TestConnectsOnceServerIsUp(t *testing.T) {
	h := makeHost(t, mcp.StreamableHTTP, lab(addTool(sdk.Tool{Name: "act"}, answer(text("done")))))
	h.setIntercept(unavailable)
	c := makeClient(t, mcp.Options{})
	session := c.Ensure(describe(h, mcp.StreamableHTTP))

	status := session.WaitForStatus(t.Context())
	if status.Ready || status.Reason != mcp.ConnectFailed || !strings.Contains(status.Message, "Service Unavailable") {
		t.Fatalf("status is %+v", status)
	}
	for want := range 3 {
		if got := <-c.pauses; got != want+1 {
			t.Errorf("pause %d comes where %d should", got, want+1)
		}
		if want == 2 {
			h.setIntercept(nil)
		}
		c.resume <- struct{}{}
	}
	c.waitFor(t, session, reason(mcp.Connected))
	if result := run(t.Context(), session, "lab__act", `{}`); result.Text != "done" {
		t.Errorf("got %q", result.Text)
	}
}

// TestForgottenSessionRunsCallOnce: a replaced server does not have the session and so cannot have run
// the call, which makes it safe to send it again.
func TestForgottenSessionRunsCallOnce(t *testing.T) {
	for name, meddle := range map[string]func(http.ResponseWriter, *http.Request, string, http.Handler){
		"with status 404": legacy,
		"with status 400": func(w http.ResponseWriter, r *http.Request, method string, next http.Handler) {
			answer := &statusWriter{ResponseWriter: w}
			legacy(answer, r, method, next)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var runs atomic.Int32
			act := addTool(sdk.Tool{Name: "act"}, count(&runs))
			h := makeHost(t, mcp.StreamableHTTP, lab(act))
			h.setIntercept(meddle)
			c := makeClient(t, mcp.Options{})
			session := c.connect(t, describe(h, mcp.StreamableHTTP))

			h.restart(lab(act))
			go func() {
				<-c.pauses
				c.resume <- struct{}{}
			}()
			result := run(t.Context(), session, "lab__act", `{}`)
			if result.Text != "done" || runs.Load() != 1 {
				t.Errorf("%d runs, got %+v", runs.Load(), result)
			}
		})
	}
}

// statusWriter replaces status 404 by 400.
type statusWriter struct{ http.ResponseWriter }

func (w *statusWriter) WriteHeader(status int) {
	if status == http.StatusNotFound {
		status = http.StatusBadRequest
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func TestToolsStayDuringOutage(t *testing.T) {
	for transport, normal := range map[mcp.Transport]func(http.ResponseWriter, *http.Request, string, http.Handler){
		mcp.StreamableHTTP: legacy, // newer servers have no sessions
		mcp.SSE:            nil,
	} {
		t.Run(string(transport), func(t *testing.T) {
			var runs atomic.Int32
			h := makeHost(t, transport, lab(addTool(sdk.Tool{Name: "act"}, count(&runs))))
			h.setIntercept(normal)
			// The keep-alive ping detects the loss.
			c := makeClient(t, mcp.Options{KeepAlive: 20 * time.Millisecond})
			session := c.connect(t, describe(h, transport))
			h.setIntercept(unavailable)
			h.CloseClientConnections()

			<-c.pauses
			if status := session.Status(); status.Reason != mcp.Reconnecting {
				t.Errorf("status is %+v", status)
			}
			c.resume <- struct{}{}
			<-c.pauses
			if status := session.Status(); status.Reason != mcp.ConnectFailed {
				t.Errorf("status is %+v", status)
			}
			if diff := cmp.Diff([]string{"lab__act"}, session.Tools().Names()); diff != "" {
				t.Errorf("tools (-want +got):\n%s", diff)
			}
			result := run(t.Context(), session, "lab__act", `{}`)
			if result.Failure != tool.Failed || result.OutcomeUnknown || runs.Load() != 0 {
				t.Errorf("%d runs, got %+v", runs.Load(), result)
			}
			for _, want := range []string{"tool server lab is not connected", "try again later"} {
				if !strings.Contains(result.Text, want) {
					t.Errorf("the text lacks %q: %s", want, result.Text)
				}
			}
			h.setIntercept(normal)
			c.resume <- struct{}{}
			c.waitFor(t, session, reason(mcp.Connected))
			if result := run(t.Context(), session, "lab__act", `{}`); result.Text != "done" {
				t.Errorf("after the reconnect: %q", result.Text)
			}
		})
	}
}

func TestSilentServerFailsInTime(t *testing.T) {
	h := makeHost(t, mcp.StreamableHTTP, lab())
	h.setIntercept(func(w http.ResponseWriter, r *http.Request, method string, _ http.Handler) {
		if !strings.HasPrefix(method, "notifications/") {
			<-r.Context().Done()
		}
		w.WriteHeader(http.StatusAccepted)
	})
	session := makeClient(t, mcp.Options{ConnectTimeout: 20 * time.Millisecond}).Ensure(describe(h, mcp.StreamableHTTP))
	status := session.WaitForStatus(t.Context())
	if status.Reason != mcp.ConnectFailed || status.Message != "the server does not answer in time" {
		t.Errorf("status is %+v", status)
	}
}

func TestInvalidServersAreNotRetried(t *testing.T) {
	for name, change := range map[string]func(*mcp.Server){
		"no URL":          func(s *mcp.Server) { s.URL = "" },
		"another scheme":  func(s *mcp.Server) { s.URL = "file:///etc/passwd" },
		"other transport": func(s *mcp.Server) { s.Transport = "Pigeon" },
	} {
		t.Run(name, func(t *testing.T) {
			config := mcp.Server{Key: mcp.Key{Namespace: "a", Server: "lab"}, Transport: mcp.SSE, URL: "http://127.0.0.1:1/"}
			change(&config)
			status := makeClient(t, mcp.Options{}).Ensure(config).WaitForStatus(t.Context())
			if status.Reason != mcp.InvalidServer || !strings.Contains(status.Message, "lab") {
				t.Errorf("status is %+v", status)
			}
		})
	}
}

func TestBackoffGrowsUntilCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for attempt, longest := range map[int]time.Duration{
			1: time.Second, 2: 2 * time.Second, 4: 8 * time.Second, 7: 64 * time.Second, 8: 2 * time.Minute, 1000: 2 * time.Minute,
		} {
			start := time.Now()
			if err := mcp.Backoff(t.Context(), attempt); err != nil {
				t.Fatal(err)
			}
			if pause := time.Since(start); pause < longest/2 || pause > longest {
				t.Errorf("attempt %d waits %s, want %s to %s", attempt, pause, longest/2, longest)
			}
		}
	})
}
