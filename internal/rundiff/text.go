// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package rundiff

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/plainjson"
)

// canonical returns JSON with sorted keys and without spaces, so that equal arguments are equal texts. Other text stays as it is.
func canonical(arguments string) string {
	decoder := json.NewDecoder(strings.NewReader(arguments))
	decoder.UseNumber() // an integer above 2^53 keeps its digits
	var value any
	if err := decoder.Decode(&value); err != nil {
		return arguments
	}
	if _, err := decoder.Token(); err != io.EOF {
		return arguments
	}
	encoded, err := plainjson.Marshal(value)
	if err != nil {
		return arguments
	}
	return string(encoded)
}

// indented returns JSON with one value on a line.
func indented(arguments string) string {
	var out bytes.Buffer
	if json.Indent(&out, []byte(canonical(arguments)), "", "  ") != nil {
		return arguments
	}
	return out.String()
}

func imageText(images []historyv1.Image) string {
	var text strings.Builder
	for _, image := range images {
		fmt.Fprintf(&text, "\n(image %s)", image.Digest)
	}
	return text.String()
}

func outcomeText(o historyv1.Outcome) string {
	text := cmp.Or(o.Result, o.Summary)
	if o.ErrorKind != "" {
		text = strings.TrimSpace(o.ErrorKind + ": " + o.Error + "\n" + text)
	}
	if o.Data != nil {
		text += "\n" + canonical(string(o.Data.Raw))
	}
	return strings.TrimSpace(text)
}

// childNames replaces the names of the runs that an agent started, and of those below them, by their number.
type childNames map[string]string

func namesOf(run Run) childNames {
	names := childNames{}
	for _, e := range run.Entries {
		for _, child := range e.Children {
			if names[child.Name] == "" {
				names[child.Name] = fmt.Sprintf("(run %d)", len(names)+1)
			}
		}
	}
	return names
}

// objectName matches everything that may be the name of a run.
var objectName = regexp.MustCompile(`[a-z0-9]+(-[a-z0-9]+)+`)

func (c childNames) replaceIn(text string) string {
	if len(c) == 0 {
		return text
	}
	return objectName.ReplaceAllStringFunc(text, func(word string) string {
		for end := len(word); end > 0; end = strings.LastIndexByte(word[:end], '-') {
			if number := c[word[:end]]; number != "" {
				return number + word[end:]
			}
		}
		return word
	})
}
