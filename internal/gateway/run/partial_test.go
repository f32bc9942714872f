// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"
)

// failer is a test or a check of a property.
type failer interface {
	Fatalf(format string, args ...any)
}

// feed adds arguments byte by byte. What is read must grow, be a beginning of the result at each step, and be all of
// it at the end.
func feed(t failer, arguments, result string) {
	var p partialResult
	got := ""
	for i := range len(arguments) {
		next := p.add(arguments[i : i+1])
		if !strings.HasPrefix(next, got) || !strings.HasPrefix(result, next) {
			t.Fatalf("after %q: read %q, then %q; the result is %q", arguments[:i+1], got, next, result)
		}
		got = next
	}
	if got != result {
		t.Fatalf("%q: read %q, want %q", arguments, got, result)
	}
}

func TestPartialResultOfArguments(t *testing.T) {
	for _, tc := range []struct{ name, arguments, result string }{
		{"plain", `{"result":"Done."}`, "Done."},
		{"empty", `{"result":""}`, ""},
		{"spaces", "{ \"result\" :\n \"Done.\" }", "Done."},
		{"escapes", `{"result":"a\"b\\c\/d\n\t\u00e9\\"}`, "a\"b\\c/d\n\té\\"},
		{"characters of several bytes", `{"result":"é €  😀"}`, "é €  😀"},
		{"surrogate pair", `{"result":"\ud83d\ude00!\uD83D\uDE00"}`, "😀!😀"},
		{"half a pair", `{"result":"\ud83dabc\u00e9\n"}`, "\ufffdabcé\n"},
		{"half a pair before an escape", `{"result":"\ud83d\n\ud83d\\u00e9"}`, "\ufffd\n\ufffd\\u00e9"},
		{"half a pair before a pair", `{"result":"\ud83d\ud83d\ude00"}`, "\ufffd😀"},
		{"half a pair before another character", `{"result":"\ud83d\u00e9"}`, "\ufffdé"},
		{"half a pair at the end", `{"result":"a\ud83d"}`, "a\ufffd"},
		{"second half only", `{"result":"\ude00a"}`, "\ufffda"},
		{"not first", `{"summary":"the \"result\": \"no\"","list":[1,{"result":"no"}],"n":12,"result":"yes","result2":"no"}`, "yes"},
		{"in another object", `{"details":{"result":"no"}}`, ""},
		{"no text", `{"result":12,"summary":"no"}`, ""},
		{"an object", `{"result":{"result":"no"}}`, ""},
		{"no object", `["result","no"]`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) { feed(t, tc.arguments, tc.result) })
	}
}

// encode returns a JSON string in one of its forms: each character as it is, or escaped.
func encode(t *rapid.T, text string) string {
	var b strings.Builder
	for _, r := range text {
		if rapid.Bool().Draw(t, "escaped") {
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
			continue
		}
		plain, err := json.Marshal(string(r))
		if err != nil {
			t.Fatalf("encode %q: %v", r, err)
		}
		b.Write(plain[1 : len(plain)-1])
	}
	return `"` + b.String() + `"`
}

func TestPartialResultIsPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		result := rapid.StringN(0, 20, -1).Draw(t, "result")
		fields := []string{`"result":` + encode(t, result)}
		if rapid.Bool().Draw(t, "before") {
			fields = append([]string{`"summary":` + encode(t, rapid.StringN(0, 10, -1).Draw(t, "summary"))}, fields...)
		}
		if rapid.Bool().Draw(t, "after") {
			fields = append(fields, `"details":{"result":`+encode(t, rapid.StringN(0, 10, -1).Draw(t, "details"))+`}`)
		}
		feed(t, "{"+strings.Join(fields, ",")+"}", result)
	})
}

// TestPartialResultAgreesWithJSON also has halves of surrogate pairs in any order.
func TestPartialResultAgreesWithJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{`\ud83d`, `\uDE00`, `\u00e9`, `\n`, `\\`, `\"`, "u", "00", "é", "😀"}), 0, 12).Draw(t, "pieces")
		arguments := `{"result":"` + strings.Join(pieces, "") + `"}`
		var whole struct{ Result string }
		if err := json.Unmarshal([]byte(arguments), &whole); err != nil {
			t.Fatalf("%s: %v", arguments, err)
		}
		feed(t, arguments, whole.Result)
	})
}
