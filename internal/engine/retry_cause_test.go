// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"net/http"
	"testing"
)

// The cause of a retry and the provider's message are part of the state while the call waits.
func TestRetryCauseIsStored(t *testing.T) {
	limited := newProvider(t, http.StatusTooManyRequests, `{"error":{"message":"Slow down.","code":"rate_limit_exceeded"}}`)
	w := newWorld(t)
	w.crash()
	w.url = limited.url
	w.start(w.ledger)
	w.chat(nil)
	w.sendMessage("m1", "hello")
	w.until("the call to wait for a retry", func() bool {
		s, err := w.engine.View(t.Context(), "uid-chat")
		return err == nil && s.ModelCall != nil && s.ModelCall.RetryTime > 0 && s.ModelCall.Cause == "RateLimited" && s.ModelCall.ProviderMessage == "Slow down."
	})
}
