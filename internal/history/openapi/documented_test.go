// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openapi_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/nestor-dev/nestor/internal/history/openapi"
)

// TestEveryFieldIsDocumented checks the descriptions for kubectl explain.
func TestEveryFieldIsDocumented(t *testing.T) {
	given := []string{"kind", "apiVersion", "metadata", "items"} // Kubernetes describes these
	kinds := 0
	for name, definition := range openapi.GetOpenAPIDefinitions(func(path string) spec.Ref { return spec.MustCreateRef(path) }) {
		if !strings.HasPrefix(name, "dev.nestor.history.") {
			continue
		}
		kinds++
		if definition.Schema.Description == "" {
			t.Errorf("%s is not documented", name)
		}
		checkLength(t, name, definition.Schema.Description)
		for field, property := range definition.Schema.Properties {
			if !slices.Contains(given, field) {
				checkLength(t, name+"."+field, property.Description)
			}
			if slices.Contains(given, field) && property.Description == "" || strings.HasPrefix(property.Description, field+" ") {
				continue
			}
			if !slices.Contains(given, field) {
				t.Errorf("%s.%s: the description %q should begin with the field's name", name, field, property.Description)
			}
		}
	}
	if kinds < 15 {
		t.Errorf("found %d types of the history", kinds)
	}
}

var sentenceEnd = regexp.MustCompile(`[.!?]["')]?(\s|$)`)

func checkLength(t *testing.T, place, description string) {
	t.Helper()
	description, _, _ = strings.Cut(description, "\n\nPossible enum values:") // the generator adds them
	if n := len(sentenceEnd.FindAllString(description, -1)); n > 2 {
		t.Errorf("kubectl explain of %s has %d sentences, want at most two: move the rest to docs", place, n)
	}
}
