// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/engine"
)

func TestArmedPointKillsAtCount(t *testing.T) {
	deaths := 0
	hook, err := parse("after-append:2", func() { deaths++ })
	if err != nil {
		t.Fatal(err)
	}
	for i, point := range []engine.Point{engine.AfterAppend, engine.AfterIntent, engine.BeforeStatus, engine.AfterEffect} {
		if hook(point); deaths != 0 {
			t.Fatalf("died at %s, the point number %d", point, i)
		}
	}
	if hook(engine.AfterAppend); deaths != 1 {
		t.Errorf("%d deaths at the second time, want 1", deaths)
	}
}

func TestNothingIsArmedByDefault(t *testing.T) {
	hook, err := parse("", nil)
	if hook != nil || err != nil {
		t.Errorf("got a hook (error %v)", err)
	}
}

func TestInvalidSettingsAreErrors(t *testing.T) {
	for value, want := range map[string]string{
		"after-lunch:1":  "must be one of [after-intent after-effect after-append before-status after-record after-create after-claim after-release after-trial after-verdict after-revision]",
		"after-append":   "must be a number from 1",
		"after-append:0": "must be a number from 1",
	} {
		if _, err := parse(value, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", value, err, want)
		}
	}
}
