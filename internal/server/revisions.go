// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/revisions"
	"github.com/nestor-dev/nestor/internal/linediff"
	"github.com/nestor-dev/nestor/internal/role"
)

// revisionsResponse lists the recorded revisions of a role, newest first.
type revisionsResponse struct {
	Items revisions.Revisions `json:"items"`
	// Gated is true if runs begin with the promoted revision.
	Gated bool `json:"gated"`
	// Promoting is the revision of a promotion that the operator has not handled yet.
	Promoting string `json:"promoting,omitempty"`
}

// listRevisions lists the revisions of a role, as far as the person may read them.
func (s *site) listRevisions(w http.ResponseWriter, r *http.Request, config *rest.Config) {
	found, all, _, err := readRevisions(r, config)
	if err != nil {
		writeError(w, err)
		return
	}
	response := revisionsResponse{Items: all, Gated: role.Gated(found)}
	if requested := found.Annotations[v1beta1.AnnotationPromote]; requested != found.Status.HandledPromotion {
		response.Promoting = requested
	}
	writeJSON(w, http.StatusOK, response)
}

// diffRevisions compares the revisions from and to of a role by lines.
func (s *site) diffRevisions(w http.ResponseWriter, r *http.Request, config *rest.Config) {
	role, all, _, err := readRevisions(r, config)
	if err != nil {
		writeError(w, err)
		return
	}
	var texts [2]string
	for i, parameter := range []string{"from", "to"} {
		found, err := all.Find(role.Name, r.FormValue(parameter))
		if err != nil {
			writeError(w, apierrors.NewBadRequest(err.Error()))
			return
		}
		if texts[i], err = found.YAML(); err != nil {
			writeError(w, err)
			return
		}
	}
	writeJSON(w, http.StatusOK, map[string]string{"diff": linediff.Unified(texts[0], texts[1])})
}

// promote requests the promotion of a revision as the person, who needs the verb promote.
func (s *site) promote(w http.ResponseWriter, r *http.Request, config *rest.Config) {
	var body struct {
		Revision string `json:"revision"`
	}
	if err := readJSON(w, r, maxBody, &body); err != nil {
		writeError(w, err)
		return
	}
	role, all, api, err := readRevisions(r, config)
	if err != nil {
		writeError(w, err)
		return
	}
	if err := requestPromotion(r.Context(), config, api, role, all, body.Revision); err != nil {
		writeError(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func requestPromotion(ctx context.Context, config *rest.Config, api client.Client, role *v1beta1.AgentRole, all revisions.Revisions, revision string) error {
	found, err := all.Find(role.Name, revision)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	person, err := review(ctx, config)
	if err != nil {
		return err
	}
	_, err = revisions.Promote(ctx, api, role, found.Revision, person.Username, time.Now())
	return err
}

// readRevisions reads the role of a request with its revisions.
func readRevisions(r *http.Request, config *rest.Config) (*v1beta1.AgentRole, revisions.Revisions, client.Client, error) {
	namespace, name := r.PathValue("namespace"), r.PathValue("name")
	if err := checkNames("role", namespace, name); err != nil {
		return nil, nil, nil, err
	}
	api, err := newClient(config)
	if err != nil {
		return nil, nil, nil, err
	}
	role := &v1beta1.AgentRole{}
	if err := api.Get(r.Context(), client.ObjectKey{Namespace: namespace, Name: name}, role); err != nil {
		return nil, nil, nil, err
	}
	all, err := revisions.List(r.Context(), api, role)
	return role, all, api, err
}
