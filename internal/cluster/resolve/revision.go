// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/role"
)

const (
	// maxCachedRevisions bounds the revisions in memory.
	maxCachedRevisions = 256
	// maxPins is the maximum number of gated roles whose revisions a tree keeps: the status of its root has them.
	maxPins = 24
)

// Revisions caches the revisions of gated roles. Their data never changes.
type Revisions struct {
	mu   sync.Mutex
	kept map[revisionKey]role.Role
}

type revisionKey struct {
	object   types.UID
	revision string
}

// RevisionName returns the name of the ControllerRevision with a revision of a role.
func RevisionName(roleName, revision string) string { return roleName + "-" + revision }

// RoleAt finds a role for a run: a gated role as its promoted revision, or as the one that the tree of the run has
// pinned, which is empty if there is none.
func (f Finder) RoleAt(ctx context.Context, namespace, name, pinned string) (role.Role, error) {
	object, builtIn, err := f.findRole(ctx, namespace, name)
	switch {
	case err != nil:
		return role.Role{}, err
	case object != nil && f.Gated(object):
		return f.gatedRole(ctx, object, pinned)
	case object != nil:
		return f.ungatedRole(ctx, object)
	}
	_, builtIn.Revision, err = builtIn.Snapshot()
	return builtIn, err
}

// ungatedRole reads a role as it is written.
func (f Finder) ungatedRole(ctx context.Context, object *v1beta1.AgentRole) (role.Role, error) {
	read, err := f.ReadRole(ctx, object)
	if err != nil {
		return role.Role{}, err
	}
	_, read.Revision, err = read.Snapshot()
	return read, err
}

// readLive reads a gated role from the API server: the cache of a replica may still have a revision that was rolled
// back.
func (f Finder) readLive(ctx context.Context, object *v1beta1.AgentRole) (*v1beta1.AgentRole, error) {
	name := types.NamespacedName{Namespace: object.Namespace, Name: object.Name}
	var live v1beta1.AgentRole
	err := f.Live.Get(ctx, name, &live)
	if apierrors.IsNotFound(err) {
		return nil, &Missing{Reason: v1beta1.ReasonRoleNotFound, Message: fmt.Sprintf("The role %s was deleted.", name)}
	}
	if err != nil {
		return nil, fmt.Errorf("get the role %s: %w", name, err)
	}
	return &live, nil
}

// Gated reports whether runs begin with the promoted revision of a role. Installed built-in roles change with the
// release.
func (f Finder) Gated(object *v1beta1.AgentRole) bool {
	return role.Gated(object) && !f.BuiltIn(object)
}

// gatedRole returns the pinned revision of a gated role if it is one of this object, which may have been deleted and
// created again, and otherwise the promoted one.
func (f Finder) gatedRole(ctx context.Context, object *v1beta1.AgentRole, pinned string) (role.Role, error) {
	if pinned != "" {
		if read, err := f.revision(ctx, object, pinned); !apierrors.IsNotFound(err) {
			return read, err
		}
	}
	object, err := f.readLive(ctx, object)
	if err != nil {
		return role.Role{}, err
	}
	if !f.Gated(object) {
		return f.ungatedRole(ctx, object)
	}
	if promoted := object.Status.PromotedRevision; promoted != "" {
		read, err := f.revision(ctx, object, promoted)
		if !apierrors.IsNotFound(err) {
			return read, err
		}
		return role.Role{}, &Missing{Reason: v1beta1.ReasonRevisionNotFound, Message: fmt.Sprintf(
			"The promoted revision %s of the role %s does not exist: promote another one, for example with `kubectl nestor role promote %s`.", promoted, object.Name, object.Name)}
	}
	if _, err := f.ReadRole(ctx, object); err != nil { // usually this is why it has no revision
		return role.Role{}, err
	}
	return role.Role{}, &Missing{Reason: v1beta1.ReasonRevisionNotFound, Message: fmt.Sprintf("The first revision of the role %s is not recorded yet.", object.Name)}
}

// revision returns a revision of a role. A ControllerRevision of another owner is not found.
func (f Finder) revision(ctx context.Context, object *v1beta1.AgentRole, revision string) (role.Role, error) {
	key := revisionKey{object.UID, revision}
	read, ok := f.Revisions.get(key)
	if !ok {
		var kept appsv1.ControllerRevision
		name := types.NamespacedName{Namespace: object.Namespace, Name: RevisionName(object.Name, revision)}
		if err := f.Live.Get(ctx, name, &kept); err != nil {
			return role.Role{}, fmt.Errorf("get the revision %s: %w", name, err)
		}
		if !metav1.IsControlledBy(&kept, object) {
			return role.Role{}, apierrors.NewNotFound(appsv1.Resource("controllerrevisions"), name.Name)
		}
		var err error
		if read, err = role.ReadSnapshot(kept.Data.Raw, revision); err != nil {
			return role.Role{}, &Missing{Reason: v1beta1.ReasonRevisionNotFound, Message: fmt.Sprintf("A revision of the role %s is damaged: %s.", object.Name, err)}
		}
		f.Revisions.put(key, read)
	}
	read.AgentRoleSpec = *read.DeepCopy() // it may be in the cache
	read.Namespace, read.Gated = object.Namespace, true
	return read, nil
}

// PinRevisions returns the revisions of the gated roles that agents below one with a role may have. Those in pinned
// stay as they are.
func (f Finder) PinRevisions(ctx context.Context, namespace string, from role.Role, pinned map[string]string) (map[string]string, error) {
	pins := maps.Clone(pinned)
	below, seen := []role.Role{from}, map[string]bool{from.Name: true}
	for ; len(below) > 0; below = below[1:] {
		r := below[0]
		if _, ok := pins[r.Name]; r.Gated && !ok && len(pins) < maxPins {
			if pins == nil {
				pins = map[string]string{}
			}
			pins[r.Name] = r.Revision
		}
		for _, name := range r.Uses() {
			if seen[name] {
				continue
			}
			seen[name] = true
			next, err := f.WithoutTextsAt(ctx, namespace, name, pins[name])
			if isMissing(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			below = append(below, next)
		}
	}
	return pins, nil
}

// WithoutTextsAt returns a role as RoleAt does, but only the texts of gated roles.
func (f Finder) WithoutTextsAt(ctx context.Context, namespace, name, pinned string) (role.Role, error) {
	object, builtIn, err := f.findRole(ctx, namespace, name)
	switch {
	case err != nil || object == nil:
		return builtIn, err
	case f.Gated(object):
		return f.gatedRole(ctx, object, pinned)
	}
	return f.overlay(object), nil
}

func isMissing(err error) bool {
	var missing *Missing
	return errors.As(err, &missing)
}

func (r *Revisions) get(key revisionKey) (role.Role, bool) {
	if r == nil {
		return role.Role{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	kept, ok := r.kept[key]
	return kept, ok
}

func (r *Revisions) put(key revisionKey, read role.Role) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept == nil || len(r.kept) >= maxCachedRevisions {
		r.kept = map[revisionKey]role.Role{} // few installations have that many
	}
	r.kept[key] = read
}
