// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/nestor-dev/nestor/internal/cli"
)

func TestReferenceIsCurrent(t *testing.T) {
	want := reference(cli.NewCommand(genericiooptions.NewTestIOStreamsDiscard(), nil))
	got, err := os.ReadFile("../../docs/reference/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("run make generate: %s", diff)
	}
}
