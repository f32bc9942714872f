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
func (d door) listModels(w http.ResponseWriter, r *http.Request, caller *run.Caller) {
	models := []model{}
	asked := r.URL.Query()["namespace"]
	for _, namespace := range namespacesOf(r.Context(), caller, asked) {
		entries, err := caller.Roles(r.Context(), namespace)
		if apierrors.IsForbidden(err) && len(asked) == 0 {
			continue
		}
		if err != nil {
			d.WriteError(w, err)
			return
		}
		for _, e := range entries {
			if e.Problem == "" {
				models = append(models, model{ID: namespace + "/" + e.Name, Object: "model", OwnedBy: namespace, Description: e.Description})
			}
		}
	}
	gateway.WriteJSON(w, http.StatusOK, map[string]any{"object": "list", "data": models})
}

// namespacesOf returns the namespaces to list: those in the request, else the caller's own and those that have ModelProviders, as far as the
// caller may list them.
func namespacesOf(ctx context.Context, caller *run.Caller, asked []string) []string {
	if len(asked) > 0 {
		return asked[:min(len(asked), maxNamespaces)]
	}
	var found []string
	if account, ok := strings.CutPrefix(caller.User, "system:serviceaccount:"); ok {
		own, _, _ := strings.Cut(account, ":")
		found = append(found, own)
	}
	var providers v1beta1.ModelProviderList
	if caller.API.List(ctx, &providers) == nil { // most callers may not, and have one namespace
		for _, p := range providers.Items {
			found = append(found, p.Namespace)
		}
	}
	slices.Sort(found)
	found = slices.Compact(found)
	return found[:min(len(found), maxNamespaces)]
}

func (d door) getModel(w http.ResponseWriter, r *http.Request, caller *run.Caller) {
	wanted, err := parseModel(r.PathValue("model"))
	if err != nil {
		d.WriteError(w, err)
		return
	}
	found, err := caller.Role(r.Context(), wanted.namespace, wanted.role)
	if err != nil {
		d.WriteError(w, asNotFound(err))
		return
	}
	gateway.WriteJSON(w, http.StatusOK, model{
		ID: wanted.namespace + "/" + found.Name, Object: "model", OwnedBy: cmp.Or(found.Namespace, "nestor"), Description: found.Description,
	})
}

// asNotFound returns the error for a role that does not exist.
func asNotFound(err error) error {
	if _, ok := err.(apierrors.APIStatus); ok {
		return err
	}
	return run.NotFound(err.Error())
}
