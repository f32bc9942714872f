// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/openai"
	"github.com/nestor-dev/nestor/internal/model/schedule"
	"github.com/nestor-dev/nestor/internal/model/scripted"
	"github.com/nestor-dev/nestor/internal/model/wire"
	"github.com/nestor-dev/nestor/test/patience"
)

// TestRateLimitUsesFallback uses two real providers. The first answers with one 429 and gets no further
// calls; the failed call and the waiting ones go to the second.
func TestRateLimitUsesFallback(t *testing.T) {
	s := schedule.New(schedule.Options{})
	defer s.Close()
	main, mainServer := scriptedProvider(t, "rules:\n- {reply: {error: {status: 429, retryAfter: 60s, message: Slow down.}}}")
	second, secondServer := scriptedProvider(t, "rules:\n- {reply: {text: Served.}}")
	s.SetProvider(schedule.Provider{Name: "main", Concurrent: 1, Fallback: []string{"second"}})
	s.SetProvider(schedule.Provider{Name: "second", Concurrent: 2})
	clients := map[string]model.Client{"main": main, "second": second}

	const calls = 20
	answers := make(chan string, calls)
	for range calls {
		submit(t, s, clients, answers)
	}
	for range calls {
		if got := <-answers; got != "Served." {
			t.Errorf("answer: %s", got)
		}
	}
	if n := len(mainServer.Requests()); n != 1 {
		t.Errorf("the limited provider was asked %d times, want once", n)
	}
	if n := len(secondServer.Requests()); n != calls {
		t.Errorf("the fallback was asked %d times, want %d", n, calls)
	}
}

// submit makes a call like the engine: a retryable failure goes back into the queue.
func submit(t *testing.T, s *schedule.Scheduler, clients map[string]model.Client, answers chan<- string) {
	request := model.Request{Model: "scripted", Messages: []model.Message{{Role: model.RoleUser, Text: "Hello."}}}
	ticket := schedule.Ticket{Provider: "main", Namespace: "a", Chat: "b", Tokens: 20}
	mustSubmit(t, s, ticket, func(g *schedule.Grant) {
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), patience.Limit())
			defer cancel()
			reply, err := clients[g.Provider].Complete(ctx, request, nil)
			var failed *model.Error
			switch {
			case err == nil:
				g.Release(schedule.Result{Tokens: &reply.Usage.TotalTokens})
				answers <- reply.Text
			case errors.As(err, &failed) && failed.Retryable():
				g.Release(schedule.Result{BackOff: failed.RetryAfter})
				submit(t, s, clients, answers)
			default:
				g.Release(schedule.Result{})
				answers <- err.Error()
			}
		}()
	})
}

func scriptedProvider(t *testing.T, script string) (model.Client, *scripted.Server) {
	t.Helper()
	parsed, err := scripted.Parse("test.yaml", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	server := scripted.NewServer(scripted.Options{Scripts: []*scripted.Script{parsed}})
	listening := httptest.NewServer(server)
	t.Cleanup(listening.Close)
	client, err := openai.NewClient(wire.Endpoint{BaseURL: listening.URL + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	return client, server
}
