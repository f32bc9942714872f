// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/model/scripted"
)

func TestScriptsAreValid(t *testing.T) {
	if _, err := scripted.Parse("chaos.yaml", []byte(script(30*time.Millisecond))); err != nil {
		t.Error(err)
	}
	for kind := range modelFaults {
		if _, err := scripted.Parse("failing.yaml", []byte(failingScript(kind, 3))); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
