// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package toolserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/nestor-dev/nestor/internal/tool/mcp"
)

// maxSchemas bounds the schemas in a status, from the API.
const maxSchemas = 24576

// schemasOf returns the schemas of the tools as a JSON object of ASCII characters: the size of the status is bounded in bytes, and no
// character of a server can look like something else. Schemas that do not fit are left out.
func schemasOf(known mcp.Status) string {
	var all strings.Builder
	for _, t := range known.Tools[:min(len(known.Tools), maxTools)] {
		if len(t.Schema) == 0 {
			continue
		}
		one, err := json.Marshal(map[string]json.RawMessage{t.Name: t.Schema})
		if err != nil {
			continue
		}
		member := asciiJSON(string(one[1 : len(one)-1]))
		if all.Len()+len(member)+len("{}") > maxSchemas {
			continue
		}
		if all.Len() > 0 {
			all.WriteByte(',')
		}
		all.WriteString(member)
	}
	if all.Len() == 0 {
		return ""
	}
	return "{" + all.String() + "}"
}

// asciiJSON escapes the characters of JSON outside of printable ASCII, which are only in its strings.
func asciiJSON(text string) string {
	var escaped strings.Builder
	for _, r := range text {
		switch {
		case r < 0x7f:
			escaped.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&escaped, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&escaped, `\u%04x`, r)
		}
	}
	return escaped.String()
}
