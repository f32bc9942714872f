// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package plainjson

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

func TestTextsRoundTripUnescaped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		data, err := Marshal(map[string]any{"text": text, "raw": json.RawMessage(`"<&>"`)})
		if err != nil {
			t.Fatal(err)
		}
		var back struct{ Text, Raw string }
		if err := json.Unmarshal(data, &back); err != nil || back.Text != text || back.Raw != "<&>" {
			t.Fatalf("%q came back as %q, %q (%v)", text, back.Text, back.Raw, err)
		}
	})
	if data, err := Marshal("<a & b>\n"); err != nil || string(data) != `"<a & b>\n"` {
		t.Errorf("encoded as %s (%v)", data, err)
	}
	if _, err := Marshal(func() {}); err == nil {
		t.Error("a function was encoded")
	}
}
