// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"strings"
)

type rule struct {
	pattern *regexp.Regexp
	instead string
}

type passage struct {
	line  int
	text  string
	rules []rule
}

// phraseRules apply to all prose. A space in a pattern may be the end of a line of a comment.
var phraseRules = compile(`(?i)\b(`, `)\b`, `\s+(//\s*)?`, [][2]string{
	{`says? (whether|that|if)`, `"reports whether", or name what happens`},
	{`(says?|said) so`, `"reports it", or name the message`},
	{`(is|are|was|were|be) told`, `"receives", "is notified"`},
	{`(is|are|was|were|be) looked (at|for|up again)`, `"is read", "is reconciled", "is checked"`},
	{`looks? (at|again)`, `"reads", "checks", "reconciles"`},
	{`(goes|go|going|went|gone) on( with)?`, `"continues", "resumes"`},
	{`for good`, `"permanently", "finally"`},
	{`(somebody|nobody|anybody|everybody|whoever)( else)?`, `name the person or the component`},
	{`at work`, `"running", "active", "in flight"`},
	{`on (its|their) way`, `"in flight", "not yet recorded"`},
	{`(hear|hears|heard) (of|about|that|nothing)`, `"receives"`},
	{`com(es|ing) to (an|its) end`, `"ends"`},
	{`in (its|their) hands?`, `name the state`},
	{`believes?( in)?`, `"trusts", "confirms"`},
	{`finds? out`, `"detects", "reads", "computes"`},
	{`gives? (it |them )?back`, `"returns"`},
	{`(has|have) (the|a) say`, `"decides"`},
	{`(operator|engine|controller|server|cache|client|gateway|driver|ledger|replica) (knows?|hears?|tells?|wants?)`, `"has", "reads", "receives", "reports"`},
	{`also if`, `"even if"`},
	{`in place of`, `"instead of"`},
	{`rights`, `"permissions"`},
})

// subjectRules apply to the subject of a commit.
var subjectRules = compile(`(?m)^(`, `)$`, ` `, [][2]string{
	{`.{73,}`, `at most 72 characters`},
	{`[^:\n]+|[^a-z0-9.\n].*|[^:\n]+:[^ ].*`, `"area: what it does"`},
})

// nameRules apply to names in Go code, by their words: a name is "is Ready" for isReady.
var nameRules = compile(`(?i)\b(`, `)\b`, ` `, [][2]string{
	{`standstill|hindered|spoken|glimpse|deed`, `what it is in the words of the field`},
})

// testNameRules apply to the name of a test, by its words.
var testNameRules = compile(`(?i)^(`, `)$`, ` `, [][2]string{
	{`test( \S+){8,}`, `the subject and its condition, five words in the usual case`},
	{`test (that|what|who|those) .*`, `the subject and its condition`},
})

func compile(before, after, space string, list [][2]string) []rule {
	rules := make([]rule, len(list))
	for i, r := range list {
		rules[i] = rule{regexp.MustCompile(before + strings.ReplaceAll(r[0], " ", space) + after), r[1]}
	}
	return rules
}

// code matches code that Markdown and comments quote, which is not prose.
var code = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")

// blank replaces quoted code by spaces and keeps the lines.
func blank(text string) string {
	return code.ReplaceAllStringFunc(text, func(quoted string) string {
		return strings.Map(func(r rune) rune {
			if r == '\n' {
				return r
			}
			return ' '
		}, quoted)
	})
}
