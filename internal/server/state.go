// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"net/http"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
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
	if len(validation.IsDNS1123Label(namespace)) > 0 {
		writeError(w, apierrors.NewBadRequest(fmt.Sprintf("%q is not the name of a namespace.", namespace)))
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
	api, err := stateReader(config)
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

// stateReader returns a client for the kinds that the state depends on. Its mapper is fixed, so that a request does not begin with
// discovery.
func stateReader(config *rest.Config) (client.Reader, error) {
	scheme := runtime.NewScheme()
	if err := v1beta1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register the kinds: %w", err)
	}
	if err := coordinationv1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register the kinds: %w", err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []string{"AgentChat", "AgentTask", "AgentRole", "AgentQuota", "ModelProvider", "ToolServer"} {
		mapper.Add(v1beta1.GroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	mapper.Add(coordinationv1.SchemeGroupVersion.WithKind("Lease"), meta.RESTScopeNamespace)
	api, err := client.New(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	return api, nil
}
