// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/gateway"
	"github.com/nestor-dev/nestor/internal/gateway/run"
)

// maxNamespaces bounds the namespaces whose roles are listed.
const maxNamespaces = 100

// model is a role as a model of the API.
type model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
	// Description is what the role is for; the API has no such field.
	Description string `json:"description,omitempty"`
}

// listModels lists the roles of the namespaces that the caller may use.
func (door) listModels(w http.ResponseWriter, r *http.Request, caller *run.Caller) error {
	models := []model{}
	namespaces := r.URL.Query()["namespace"]
	for _, namespace := range modelNamespaces(r.Context(), caller, namespaces) {
		entries, err := caller.Roles(r.Context(), namespace)
		if apierrors.IsForbidden(err) && len(namespaces) == 0 {
			continue
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.Problem == "" {
				models = append(models, model{ID: namespace + "/" + e.Name, Object: "model", OwnedBy: namespace, Description: e.Description})
			}
		}
	}
	gateway.WriteJSON(w, http.StatusOK, map[string]any{"object": "list", "data": models})
	return nil
}

// modelNamespaces returns the namespaces to list: those in the request, or else the caller's own namespace and those
// with ModelProviders, if the caller may list them.
func modelNamespaces(ctx context.Context, caller *run.Caller, requested []string) []string {
	if len(requested) > 0 {
		return requested[:min(len(requested), maxNamespaces)]
	}
	var namespaces []string
	if account, ok := strings.CutPrefix(caller.User, "system:serviceaccount:"); ok {
		own, _, _ := strings.Cut(account, ":")
		namespaces = append(namespaces, own)
	}
	var providers v1beta1.ModelProviderList
	if caller.API.List(ctx, &providers) == nil { // most callers may not, and have one namespace
		for _, p := range providers.Items {
			namespaces = append(namespaces, p.Namespace)
		}
	}
	slices.Sort(namespaces)
	namespaces = slices.Compact(namespaces)
	return namespaces[:min(len(namespaces), maxNamespaces)]
}

func (door) getModel(w http.ResponseWriter, r *http.Request, caller *run.Caller) error {
	wanted, err := parseModel(r.PathValue("model"))
	if err != nil {
		return err
	}
	definition, err := caller.Role(r.Context(), wanted.namespace, wanted.role)
	if _, ok := err.(apierrors.APIStatus); ok {
		return err
	}
	if err != nil {
		return run.NotFound(err.Error())
	}
	gateway.WriteJSON(w, http.StatusOK, model{
		ID: wanted.namespace + "/" + definition.Name, Object: "model", OwnedBy: cmp.Or(definition.Namespace, "nestor"), Description: definition.Description,
	})
	return nil
}
