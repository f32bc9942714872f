// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/tool/mcp"
)

// marking adds a field to a server's responses that the SDK's servers do not support.
type marking struct{ support map[string]string }

func (m marking) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(request)
	if err == nil {
		response.Body = &marked{ReadCloser: response.Body, lines: map[string]string{}}
		for name, support := range m.support {
			response.Body.(*marked).lines[`"name":"`+name+`"`] = `"execution":{"taskSupport":"` + support + `"},"name":"` + name + `"`
		}
		response.ContentLength = -1
	}
	return response, err
}

// marked replaces texts in a body. Each message of the test server arrives in a single read.
type marked struct {
	io.ReadCloser
	lines map[string]string
	rest  []byte
}

func (m *marked) Read(p []byte) (int, error) {
	if len(m.rest) == 0 {
		buffer := make([]byte, 1<<16)
		n, err := m.ReadCloser.Read(buffer)
		if n == 0 {
			return 0, err
		}
		text := string(buffer[:n])
		for from, to := range m.lines {
			text = strings.ReplaceAll(text, from, to)
		}
		m.rest = []byte(text)
	}
	n := copy(p, m.rest)
	m.rest = bytes.Clone(m.rest[n:])
	return n, nil
}

func TestTaskOnlyToolsAreOmitted(t *testing.T) {
	for _, transport := range []mcp.Transport{mcp.StreamableHTTP, mcp.SSE} {
		t.Run(string(transport), func(t *testing.T) {
			server := lab(
				addTool(sdk.Tool{Name: "plain"}, answer(text("plain"))),
				addTool(sdk.Tool{Name: "either"}, answer(text("either"))),
				addTool(sdk.Tool{Name: "research"}, answer(text("never"))),
			)
			options := mcp.Options{HTTP: marking{map[string]string{"either": "optional", "research": "required"}}}
			session := makeClient(t, options).connect(t, describe(makeHost(t, transport, server), transport))
			if diff := cmp.Diff([]string{"lab__either", "lab__plain"}, session.Tools().Names()); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
			if message := session.Status().Message; !strings.Contains(message, "research: it can only run as an MCP task") {
				t.Errorf("the status says %q", message)
			}
		})
	}
}
