// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package role

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/nestor-dev/nestor/internal/tool"
)

func emptyRole(context.Context, tool.Invocation) (tool.Output, error) { return tool.Output{}, nil }

func TestOverlayKeepsOmittedFields(t *testing.T) {
	base := builtIn(t, "coder")
	got := base.Overlay(Role{Model: "big-model", Tools: &Tools{Allow: []string{}}, Limits: Limits{MaxIterations: 5}})
	want := base
	want.Model = "big-model"
	want.Tools = &Tools{Allow: []string{}}
	want.Limits.MaxIterations = 5
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(base, base.Overlay(Role{})); diff != "" {
		t.Errorf("an empty overlay changes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(base, Role{}.Overlay(base)); diff != "" {
		t.Errorf("an overlay of nothing (-want +got):\n%s", diff)
	}
}

func TestOverlayWithNewDescriptionDropsDelegateWhen(t *testing.T) {
	got := builtIn(t, "coder").Overlay(Role{Description: "Writes poems."})
	if len(got.DelegateWhen) > 0 {
		t.Errorf("a role with a new description still has the delegation advice %v", got.DelegateWhen)
	}
}

// The sample assigns the models of the design's table to the built-in roles.
func TestSampleOverlay(t *testing.T) {
	want := map[string]string{
		"orchestrator": "qwen/qwen3-coder-30b",
		"coder":        "qwen/qwen3-coder-30b",
		"tester":       "deepseek-chat",
		"reviewer":     "anthropic/claude-opus-4.5",
		"planner":      "deepseek-reasoner",
		"debugger":     "qwen/qwen3-coder-30b",
	}
	paths, err := filepath.Glob("../../config/samples/roles-with-models/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(path) == "kustomization.yaml" {
			checkKustomization(t, string(content), paths)
			continue
		}
		var object struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Metadata   struct {
				Name string `json:"name"`
			} `json:"metadata"`
			Spec Role `json:"spec"`
		}
		if err := yaml.UnmarshalStrict(content, &object); err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if object.APIVersion != "nestor.dev/v1alpha1" || object.Kind != "AgentRole" || object.Spec.Name != "" || object.Spec.DelegateWhen != nil {
			t.Errorf("%s is %+v", path, object)
		}
		got[object.Metadata.Name] = object.Spec.Model
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("models (-want +got):\n%s", diff)
	}
}

func checkKustomization(t *testing.T, content string, paths []string) {
	t.Helper()
	for _, path := range paths {
		if base := filepath.Base(path); base != "kustomization.yaml" && !strings.Contains(content, "- "+base+"\n") {
			t.Errorf("kustomization.yaml does not list %s", base)
		}
	}
}
