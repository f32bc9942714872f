// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/scripted"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// testBodyDigest compares the recorded digest with the body that the provider received last, with and without a
// failure.
func testBodyDigest(t *testing.T, s Subject) {
	for name, script := range map[string]string{
		"answered": Reply("text: Three."), "failed": Reply("error: {status: 500, message: No.}"),
	} {
		t.Run(name, func(t *testing.T) {
			p := s.play(t, script, scripted.Options{})
			req := Question()
			sent := model.NewSent(req)
			_, err := p.client(t, wire.Endpoint{}).Complete(model.WithSent(t.Context(), sent), req, nil)
			if (err != nil) != (name == "failed") {
				t.Fatal(err)
			}
			requests := p.requests()
			sum := sha256.Sum256(requests[len(requests)-1].body)
			if want := hex.EncodeToString(sum[:]); sent.BodyDigest != want || len(requests[len(requests)-1].body) == 0 {
				t.Errorf("digest %q, want %q", sent.BodyDigest, want)
			}
		})
	}
}
