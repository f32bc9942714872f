// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package revisions reads the recorded revisions of roles.
package revisions

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// Revision is a recorded revision of a role.
type Revision struct {
	Revision string `json:"revision"`
	// Number grows with each revision of the role.
	Number int64       `json:"number"`
	Time   metav1.Time `json:"creationTime"`
	// States are Current, Promoted, Previous and Rejected.
	States []string `json:"states,omitempty"`

	data []byte
}

// Revisions are the recorded revisions of a role, newest first.
type Revisions []Revision

// List reads the recorded revisions of a role.
func List(ctx context.Context, api client.Reader, r *v1beta1.AgentRole) (Revisions, error) {
	var list appsv1.ControllerRevisionList
	if err := api.List(ctx, &list, client.InNamespace(r.Namespace), client.MatchingLabels{v1beta1.LabelRole: r.Name}); err != nil {
		return nil, fmt.Errorf("list the revisions of role %s: %w", r.Name, err)
	}
	var all Revisions
	for i := range list.Items {
		kept := &list.Items[i]
		if metav1.IsControlledBy(kept, r) {
			digest := kept.Labels[v1beta1.LabelRevision]
			all = append(all, Revision{Revision: digest, Number: kept.Revision, Time: kept.CreationTimestamp, States: statesOf(digest, r.Status), data: kept.Data.Raw})
		}
	}
	slices.SortFunc(all, func(a, b Revision) int { return cmp.Compare(b.Number, a.Number) })
	return all, nil
}

func statesOf(revision string, s v1beta1.AgentRoleStatus) []string {
	var states []string
	for _, state := range []struct{ name, revision string }{
		{"Current", s.CurrentRevision}, {"Promoted", s.PromotedRevision}, {"Previous", s.PreviousRevision}, {"Rejected", s.RejectedRevision},
	} {
		if state.revision == revision {
			states = append(states, state.name)
		}
	}
	return states
}

// Find returns the revision with a name or a prefix of its name that no other one has.
func (r Revisions) Find(role, name string) (Revision, error) {
	var found Revisions
	for _, one := range r {
		if one.Revision == name {
			return one, nil
		}
		if name != "" && strings.HasPrefix(one.Revision, name) {
			found = append(found, one)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return Revision{}, fmt.Errorf("%s is the beginning of several revisions of the role %s: %s", name, role, found.names())
	case len(r) == 0:
		return Revision{}, fmt.Errorf("the role %s has no recorded revisions", role)
	}
	return Revision{}, fmt.Errorf("the role %s has no revision %s: it has %s", role, name, r.names())
}

func (r Revisions) names() string {
	names := make([]string, len(r))
	for i := range r {
		names[i] = r[i].Revision
	}
	return strings.Join(names, ", ")
}

// YAML returns the resolved role of a revision: its spec with the texts that were in ConfigMaps.
func (r Revision) YAML() (string, error) {
	text, err := yaml.JSONToYAML(r.data)
	if err != nil {
		return "", fmt.Errorf("read the revision %s: %w", r.Revision, err)
	}
	return string(text), nil
}
