// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package doors

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestOpenAIClient(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.Expect(r.npm("openai.mjs")).To(Equal("ok\n"))
	r.Expect(r.box.files()).To(ConsistOf("notes-1.2", "notes-1.3"))
	// Two releases, two greetings, one continued run, one in the background, one with a key, one without a role and one that gave up: no retry started another.
	r.Expect(r.tasks()).To(HaveLen(9))
}
