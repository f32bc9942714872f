// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/kube"
	"github.com/nestor-dev/nestor/internal/role"
)

// gated returns a gated role that delegates to others.
func gated(name string, delegates ...string) *v1beta1.AgentRole {
	r := roleNamed("team", name)
	r.UID = types.UID(name + "-uid")
	r.Spec.Promotion = &v1beta1.RolePromotion{Mode: v1beta1.PromotionGated}
	if len(delegates) > 0 {
		r.Spec.Delegation = &v1beta1.Delegation{Roles: delegates}
	}
	return r
}

// kept returns the ControllerRevision of a role with this prompt, and its revision.
func kept(t *testing.T, r *v1beta1.AgentRole, prompt string) (*appsv1.ControllerRevision, string) {
	t.Helper()
	spec := *r.Spec.DeepCopy()
	spec.SystemPrompt = prompt
	data, revision, err := role.Role{Name: r.Name, AgentRoleSpec: spec}.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	owner := metav1.OwnerReference{APIVersion: v1beta1.GroupVersion.String(), Kind: "AgentRole", Name: r.Name, UID: r.UID, Controller: ptr.To(true)}
	return &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: RevisionName(r.Name, revision), OwnerReferences: []metav1.OwnerReference{owner}},
		Data: runtime.RawExtension{Raw: data}}, revision
}

func finderOf(t *testing.T, objects ...client.Object) Finder {
	t.Helper()
	api := fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithObjects(objects...).Build()
	return Finder{Reader: api, Live: api, OperatorNamespace: "system", Revisions: &Revisions{}}
}

func TestGatedRoleIsReadFromItsRevisions(t *testing.T) {
	poet := gated("poet")
	first, one := kept(t, poet, "You write odes.")
	second, two := kept(t, poet, "You write sonnets.")
	earlier := gated("poet")
	earlier.UID = "deleted"
	foreign, other := kept(t, earlier, "You write limericks.")
	poet.Status.PromotedRevision = one
	f := finderOf(t, poet, first, second, foreign)
	for name, test := range map[string]struct{ pinned, want, revision string }{
		"promoted":                        {"", "You write odes.", one},
		"pinned":                          {two, "You write sonnets.", two},
		"pinned one that does not exist":  {"none", "You write odes.", one},
		"pinned one of a role before it":  {other, "You write odes.", one},
		"pinned one that is the promoted": {one, "You write odes.", one},
	} {
		for range 2 { // from the API server, then from the cache
			got, err := f.RoleAt(t.Context(), "team", "poet", test.pinned)
			if err != nil || got.SystemPrompt != test.want || got.Revision != test.revision || !got.Gated || got.Namespace != "team" {
				t.Errorf("%s: got %q with the revision %s (%v), want %q", name, got.SystemPrompt, got.Revision, err, test.want)
			}
		}
	}
	if got, err := f.Role(t.Context(), "team", "poet"); err != nil || got.SystemPrompt != "You are team/poet." {
		t.Errorf("as it is written: %q (%v)", got.SystemPrompt, err)
	}
}

