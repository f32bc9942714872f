// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package words_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/words"
)

func TestWordsOfText(t *testing.T) {
	for text, want := range map[string][]string{
		"":                            nil,
		"... --- !!!":                 nil,
		"Deploy the API-server, v1.2": {"deploy", "the", "api", "server", "v1", "2"},
		"Crème brûlée, CRE\u0300ME":   {"creme", "brulee", "creme"},
		"Straße ΑΘΉΝΑ":                {"straße", "αθηνα"},
		"東京タワーはどこ":                    {"東京", "京タ", "タワ", "ワー", "ーは", "はど", "どこ", "こ"},
		"go言語":                        {"go", "言語", "語"},
		"हिन्दी":                      {"हिन्दी"},
		"a\x00b\xff c":                {"a", "b", "c"},
		strings.Repeat("x", 100):      {strings.Repeat("x", 40)},
		"ﬁnd it":                      {"find", "it"},
	} {
		var got []string
		for w := range words.Of(text) {
			got = append(got, w.Text)
			if w.Start < 0 || w.End > len(text) || w.Start >= w.End {
				t.Errorf("%q: word %q is at %d to %d", text, w.Text, w.Start, w.End)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("words of %q (-want +got):\n%s", text, diff)
		}
	}
}

func TestQueryTerms(t *testing.T) {
	for text, want := range map[string][]words.Term{
		`" * ( ) : ^`:         nil,
		`NEAR("a b", 2) OR *`: {{"near", true}, {"a", false}, {"b", false}, {"2", false}, {"or", false}},
		"Deploy deploy":       {{"deploy", true}},
		"東京タ":                 {{"東京", true}, {"京タ", true}},
		"東":                   {{"東", true}},
	} {
		if diff := cmp.Diff(want, words.Query(text)); diff != "" {
			t.Errorf("query %q (-want +got):\n%s", text, diff)
		}
	}
	if n := len(words.Query(strings.Join(words.Distinct("a b c d e f g h i j k l m n o p q r s t"), " "))); n != 16 {
		t.Errorf("a query of 20 words has %d terms, want 16", n)
	}
}

func TestExcerptMarksMatches(t *testing.T) {
	for _, c := range []struct {
		text, query, want string
	}{
		{"The server\n\n  is down. Restart it.", "serv down", "The [server] is [down]. Restart it."},
		{strings.Repeat("word ", 40) + "needle " + strings.Repeat("word ", 60), "needle", "…" + strings.Repeat("word ", 12) + "[needle] word"},
		{"first alone, " + strings.Repeat("- ", 200) + "first second", "first second", "- [first] [second]"},
		{"我在東京タワー", "東京タワー", "我在[東京タワー]"},
		{"nothing here", "absent", ""},
		{"Crème", "creme", "[Crème]"},
	} {
		var got strings.Builder
		for _, p := range words.Excerpt(c.text, words.Query(c.query), 200) {
			if p.Match {
				got.WriteString("[" + p.Text + "]")
				continue
			}
			got.WriteString(p.Text)
		}
		if !strings.Contains(got.String(), c.want) || (c.want == "") != (got.Len() == 0) {
			t.Errorf("excerpt of %.30q for %q is %q, want %q", c.text, c.query, got.String(), c.want)
		}
	}
}

func FuzzExcerpt(f *testing.F) {
	f.Add("The server is down", "serv")
	f.Add("東京タワー\xff", "京タ \"")
	f.Fuzz(func(t *testing.T, text, query string) {
		terms := words.Query(query)
		found := len(words.Excerpt(text, terms, 200)) > 0
		want := false
		for _, term := range terms {
			for w := range words.Of(text) {
				want = want || term.Matches(w.Text)
			}
		}
		if found != want {
			t.Errorf("excerpt of %q for %q: found %t, want %t", text, query, found, want)
		}
	})
}
