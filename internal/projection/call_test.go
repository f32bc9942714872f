// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestLongArgumentsDoNotHideOthers(t *testing.T) {
	long := strings.Repeat("x", 8000)
	for _, arguments := range []string{
		`{"message":"` + long + `","changes":"nestor/x: 1 files"}`,
		`{"changes":"nestor/x: 1 files","message":"` + long + `"}`,
		`{"message":"` + strings.Repeat("é", 900) + `","more":["` + long + `"],"changes":"nestor/x: 1 files"}`,
	} {
		got := callText("publish_changes", arguments)
		if !strings.Contains(got, `"changes":"nestor/x: 1 files"`) || !strings.Contains(got, `"message":"`) || utf8.RuneCountInString(got) > maxWaitingText {
			t.Errorf("%d characters: %s", utf8.RuneCountInString(got), got)
		}
	}
}

func TestCallTextsFitAndShortOnesStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		arguments := rapid.String().Draw(t, "arguments")
		if rapid.Bool().Draw(t, "valid") {
			fields := map[string]string{}
			for range rapid.IntRange(0, 30).Draw(t, "fields") {
				fields[rapid.String().Draw(t, "name")] = rapid.StringN(0, 3000, -1).Draw(t, "value")
			}
			encoded, err := json.Marshal(fields)
			if err != nil {
				t.Fatal(err)
			}
			arguments = string(encoded)
		}
		got := callText("tool", arguments)
		if utf8.RuneCountInString(got) > maxWaitingText || !utf8.ValidString(got) {
			t.Fatalf("%d characters: %q", utf8.RuneCountInString(got), got)
		}
		if whole := "tool " + arguments; utf8.RuneCountInString(whole) <= maxWaitingText && utf8.ValidString(whole) && got != whole {
			t.Fatalf("got %q", got)
		}
	})
}
