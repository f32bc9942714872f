// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
)

func TestAnUnreachableClusterIsExplained(t *testing.T) {
	refused := errors.New("dial tcp: connection refused")
	for server, want := range map[string]string{
		"https://10.0.0.1:6443/apis/nestor.dev": "the cluster at https://10.0.0.1:6443 cannot be reached (dial tcp: connection refused): start it, or select another one with --context",
		"http://localhost:8080/api":             "no cluster is configured (dial tcp: connection refused): set KUBECONFIG or use --kubeconfig",
	} {
		if got := explain(&url.Error{Op: "Get", URL: server, Err: refused}).Error(); !strings.HasPrefix(got, want+"; `kubectl nestor doctor`") {
			t.Errorf("%s: %s", server, got)
		}
	}
	interrupted := &url.Error{Op: "Get", URL: "https://10.0.0.1:6443/", Err: context.Canceled}
	if got := explain(interrupted); !errors.Is(got, error(interrupted)) || got.Error() != interrupted.Error() {
		t.Errorf("Ctrl-C is explained as %v", got)
	}
}
