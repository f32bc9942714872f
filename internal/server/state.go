// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"net/http"
	"time"

	"k8s.io/client-go/rest"

	"github.com/nestor-dev/nestor/internal/health"
)

// stateTimeout bounds how long the state may take: the page asks again soon.
const stateTimeout = 4 * time.Second

type stateResponse struct {
	Problems []health.Problem `json:"problems"`
}

// state returns what keeps the agents of a namespace from working, as far as the person may see it.
func (s *site) state(w http.ResponseWriter, r *http.Request, config *rest.Config) {
	namespace := r.FormValue("namespace")
	if namespace == "" {
		namespace = s.namespace
	}
	if err := checkNamespace(namespace); err != nil {
		writeError(w, err)
		return
	}
	problems, err := s.states.get(newStateKey(config, namespace), func() ([]health.Problem, error) {
		return s.problems(context.WithoutCancel(r.Context()), config, namespace) // other pages may wait for it
	})
	if err != nil {
		writeError(w, err)
		return
	}
	if problems == nil {
		problems = []health.Problem{}
	}
	writeJSON(w, http.StatusOK, stateResponse{Problems: problems})
}

// problems reads what keeps the agents of a namespace from working.
func (s *site) problems(ctx context.Context, config *rest.Config, namespace string) ([]health.Problem, error) {
	api, err := newClient(config)
	if err != nil {
		return nil, err
	}
	tables, err := health.NewTables(config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	return health.Namespace{API: api, Tables: tables, Name: namespace, OperatorNamespace: s.operatorNamespace, Heartbeat: &s.heartbeat}.Problems(ctx)
}
