// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package statusobject

import "testing"

func TestOf(t *testing.T) {
	const maxBytes = 24
	for text, want := range map[string]string{
		`{}`:                               `{}`,
		"{\"b\": 1.5,\n \"a\": [7, null]}": `{"a":[7,null],"b":1.5}`,
		`{"a":"\u0026\u00e9"}`:             `{"a":"\u0026é"}`,
		`{"a":"<<"}`:                       `{"a":"\u003c\u003c"}`,
		`{"a":"<<<"}`:                      "", // 26 bytes when it is stored
		`{"a":"0123456789012345"}`:         `{"a":"0123456789012345"}`,
		`{"a":"01234567890123456"}`:        "",
		`{"a":1,"a":2}`:                    "",
		`{"a":{"b":1,"b":2}}`:              "",
		`null`:                             "",
		`[]`:                               "",
		`"{}"`:                             "",
		`{"a":1e999}`:                      "",
		`{`:                                "",
		``:                                 "",
		`{} {}`:                            "",
		"{\"a\":\"\xff\"}":                 "",
	} {
		got := ""
		if object := Of([]byte(text), maxBytes); object != nil {
			got = string(object.Raw)
		}
		if got != want {
			t.Errorf("Of(%s) is %q, want %q", text, got, want)
		}
	}
}
