// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"

	"github.com/nestor-dev/nestor/internal/diagnose"
)

const (
	root   = "../.."
	matrix = "docs/reference/kubernetes.md"
)

func TestChartsNameTheFloor(t *testing.T) {
	want := ">=" + floor(t).String() + "-0"
	for _, chart := range []string{"nestor", "nestor-crds"} {
		var metadata struct{ KubeVersion string }
		if err := yaml.Unmarshal(read(t, "charts/"+chart+"/Chart.yaml"), &metadata); err != nil {
			t.Fatal(err)
		}
		if metadata.KubeVersion != want {
			t.Errorf("%s: kubeVersion is %q, and %s makes it %q", chart, metadata.KubeVersion, matrix, want)
		}
	}
}

// named matches a sentence that names the oldest release, as in "Kubernetes 1.32 or newer".
var named = regexp.MustCompile(`(?:Kubernetes )?\b(1\.\d\d) or (?:newer|later)`)

func TestPagesNameTheFloor(t *testing.T) {
	want := strings.TrimSuffix(floor(t).String(), ".0")
	found := 0
	for _, name := range pages(t) {
		for _, match := range named.FindAllStringSubmatch(string(read(t, name)), -1) {
			found++
			if match[1] != want {
				t.Errorf("%s: %q, but the oldest release in %s is %s", name, match[0], matrix, want)
			}
		}
	}
	if diagnose.OldestKubernetes != want {
		t.Errorf("kubectl nestor doctor accepts %s, but %s has %s", diagnose.OldestKubernetes, matrix, want)
	}
	if found < 3 {
		t.Errorf("only %d pages name the oldest release", found)
	}
}

func TestNewestIsTestedAlways(t *testing.T) {
	control := regexp.MustCompile(`(?m)^\tk8s\.io/kubernetes v(\S+)`).FindSubmatch(read(t, "hack/controlplane/go.mod"))
	all := releases(t)
	if newest := all[len(all)-1].String(); control == nil || newest != string(control[1]) {
		t.Errorf("the newest release in %s is %s, but make control-plane installs %s: test both", matrix, newest, control)
	}
}

// row matches a release in the table.
var row = regexp.MustCompile(`(?m)^\| (1\.\d+\.\d+) \|`)

// releases are those of the table, the oldest first.
func releases(t *testing.T) (all []*version.Version) {
	t.Helper()
	for _, match := range row.FindAllSubmatch(read(t, matrix), -1) {
		all = append(all, version.MustParseSemantic(string(match[1])))
	}
	if len(all) < 2 {
		t.Fatalf("%s has no table of releases", matrix)
	}
	slices.SortFunc(all, func(a, b *version.Version) int {
		order, _ := a.Compare(b.String()) // both were parsed
		return order
	})
	return all
}

func floor(t *testing.T) *version.Version {
	t.Helper()
	return releases(t)[0]
}

func pages(t *testing.T) []string {
	t.Helper()
	names := []string{"README.md", "charts/nestor/README.md"}
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range found {
			names = append(names, strings.TrimPrefix(filepath.ToSlash(name), root+"/"))
		}
	}
	return names
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
