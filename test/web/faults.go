// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/health"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/operator"
)

// The states of a part that can be broken.
const (
	up      = "up"
	down    = "down"
	limited = "limited"
	held    = "held"
)

// heldAfter is how many pieces of a streamed reply pass while the model is held.
const heldAfter = 8

// breakableModel serves a model, unless it is down or limits the rate of calls. While it is held, streamed replies
// begin and do not end.
type breakableModel struct {
	handler http.Handler

	mu      sync.Mutex
	state   string
	changed chan struct{} // closed with the next change
}

func newBreakableModel(handler http.Handler) *breakableModel {
	return &breakableModel{handler: handler, state: up, changed: make(chan struct{})}
}

func (m *breakableModel) set(state string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state = state
	close(m.changed)
	m.changed = make(chan struct{})
}

func (m *breakableModel) current() (state string, changed <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state, m.changed
}

// heldReply lets the beginning of a reply pass, and the rest when the model is no longer held.
type heldReply struct {
	http.ResponseWriter
	model  *breakableModel
	ctx    context.Context
	pieces int
}

// Unwrap is for http.ResponseController.
func (w *heldReply) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write implements http.ResponseWriter.
func (w *heldReply) Write(data []byte) (int, error) {
	w.pieces++
	for state, changed := w.model.current(); state == held && w.pieces > heldAfter; state, changed = w.model.current() {
		select {
		case <-changed:
		case <-w.ctx.Done():
			return 0, w.ctx.Err()
		}
	}
	return w.ResponseWriter.Write(data)
}

func (m *breakableModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch state, _ := m.current(); state {
	case down:
		http.Error(w, `{"error":{"message":"The service is overloaded."}}`, http.StatusServiceUnavailable)
	case limited:
		w.Header().Set("Retry-After", "5")
		http.Error(w, `{"error":{"message":"Too many requests."}}`, http.StatusTooManyRequests)
	default:
		m.handler.ServeHTTP(&heldReply{ResponseWriter: w, model: m, ctx: r.Context()}, r)
	}
}

// breakableLedger is a ledger that does not answer while it is down.
type breakableLedger struct {
	ledger.Ledger
	down atomic.Bool
}

// Agent implements ledger.Histories.
func (l *breakableLedger) Agent(ctx context.Context, uid string) (ledger.Agent, error) {
	if l.down.Load() {
		return ledger.Agent{}, &ledger.Error{Ledger: l.Name(), Op: "read an agent", Reason: ledger.ReasonUnavailable, Err: errors.New("connection refused")}
	}
	return l.Ledger.Agent(ctx, uid)
}

// fault breaks or mends a part, or creates a quota that is used up.
func (s *stack) fault(ctx context.Context, part, what string) (map[string]string, error) {
	switch part {
	case "ledger":
		s.ledger.down.Store(what == down)
	case "model":
		s.model.set(what)
	case "quota":
		return map[string]string{part: what}, s.createQuota(ctx, what)
	default:
		return nil, fmt.Errorf("unknown part %q", part)
	}
	return map[string]string{part: what}, nil
}

// createQuota creates a quota that the usage of a namespace exceeds.
func (s *stack) createQuota(ctx context.Context, namespace string) error {
	api, err := client.New(s.cluster.Config, client.Options{Scheme: operator.NewScheme()})
	if err != nil {
		return fmt.Errorf("connect to the cluster: %w", err)
	}
	q := &v1beta1.AgentQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "small"}}
	tokens := int64(1)
	q.Spec = v1beta1.AgentQuotaSpec{Period: v1beta1.QuotaMonth, MaxTokens: &tokens}
	return api.Create(ctx, q)
}

// heartbeatAccess returns the permissions of the chart that let everyone read the heartbeat.
func heartbeatAccess() []client.Object {
	return []client.Object{
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "heartbeat"}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, ResourceNames: []string{health.LeaseName}, Verbs: []string{"get"}},
		}},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "heartbeat"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "heartbeat"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:authenticated"}},
		},
	}
}
