// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Command fieldpaths checks that the fields which messages, help texts and pages name exist, such as
// spec.limits.maxDepth. It reads the files that its arguments name: the string literals of Go and TypeScript, Markdown
// and YAML. It exits with 1 if a field does not exist.
//
// A field must be one of the kind beside it ("spec.cancel of the AgentMessage"). Otherwise it must be one of a kind
// that the same sentence or command names, or of the kind that the file is about; if there is none, of any of Nestor's
// kinds.
package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "fieldpaths:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, files []string) error {
	known, err := readKinds()
	if err != nil {
		return err
	}
	wrong := 0
	for _, name := range files {
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for _, message := range known.checkFile(name, string(source)) {
			wrong++
			fmt.Fprintf(out, "%s:%s\n", name, message)
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d fields do not exist", wrong)
	}
	return nil
}

// checkFile returns "line: message" for each field of a file that does not exist.
func (k *kinds) checkFile(name, source string) (wrong []string) {
	for _, p := range passages(name, source) {
		for _, message := range k.check(p) {
			wrong = append(wrong, fmt.Sprintf("%d: %s", p.line, message))
		}
	}
	return wrong
}

// check returns a message for each field of a passage that does not exist.
func (k *kinds) check(p passage) (wrong []string) {
	for _, at := range path.FindAllStringSubmatchIndex(p.text, -1) {
		name := p.text[at[2]:at[3]]
		if strings.HasPrefix(p.text[at[3]:], "(") {
			name = name[:strings.LastIndex(name, ".")] // a call of a function in CEL
		}
		if kind := k.beside(p.text[:at[2]], p.text[at[3]:]); kind != "" {
			if !k.has(kind, name) {
				wrong = append(wrong, fmt.Sprintf("%s has no field %s", kind, name))
			}
			continue
		}
		if !slices.ContainsFunc(k.meant(p), func(kind string) bool { return k.has(kind, name) }) {
			wrong = append(wrong, fmt.Sprintf("%s has no field %s", strings.Join(k.meant(p), ", "), name))
		}
	}
	return wrong
}

// beside returns the kind that the text before or after a field attributes it to, or "".
func (k *kinds) beside(before, after string) string {
	if m := owner.FindStringSubmatch(after); m != nil && k.words[m[1]] != "" {
		return k.words[m[1]]
	}
	if m := with.FindStringSubmatch(before); m != nil && k.words[m[1]] != "" {
		return k.words[m[1]]
	}
	return ""
}

func (k *kinds) meant(p passage) (some []string) {
	if p.kind != "" {
		some = append(some, p.kind)
	}
	for _, w := range word.FindAllString(path.ReplaceAllString(p.text, " "), -1) {
		if kind := k.words[w]; kind != "" && (k.own[kind] != nil || p.command) {
			some = append(some, kind)
		}
	}
	if len(some) == 0 {
		for kind := range k.own {
			some = append(some, kind)
		}
	}
	slices.Sort(some)
	return slices.Compact(some)
}
