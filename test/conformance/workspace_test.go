// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"net/http/httptest"
	"testing"

	"github.com/nestor-dev/nestor/internal/tool/workspace"
)

func TestWorkspace(t *testing.T) {
	const token = "0123456789abcdef0123456789abcdef"
	files, err := workspace.New(workspace.Options{Root: t.TempDir(), Token: token, Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(files.Handler())
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		files.Close()
	})
	RunServer(t, WithToken(t, server.URL+"/", token), "testdata/workspace.yaml")
}
