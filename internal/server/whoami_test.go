// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/api/v1alpha1"
)

func TestThePageIsToldTheDefaultWorkspace(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	sample := &v1alpha1.Workspace{Directory: &v1alpha1.DirectorySource{Path: "/home/alice/sample"}}
	with := New(Options{Identity: Tokens(u.config, false), Workspace: sample})
	if got := ask(t, with, http.MethodGet, whoamiPath, nil); !strings.Contains(got.Body.String(), `"defaultWorkspace":{"directory":{"path":"/home/alice/sample"}}`) {
		t.Errorf("got %s", got.Body)
	}
	if got := ask(t, u.tokenSite(), http.MethodGet, whoamiPath, nil); got.Code != http.StatusOK || strings.Contains(got.Body.String(), "defaultWorkspace") {
		t.Errorf("without one, got %d %s", got.Code, got.Body)
	}
}
