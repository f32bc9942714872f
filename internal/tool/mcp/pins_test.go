// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/tool/mcp"
)

// TestPinsAreCached: every call needs the offered tools, so pins are evaluated again only
// if they or the tools changed.
func TestPinsAreCached(t *testing.T) {
	server := lab(addTool(sdk.Tool{Name: "act"}, answer(text("done"))))
	c := makeClient(t, mcp.Options{})
	session := c.connect(t, describe(makeHost(t, mcp.StreamableHTTP, server), mcp.StreamableHTTP))
	read := 0
	offered := func(version string) []string {
		t.Helper()
		set, err := session.OfferedAt(version, func() mcp.Pins {
			read++
			pins := mcp.Pins{}
			for _, listed := range session.Status().Tools {
				pins[listed.Pin] = mcp.Pin{Digest: listed.Digest}
			}
			return pins
		})
		if err != nil {
			t.Fatal(err)
		}
		return set.Names()
	}
	for range 3 {
		if diff := cmp.Diff([]string{"lab__act"}, offered("1")); diff != "" || read != 1 {
			t.Fatalf("after %d reads (-want +got):\n%s", read, diff)
		}
	}
	offered("2")
	addTool(sdk.Tool{Name: "more"}, answer(text("more")))(server)
	c.waitFor(t, session, func(s mcp.Status) bool { return len(s.Tools) == 2 })
	if diff := cmp.Diff([]string{"lab__act", "lab__more"}, offered("2")); diff != "" || read != 3 {
		t.Errorf("after %d reads (-want +got):\n%s", read, diff)
	}
}
