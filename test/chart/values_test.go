// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/jsonpath"
)

// TestEveryValueHasAnEffect renders the chart without and with each value, and compares one field of one object. It
// needs no cluster.
func TestEveryValueHasAnEffect(t *testing.T) {
	helm := locate(t, "helm")
	for _, leaf := range documentedValues(t) {
		e, found := effects[leaf]
		t.Run(leaf, func(t *testing.T) {
			if !found {
				t.Fatal("no row of effects shows what this value does")
			}
			t.Parallel()
			before, after := e.look(t, helm, e.given), e.look(t, helm, append(e.given, e.set))
			if e.gone {
				before, after = after, before
			}
			if strings.Contains(before, e.shows) || !strings.Contains(after, e.shows) {
				t.Errorf("%s: %s of %s is %q without and %q with it; want %q in one of them", e.set, e.path, e.object, before, after, e.shows)
			}
		})
	}
	known := map[string]bool{}
	for _, leaf := range documentedValues(t) {
		known[leaf] = true
	}
	for leaf := range effects {
		if !known[leaf] {
			t.Errorf("effects has a row for %s, which is not in values.yaml", leaf)
		}
	}
}

type effect struct {
	// given are values that it needs, and set is the value itself.
	given []string
	set   string
	// object is a kind and a name, and path a JSONPath in it.
	object, path string
	// shows is text that the field contains with the value, or, if gone is set, without it.
	shows string
	gone  bool
}

// look returns the field with some values, or "" if there is no such object or field.
func (e effect) look(t *testing.T, helm string, values []string) string {
	t.Helper()
	args := []string{"template", "nestor", filepath.Join("charts", "nestor"), "--namespace", release}
	for _, value := range values {
		args = append(args, "--set", value)
	}
	text, err := run(t.Context(), helm, args...)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	kind, name, _ := strings.Cut(e.object, " ")
	object := find(objects, kind, name)
	if object == nil {
		return ""
	}
	return field(t, object, e.path)
}

func field(t *testing.T, object *unstructured.Unstructured, path string) string {
	t.Helper()
	query := jsonpath.New("field").AllowMissingKeys(true)
	if err := query.Parse("{" + path + "}"); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := query.Execute(&text, object.Object); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// documentedValues returns the paths of the values that values.yaml explains with "# --".
func documentedValues(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "charts", "nestor", "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	var leaves []string
	var visit func(string, *yaml.Node)
	visit = func(path string, node *yaml.Node) {
		for i := 0; i < len(node.Content); i += 2 {
			key, value := node.Content[i], node.Content[i+1]
			switch explained := strings.Contains(key.HeadComment, "# --"); {
			case explained:
				leaves = append(leaves, path+key.Value)
			case value.Kind == yaml.MappingNode:
				visit(path+key.Value+".", value)
			default:
				t.Errorf("%s%s needs a comment that begins with # --", path, key.Value)
			}
		}
	}
	visit("", document.Content[0])
	if len(leaves) < 50 {
		t.Fatalf("values.yaml explains only %d values", len(leaves))
	}
	return leaves
}

// locate returns the path of a pinned program in the Go tool's cache.
func locate(t *testing.T, name string) string {
	t.Helper()
	path, err := toolPath(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func toolPath(ctx context.Context, name string) (string, error) {
	modfile := "-modfile=" + filepath.Join("hack", "tools", "go.mod")
	build := exec.CommandContext(ctx, "go", "tool", modfile, name, "version")
	build.Dir = root
	if message, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w: %s", name, err, message)
	}
	find := exec.CommandContext(ctx, "go", "tool", modfile, "-n", name)
	find.Dir = root
	path, err := find.Output()
	return strings.TrimSpace(string(path)), err
}
