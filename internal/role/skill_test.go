// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package role

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/test/npm"
)

// skillCases are texts of SKILL.md, with a part of the error or "" for a valid skill. The directory of each is that of a skill called
// pdf-forms.
var skillCases = map[string]struct{ content, problem string }{
	"valid":                    {"---\nname: pdf-forms\ndescription: Fills in forms.\n---\n\nDo it.\n", ""},
	"every-field":              {"---\nname: pdf-forms\ndescription: >-\n  Fills in\n  forms.\nlicense: MIT\ncompatibility: Needs Python.\nallowed-tools: Read Write\nmetadata:\n  author: team\n  version: 1\n---\nDo it.\n", ""},
	"quoted":                   {"---\nname: \"pdf-forms\"\ndescription: 'It''s for forms: all of them.'\n---\n", ""},
	"no-body":                  {"---\nname: pdf-forms\ndescription: Fills in forms.\n---", ""},
	"windows":                  {"---\r\nname: pdf-forms\r\ndescription: Fills in forms.\r\n---\r\nDo it.\r\n", ""},
	"a-rule-in-the-body":       {"---\nname: pdf-forms\ndescription: Fills in forms.\n---\nOne.\n\n---\n\nTwo.\n", ""},
	"longest-description":      {"---\nname: pdf-forms\ndescription: " + strings.Repeat("x", 1024) + "\n---\n", ""},
	"longest-compatibility":    {"---\nname: pdf-forms\ndescription: x\ncompatibility: " + strings.Repeat("x", 500) + "\n---\n", ""},
	"nothing":                  {"", "must begin with front matter"},
	"no-front-matter":          {"# Forms\n", "must begin with front matter"},
	"not-closed":               {"---\nname: pdf-forms\ndescription: Fills in forms.\n", "not closed"},
	"no-mapping":               {"---\n- name\n- description\n---\n", "not a YAML mapping"},
	"no-yaml":                  {"---\nname: [pdf\n---\n", "not a YAML mapping"},
	"empty":                    {"---\n\n---\n", "no name"},
	"no-name":                  {"---\ndescription: Fills in forms.\n---\n", "no name"},
	"no-description":           {"---\nname: pdf-forms\n---\n", "no description"},
	"empty-name":               {"---\nname: ''\ndescription: x\n---\n", "name must be"},
	"empty-description":        {"---\nname: pdf-forms\ndescription: '  '\n---\n", "description must be"},
	"too-long-a-description":   {"---\nname: pdf-forms\ndescription: " + strings.Repeat("x", 1025) + "\n---\n", "at most 1024"},
	"too-long-a-name":          {"---\nname: " + strings.Repeat("x", 65) + "\ndescription: x\n---\n", "at most 64"},
	"uppercase":                {"---\nname: PDF-forms\ndescription: x\n---\n", "lowercase"},
	"a-space":                  {"---\nname: pdf forms\ndescription: x\n---\n", "lowercase"},
	"an-underscore":            {"---\nname: pdf_forms\ndescription: x\n---\n", "lowercase"},
	"a-path":                   {"---\nname: ../pdf\ndescription: x\n---\n", "lowercase"},
	"a-hyphen-first":           {"---\nname: -pdf\ndescription: x\n---\n", "lowercase"},
	"a-hyphen-last":            {"---\nname: pdf-\ndescription: x\n---\n", "lowercase"},
	"two-hyphens":              {"---\nname: pdf--forms\ndescription: x\n---\n", "lowercase"},
	"an-unknown-field":         {"---\nname: pdf-forms\ndescription: x\nversion: 1\n---\n", `the field "version"`},
	"too-long-a-compatibility": {"---\nname: pdf-forms\ndescription: x\ncompatibility: " + strings.Repeat("x", 501) + "\n---\n", "compatibility"},
	"compatibility-of-lists":   {"---\nname: pdf-forms\ndescription: x\ncompatibility: [a]\n---\n", "compatibility"},
}

func TestSkillsAreValidated(t *testing.T) {
	for name, test := range skillCases {
		s, err := ReadSkill("forms", map[string]string{SkillFile: test.content})
		switch {
		case test.problem == "" && (err != nil || s.Name != "pdf-forms" || s.Description == "" || s.ConfigMap != "forms"):
			t.Errorf("%s: %+v, %v", name, s, err)
		case test.problem != "" && (err == nil || !strings.Contains(err.Error(), test.problem)):
			t.Errorf("%s: %v, want an error with %q", name, err, test.problem)
		}
	}
	if _, err := ReadSkill("forms", map[string]string{"README.md": "x"}); err == nil || !strings.Contains(err.Error(), "SKILL.md is missing") {
		t.Errorf("without SKILL.md: %v", err)
	}
}

// The reference library of the Agent Skills format accepts and refuses the same skills.
func TestTheReferenceLibraryAgrees(t *testing.T) {
	root := t.TempDir()
	for name, test := range skillCases {
		dir := filepath.Join(root, name, "pdf-forms")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, SkillFile), []byte(test.content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	output := npm.Program{Dir: "skills-ref", Script: "validate.mjs", Args: []string{root}}.Output(t.Context(), t)
	var found map[string][]string
	if err := json.Unmarshal([]byte(output), &found); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	if len(found) != len(skillCases) {
		t.Errorf("%d of %d skills were checked", len(found), len(skillCases))
	}
	for name, problems := range found {
		if valid := skillCases[name].problem == ""; valid != (len(problems) == 0) {
			t.Errorf("%s: the reference library finds %q, want it valid: %v", name, problems, valid)
		}
	}
}

func TestFilesOfASkill(t *testing.T) {
	s, err := ReadSkill("forms", map[string]string{SkillFile: skillCases["valid"].content, "scripts__fill.py": "print()", "FORMS.md": "# Forms"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"FORMS.md", "scripts/fill.py"}, s.Files()); diff != "" {
		t.Error(diff)
	}
	for file, want := range map[string]string{
		"": skillCases["valid"].content, SkillFile: skillCases["valid"].content, "FORMS.md": "# Forms", "./FORMS.md": "# Forms", "scripts/fill.py": "print()", "scripts__fill.py": "print()",
	} {
		if got, ok := s.Text(file); !ok || got != want {
			t.Errorf("%q: %q, %v", file, got, ok)
		}
	}
	for _, file := range []string{"fill.py", "../FORMS.md", "/etc/passwd", "forms.md"} {
		if got, ok := s.Text(file); ok {
			t.Errorf("%q: %q", file, got)
		}
	}
}

func TestSampleSkillIsValid(t *testing.T) {
	content, err := os.ReadFile("../../config/samples/skills/release-notes/SKILL.md")
	if err != nil {
		t.Fatal(err)
	}
	if s, err := ReadSkill("sample", map[string]string{SkillFile: string(content)}); err != nil || s.Name != "release-notes" {
		t.Errorf("%+v, %v", s, err)
	}
}
