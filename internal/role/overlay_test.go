// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package role

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/tool"
)

func emptyRole(context.Context, tool.Invocation) (tool.Output, error) { return tool.Output{}, nil }

func TestOverlayKeepsOmittedFields(t *testing.T) {
	base := builtIn(t, "coder")
	got := base.Overlay(Role{AgentRoleSpec: v1beta1.AgentRoleSpec{
		Model: "big-model", Tools: &v1beta1.RoleTools{Allow: []string{}}, Limits: &v1beta1.RoleLimits{MaxIterations: 5},
	}})
	want := builtIn(t, "coder")
	want.Model = "big-model"
	want.Tools = &v1beta1.RoleTools{Allow: []string{}}
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

func TestOverlayDescriptionDropsDelegateWhen(t *testing.T) {
	got := builtIn(t, "coder").Overlay(Role{AgentRoleSpec: v1beta1.AgentRoleSpec{Description: "Writes poems."}})
	if len(got.DelegateWhen) > 0 {
		t.Errorf("a role with a new description still has the delegation advice %v", got.DelegateWhen)
	}
}

// A field that is added to the spec must be added to Overlay, unless agents do not need it.
func TestOverlayTakesEveryField(t *testing.T) {
	var over Role
	fields := reflect.ValueOf(&over.AgentRoleSpec).Elem()
	for i := range fields.NumField() {
		switch field := fields.Field(i); field.Kind() {
		case reflect.Pointer:
			field.Set(reflect.New(field.Type().Elem()))
		case reflect.Slice:
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Int32:
			field.SetInt(1)
		default:
			field.SetString("set")
		}
	}
	over.SystemPromptFrom, over.AllowedNamespaces, over.Promotion = nil, nil, nil
	if diff := cmp.Diff(over, Role{}.Overlay(over)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	over.SystemPromptFrom, over.AllowedNamespaces, over.Promotion = &v1beta1.PromptSource{}, &v1beta1.AllowedNamespaces{}, &v1beta1.RolePromotion{}
	if got := (Role{}).Overlay(over); got.SystemPromptFrom != nil || got.AllowedNamespaces != nil || got.Promotion != nil {
		t.Errorf("an overlay keeps %v, %v and %v", got.SystemPromptFrom, got.AllowedNamespaces, got.Promotion)
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
		if object.APIVersion != "nestor.dev/v1beta1" || object.Kind != "AgentRole" || object.Spec.Name != "" || object.Spec.DelegateWhen != nil {
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

// TestSamplesReplaceNothing: applying and deleting the samples leaves the roles and the provider of a namespace as they were.
func TestSamplesReplaceNothing(t *testing.T) {
	paths, err := filepath.Glob("../../config/samples/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var object metav1.PartialObjectMetadata
		if err := yaml.Unmarshal(content, &object); err != nil {
			t.Fatal(path, err)
		}
		if _, builtIn := BuiltIn(object.Name); object.Kind == "AgentRole" && builtIn {
			t.Errorf("%s replaces the built-in role %s", path, object.Name)
		}
		if object.Kind == "ModelProvider" && object.Name == "default" {
			t.Errorf("%s replaces the default provider", path)
		}
	}
}
