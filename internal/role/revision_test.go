// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package role

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// sampleRole returns a role with a skill and a schema.
func sampleRole(t *testing.T) Role {
	t.Helper()
	skill, err := ReadSkill("letters", map[string]string{SkillFile: "---\nname: letters\ndescription: Writes letters.\n---\nBe polite.", "a__b.md": "Yours"})
	if err != nil {
		t.Fatal(err)
	}
	return Role{Name: "writer", Namespace: "team", ConfigMaps: []string{"letters"}, SkillTexts: []Skill{skill}, AgentRoleSpec: v1beta1.AgentRoleSpec{
		SystemPrompt: "You write <b>.", Model: "large", Tools: &v1beta1.RoleTools{Allow: []string{"think"}},
		OutputSchema: &runtime.RawExtension{Raw: []byte(`{"type":"object","maxProperties":12345678901234567890}`)},
	}}
}

func revisionOf(t *testing.T, r Role) string {
	t.Helper()
	_, revision, err := r.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return revision
}

// The revision of a role must never change with a release: the promoted revision of a gated role would no longer be found.
func TestRevisionStaysTheSame(t *testing.T) {
	if got, want := revisionOf(t, sampleRole(t)), "ec2fe482319490677b31dbb17d7f5dba"; got != want {
		t.Errorf("the revision is %s, and was %s in earlier releases", got, want)
	}
}

func TestSnapshotRestoresTheRole(t *testing.T) {
	r := sampleRole(t)
	data, revision, err := r.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	var indented bytes.Buffer // another form of the same JSON
	if err := json.Indent(&indented, data, "", "  "); err != nil {
		t.Fatal(err)
	}
	got, err := ReadSnapshot(indented.Bytes(), revision)
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := got.SkillTexts[0].Text("a/b.md"); text != "Yours" || got.SystemPrompt != r.SystemPrompt || got.Revision != revision {
		t.Errorf("got %+v", got)
	}
	if again := revisionOf(t, got); again != revision {
		t.Errorf("the revision of the restored role is %s, want %s", again, revision)
	}
}

func TestReadSnapshotRefusesOtherData(t *testing.T) {
	data, revision, err := sampleRole(t).Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	for name, changed := range map[string][]byte{"changed": bytes.Replace(data, []byte("large"), []byte("huge"), 1), "no JSON": data[1:]} {
		if _, err := ReadSnapshot(changed, revision); err == nil || !strings.Contains(err.Error(), revision) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRevisionCoversWholeRole(t *testing.T) {
	base := revisionOf(t, sampleRole(t))
	for name, change := range map[string]func(*Role){
		"prompt":          func(r *Role) { r.SystemPrompt = "You write <i>." },
		"model":           func(r *Role) { r.Model = "small" },
		"provider":        func(r *Role) { r.ModelProvider = "other" },
		"tools":           func(r *Role) { r.Tools.Allow = nil },
		"delegation":      func(r *Role) { r.Delegation = &v1beta1.Delegation{Roles: []string{"tester"}} },
		"skill":           func(r *Role) { r.SkillTexts[0].Description = "Others." },
		"a skill's file":  func(r *Role) { r.SkillTexts[0].texts["a__b.md"] = "Regards" },
		"a skill's trust": func(r *Role) { r.SkillTexts[0].Trusted = true },
		"schema":          func(r *Role) { r.OutputSchema.Raw = []byte(`{"type":"object"}`) },
		"limits":          func(r *Role) { r.Limits = &v1beta1.RoleLimits{MaxIterations: 3} },
	} {
		r := sampleRole(t)
		change(&r)
		if revisionOf(t, r) == base {
			t.Errorf("%s: the revision is the same", name)
		}
	}
	var revisions []string
	for _, change := range []func(*Role){
		func(*Role) {},
		func(r *Role) { r.Promotion = &v1beta1.RolePromotion{Mode: v1beta1.PromotionGated} },
		func(r *Role) { r.AllowedNamespaces = &v1beta1.AllowedNamespaces{From: v1beta1.NamespacesAll} },
		func(r *Role) { r.Namespace, r.ConfigMaps = "other", nil },
		func(r *Role) {
			r.OutputSchema.Raw = []byte(`{"maxProperties": 12345678901234567890, "type": "object"}`)
		},
	} {
		r := sampleRole(t)
		change(&r)
		revisions = append(revisions, revisionOf(t, r))
	}
	for _, got := range revisions {
		if diff := cmp.Diff(base, got); diff != "" {
			t.Errorf("the revision differs: %s", diff)
		}
	}
}
