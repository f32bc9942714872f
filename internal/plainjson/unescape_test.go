// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package plainjson

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

func TestUnescapeChangesOnlyTheForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{`\`, "u0026", "&", "<", ">", `\u003e`, `"`, "x"})).Draw(t, "parts")
		text := ""
		for _, part := range parts {
			text += part
		}
		escaped, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		want, err := Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := Unescape(escaped); string(got) != string(want) {
			t.Fatalf("%s became %s, want %s", escaped, got, want)
		}
	})
	for given, want := range map[string]string{`"\u003C\u003E"`: `"<>"`, `"a\\u0026"`: `"a\\u0026"`, `"\u00e4"`: `"\u00e4"`, `\`: `\`, `"\u00`: `"\u00`} {
		if got := string(Unescape([]byte(given))); got != want {
			t.Errorf("%s became %s, want %s", given, got, want)
		}
	}
}
