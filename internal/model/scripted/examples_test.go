// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/openai"
	"github.com/nestor-dev/nestor/internal/model/scripted"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// readRoles returns the role of each rule of a built-in script; nil stands for a rule without one.
func readRoles(t *testing.T, file string) (roles []any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var script struct {
		Rules []struct{ Match struct{ Role any } }
	}
	if err := yaml.Unmarshal(data, &script); err != nil {
		t.Fatal(err)
	}
	for _, rule := range script.Rules {
		if list, ok := rule.Match.Role.([]any); ok {
			roles = append(roles, list...)
			continue
		}
		roles = append(roles, rule.Match.Role)
	}
	return roles
}

const examplesScript = "scripts/examples.yaml"

// TestRolesOfExamples checks that the rules of the examples apply to roles that no other script has, so that they take
// no reply from it.
func TestRolesOfExamples(t *testing.T) {
	files, err := filepath.Glob("scripts/*.yaml")
	if err != nil || !slices.Contains(files, examplesScript) {
		t.Fatalf("found %v: %v", files, err)
	}
	roles := readRoles(t, examplesScript)
	if slices.Contains(roles, nil) {
		t.Errorf("a rule has no role: %v", roles)
	}
	for _, file := range files {
		for _, role := range readRoles(t, file) {
			if file != examplesScript && role != nil && slices.Contains(roles, role) {
				t.Errorf("%s also has the role %s", file, role)
			}
		}
	}
}

// TestExampleRolesDoOtherWork checks that the demo rejects other work in the roles of the examples.
func TestExampleRolesDoOtherWork(t *testing.T) {
	scripts, err := scripted.Demo()
	if err != nil {
		t.Fatal(err)
	}
	_, url := serve(t, scripted.Options{Scripts: scripts, NoDelay: true})
	client, err := openai.NewClient(wire.Endpoint{BaseURL: url + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range readRoles(t, examplesScript) {
		reply, err := client.Complete(t.Context(), model.Request{
			Model: "scripted",
			Messages: []model.Message{
				{Role: model.RoleSystem, Text: fmt.Sprintf("You are operating as a **%s** sub-agent", role)},
				{Role: model.RoleUser, Text: "Count the ships."},
			},
			Tools: []model.Tool{{Name: "submit_result"}, {Name: "submit_error"}},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(reply.ToolCalls) != 1 || reply.ToolCalls[0].Name != "submit_error" {
			t.Errorf("%s answers other work with %+v", role, reply)
		}
	}
}
