// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"testing"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

func TestPropertiesOfModels(t *testing.T) {
	yes, no := true, false
	var provider v1beta1.ModelProvider
	provider.Spec.Models = []v1beta1.ModelInfo{{Name: "a"}, {Name: "b", SupportsImages: &yes, SupportsReasoning: &yes}, {Name: "c", SupportsImages: &no}, {Name: "d", SupportsReasoning: &no}}
	for i, want := range []struct{ textOnly, noReasoning bool }{{false, false}, {false, false}, {true, false}, {false, true}} {
		if got := Prices(&provider)[i]; got.TextOnly != want.textOnly || got.NoReasoning != want.noReasoning {
			t.Errorf("model %s: %+v, want %+v", got.Name, got, want)
		}
	}
}
