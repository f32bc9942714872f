// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"text/template"

	"sigs.k8s.io/yaml"
)

// TestKrewManifestIsValid fills in the manifest as a release does, and checks it against krew's rules.
func TestKrewManifestIsValid(t *testing.T) {
	data, err := os.ReadFile("../../hack/krew/nestor.yaml")
	if err != nil {
		t.Fatal(err)
	}
	functions := template.FuncMap{"addURIAndSha": func(uri, tag string) string {
		return fmt.Sprintf("uri: %s\n    sha256: %s", strings.ReplaceAll(uri, "{{ .TagName }}", tag), strings.Repeat("a", 64))
	}}
	parsed, err := template.New("krew").Funcs(functions).Parse(string(data))
	if err != nil {
		t.Fatal(err)
	}
	var filled bytes.Buffer
	if err := parsed.Execute(&filled, map[string]string{"TagName": "v0.1.0"}); err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Metadata   map[string]string `json:"metadata"`
		Spec       struct {
			Version          string `json:"version"`
			Homepage         string `json:"homepage"`
			ShortDescription string `json:"shortDescription"`
			Description      string `json:"description"`
			Caveats          string `json:"caveats"`
			Platforms        []struct {
				Selector map[string]any `json:"selector"`
				URI      string         `json:"uri"`
				SHA256   string         `json:"sha256"`
				Bin      string         `json:"bin"`
			} `json:"platforms"`
		} `json:"spec"`
	}
	if err := yaml.UnmarshalStrict(filled.Bytes(), &manifest); err != nil {
		t.Fatalf("%v\n%s", err, filled.String())
	}
	if manifest.Kind != "Plugin" || manifest.Metadata["name"] != "nestor" || !regexp.MustCompile(`^v\d+\.\d+\.\d+$`).MatchString(manifest.Spec.Version) {
		t.Errorf("the manifest is not that of the plugin nestor: %+v", manifest)
	}
	if short := manifest.Spec.ShortDescription; len(short) > 50 || strings.HasSuffix(short, ".") {
		t.Errorf("krew requires a short description of at most 50 characters without a period, got %q", short)
	}
	if len(manifest.Spec.Platforms) == 0 {
		t.Error("the manifest has no platforms")
	}
	for _, p := range manifest.Spec.Platforms {
		if p.Bin != program || !strings.HasPrefix(p.URI, "https://") || len(p.SHA256) != 64 || p.Selector["matchLabels"] == nil {
			t.Errorf("a platform is incomplete: %+v", p)
		}
	}
}
