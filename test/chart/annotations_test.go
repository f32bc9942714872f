// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/yaml"

	"github.com/nestor-dev/nestor/config/crd"
)

// TestArtifactHubListsAllKinds compares the kinds that Artifact Hub shows with the definitions.
func TestArtifactHubListsAllKinds(t *testing.T) {
	type kind struct{ Kind, Version, Name string }
	data, err := os.ReadFile("../../charts/nestor/Chart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var chart struct{ Annotations map[string]string }
	if err := yaml.Unmarshal(data, &chart); err != nil {
		t.Fatal(err)
	}
	var listed, defined []kind
	if err := yaml.Unmarshal([]byte(chart.Annotations["artifacthub.io/crds"]), &listed); err != nil {
		t.Fatal(err)
	}
	definitions, err := crd.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range definitions {
		defined = append(defined, kind{d.Spec.Names.Kind, d.Spec.Versions[0].Name, d.Name})
	}
	if diff := cmp.Diff(defined, listed, cmpopts.SortSlices(func(a, b kind) bool { return a.Name < b.Name })); diff != "" {
		t.Errorf("artifacthub.io/crds (-defined +listed):\n%s", diff)
	}
}