// The cache of a replica may be behind: a revision that was rolled back begins no run, and neither does the role of
// before a deletion.
func TestGatedRoleIsConfirmedLive(t *testing.T) {
	cached := gated("poet")
	first, one := kept(t, cached, "You write odes.")
	second, two := kept(t, cached, "You write sonnets.")
	cached.Status.PromotedRevision = two
	rolledBack, ungated := cached.DeepCopy(), cached.DeepCopy()
	rolledBack.Status.PromotedRevision = one
	ungated.Spec.Promotion = nil
	again := gated("poet")
	again.UID = "again"
	third, three := kept(t, again, "You write limericks.")
	again.Status.PromotedRevision = three
	for name, test := range map[string]struct {
		live   *v1beta1.AgentRole
		pinned string
		want   string
		reason string
	}{
		"rolled back":        {live: rolledBack, want: "You write odes."},
		"pinned before that": {live: rolledBack, pinned: two, want: "You write sonnets."},
		"not gated any more": {live: ungated, want: "You are team/poet."},
		"created again":      {live: again, want: "You write limericks."},
		"deleted":            {reason: v1beta1.ReasonRoleNotFound},
	} {
		f := finderOf(t, cached)
		objects := []client.Object{first, second, third}
		if test.live != nil {
			objects = append(objects, test.live)
		}
		f.Live = finderOf(t, objects...).Live
		got, err := f.RoleAt(t.Context(), "team", "poet", test.pinned)
		var missing *Missing
		if errors.As(err, &missing); test.reason != "" && (missing == nil || missing.Reason != test.reason) || test.reason == "" && err != nil || got.SystemPrompt != test.want {
			t.Errorf("%s: got %q (%v), want %q", name, got.SystemPrompt, err, test.want)
		}
	}
}

func TestGatedRoleWithoutRevisionWaits(t *testing.T) {
	poet := gated("poet")
	damaged, one := kept(t, poet, "You write odes.")
	damaged.Data.Raw = []byte(`{"name":"poet","systemPrompt":"Obey."}`)
	for name, promoted := range map[string]string{"not recorded": "", "deleted": "none", "forged": one} {
		poet.Status.PromotedRevision = promoted
		f := finderOf(t, poet.DeepCopy(), damaged.DeepCopy())
		_, err := f.RoleAt(t.Context(), "team", "poet", "")
		var missing *Missing
		if !errors.As(err, &missing) || missing.Reason != v1beta1.ReasonRevisionNotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestImmediateRoleIgnoresPins(t *testing.T) {
	poet := gated("poet")
	first, one := kept(t, poet, "You write odes.")
	poet.Spec.Promotion.Mode = v1beta1.PromotionImmediate
	f := finderOf(t, poet, first)
	got, err := f.RoleAt(t.Context(), "team", "poet", one)
	if err != nil || got.SystemPrompt != "You are team/poet." || got.Gated || len(got.Revision) != len(one) {
		t.Errorf("got %q with the revision %s (%v)", got.SystemPrompt, got.Revision, err)
	}
	for _, builtIn := range []string{"coder", "general"} {
		if got, err := f.RoleAt(t.Context(), "team", builtIn, one); err != nil || got.Gated || got.Revision == "" {
			t.Errorf("%s: %+v (%v)", builtIn, got, err)
		}
	}
}

// A tree pins the gated roles that its agents may have, also below roles that are not gated.
func TestPinRevisions(t *testing.T) {
	lead, poet, critic, other := gated("lead", "middle", "none"), gated("poet", "lead"), gated("critic"), gated("other")
	middle := roleNamed("team", "middle")
	middle.Spec.Delegation = &v1beta1.Delegation{Roles: []string{"poet"}}
	poet.Spec.Review = &v1beta1.ResultReview{Role: "critic"}
	objects := []client.Object{middle}
	want := map[string]string{}
	for _, r := range []*v1beta1.AgentRole{lead, poet, critic, other} {
		revision, digest := kept(t, r, "You are "+r.Name+".")
		r.Status.PromotedRevision = digest
		objects = append(objects, r, revision)
		want[r.Name] = digest
	}
	delete(want, "other") // no agent of the tree can have it
	f := finderOf(t, objects...)
	root, err := f.RoleAt(context.Background(), "team", "lead", "")
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.PinRevisions(t.Context(), "team", root, nil)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("(-want +got):\n%s%v", diff, err)
	}
	pinned := map[string]string{"poet": "earlier"}
	got, err = f.PinRevisions(t.Context(), "team", root, pinned)
	want["poet"] = "earlier"
	if diff := cmp.Diff(want, got); diff != "" || err != nil || len(pinned) != 1 {
		t.Errorf("with a pin (-want +got):\n%s%v", diff, err)
	}
}
