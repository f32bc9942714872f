// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package doors

import (
	"testing"

	"github.com/nestor-dev/nestor/test/conformance"
)

// TestConformanceOfMCP runs the conformance suite of MCP against the gateway.
func TestConformanceOfMCP(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	conformance.RunServer(t, conformance.WithToken(t, r.GatewayURL+"/mcp/"+r.Namespace, r.token), "testdata/conformance.yaml")
}
