// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestChartsHaveTheVersion compares what states a version with the file VERSION.
func TestChartsHaveTheVersion(t *testing.T) {
	version := strings.TrimSuffix(content(t, "VERSION"), "\n")
	for _, chart := range []string{"nestor", "nestor-crds"} {
		var metadata struct {
			Version    string `json:"version"`
			AppVersion string `json:"appVersion"`
		}
		if err := yaml.Unmarshal([]byte(content(t, "charts/"+chart+"/Chart.yaml")), &metadata); err != nil {
			t.Fatal(err)
		}
		if metadata.Version != version || metadata.AppVersion != version {
			t.Errorf("chart %s: %+v, but VERSION is %s", chart, metadata, version)
		}
	}
	if !strings.Contains(content(t, "CHANGELOG.md"), "\n## "+version+"\n") {
		t.Errorf("CHANGELOG.md has no section %s", version)
	}
}

// content returns a file of the repository.
func content(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
