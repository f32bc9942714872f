// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/bench/report"
	"github.com/nestor-dev/nestor/test/stack"
)

const (
	// hangingRole is the role of the agents whose model never answers, and slowProvider that model's provider.
	hangingRole  = "sleeper"
	slowProvider = "slow"
)

// CancelDepth3 measures how long it takes from a person's cancel until the request of an agent at depth 3 is aborted.
func CancelDepth3(agents, turns int) Scenario {
	slow := &slowModel{requests: map[string]chan time.Time{}}
	s := latencyScenario("cancel-depth-3", "from a cancel until the model request of an agent at depth 3 is aborted", agents, turns, func(ctx context.Context, r *harness, chat string) ([]sample, error) {
		times := slow.expect(chat)
		if err := r.startChat(ctx, chat, "Delegate to lead: Delegate to middle: Delegate to sleeper: Sleep in "+chat); err != nil {
			return nil, err
		}
		if _, err := await(ctx, times); err != nil {
			return nil, err
		}
		body := fmt.Appendf(nil, `{"apiVersion":"nestor.dev/v1beta1","kind":"AgentMessage","metadata":{"name":"%s-cancel"},"spec":{"chat":%q,"user":%q,"cancel":{}}}`, chat, chat, stack.Admin)
		cancelled := time.Now()
		if _, err := r.api.Write(ctx, http.MethodPost, messagesPath, body); err != nil {
			return nil, err
		}
		ended, err := await(ctx, times)
		return []sample{{report.LatencyCancel, ended.Sub(cancelled)}}, err
	})
	s.prepare = func(ctx context.Context, r *harness) error {
		url, err := slow.serve(r)
		if err != nil {
			return err
		}
		provider := &v1beta1.ModelProvider{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: slowProvider}}
		provider.Spec.BaseURL, provider.Spec.DefaultModel, provider.Spec.MaxConcurrentRequests = url, "slow", 1000
		if err := r.stack.API.Create(ctx, provider); err != nil {
			return fmt.Errorf("create the slow provider: %w", err)
		}
		return makeChain(ctx, r, "lead", "middle", hangingRole)
	}
	return s
}

func await(ctx context.Context, at <-chan time.Time) (time.Time, error) {
	select {
	case when := <-at:
		return when, nil
	case <-ctx.Done():
		return time.Time{}, context.Cause(ctx)
	}
}

// slowModel never answers, and reports when a request arrives and when its client disconnects.
type slowModel struct {
	mu       sync.Mutex
	requests map[string]chan time.Time // by chat; receives the times of the request and of its end
}

// expect returns a channel that receives the time of a chat's request, and then that of its end.
func (m *slowModel) expect(chat string) <-chan time.Time {
	times := make(chan time.Time, 2)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests[chat] = times
	return times
}

func (m *slowModel) serve(r *harness) (string, error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{Handler: m, ReadHeaderTimeout: 10 * time.Second}
	r.cleanups = append(r.cleanups, server.Close)
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			r.logf("  the slow model ended: %s", err)
		}
	}()
	return "http://" + listener.Addr().String() + "/v1", nil
}

// ServeHTTP implements http.Handler.
func (m *slowModel) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method == http.MethodGet { // the operator's probe
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"slow","object":"model"}]}`)
		return
	}
	chat, err := readChat(request.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	m.mu.Lock()
	times := m.requests[chat]
	m.mu.Unlock()
	if times == nil {
		http.Error(w, "unexpected request of "+chat, http.StatusBadRequest)
		return
	}
	times <- time.Now()
	<-request.Context().Done()
	times <- time.Now()
}

// readChat returns the chat of a request from its last message.
func readChat(body io.Reader) (string, error) {
	var request struct {
		Messages []struct {
			Content string `json:"content"`
		} `json:"messages"`
	}
	if err := json.NewDecoder(body).Decode(&request); err != nil {
		return "", fmt.Errorf("read the request: %w", err)
	}
	if len(request.Messages) == 0 {
		return "", errors.New("the request has no message")
	}
	var chat string
	if _, err := fmt.Sscanf(request.Messages[len(request.Messages)-1].Content, "Sleep in %s", &chat); err != nil {
		return "", fmt.Errorf("read the last message: %w", err)
	}
	return chat, nil
}
