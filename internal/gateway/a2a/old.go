// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/nestor-dev/nestor/internal/gateway"
)

// oldCard is an agent card with the address in the field where clients of A2A 0.3 expect it. They then send a request
// and receive an error with the reason.
type oldCard struct {
	*a2a.AgentCard
	URL       string `json:"url"`
	Transport string `json:"preferredTransport"`
	Version   string `json:"protocolVersion"`
}

func newOldCard(card *a2a.AgentCard, url string) oldCard {
	return oldCard{card, url, string(a2a.TransportProtocolJSONRPC), string(a2a.Version)}
}

// codeVersion is the code of the error VersionNotSupported in JSON-RPC.
const codeVersion = -32009

// refuseOldMethod responds to a request of a client of A2A 0.3, whose methods have a slash, and reports whether it
// did. Otherwise the body can still be read.
func refuseOldMethod(w http.ResponseWriter, r *http.Request) bool {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	var request struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if err != nil || json.Unmarshal(body, &request) != nil || !strings.Contains(request.Method, "/") {
		return false
	}
	code := http.StatusOK
	if strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		code = http.StatusBadRequest // after 200, the client expects events
	}
	gateway.WriteJSON(w, code, map[string]any{"jsonrpc": "2.0", "id": request.ID, "error": map[string]any{
		"code": codeVersion,
		"message": "this agent serves A2A " + string(a2a.Version) + ", and " + request.Method +
			" is a method of A2A 0.3: use a client of A2A 1.0",
	}})
	return true
}
