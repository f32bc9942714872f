// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

var (
	declaredFlag = regexp.MustCompile(`(?m)set\.\w+\((?:[^"]*, )?"([a-z0-9-]+)", `)
	limitingFlag = regexp.MustCompile(`(^|-)(max|quota|qps|writes)(-|$)`)
)

// copyOthers are the kinds whose limits are copies of those of other kinds.
var copyOthers = []string{"SubAgent", "AgentTrigger"}

// TestEveryLimitIsInTable compares the table of limits with the fields of the API and the flags of the programs.
func TestEveryLimitIsInTable(t *testing.T) {
	got, want := map[string]bool{}, map[string]bool{}
	for _, row := range limitRows(t) {
		limit, owner := strings.Trim(row[0], "` "), row[1]
		if strings.HasPrefix(limit, "--") {
			got[limit] = true
			continue
		}
		for kind := range strings.SplitSeq(owner, ",") {
			kind, _, _ = strings.Cut(strings.TrimSpace(kind), " ")
			got[kind+" "+limit] = true
		}
	}
	for kind, schema := range readFields(t) {
		if !slices.Contains(copyOthers, kind) {
			addLimits(kind, schema.Properties["spec"], want)
		}
	}
	for _, flag := range limitingFlags(t) {
		want[flag] = true
	}
	for limit := range want {
		if !got[limit] {
			t.Errorf("the table in docs/reference/limits.md lacks %s", limit)
		}
	}
	for limit := range got {
		if !want[limit] {
			t.Errorf("docs/reference/limits.md has %s, which does not exist", limit)
		}
	}
}

// addLimits adds the fields below a schema that begin with max.
func addLimits(kind string, schema apiextensionsv1.JSONSchemaProps, limits map[string]bool) {
	for name, field := range schema.Properties {
		if strings.HasPrefix(name, "max") {
			limits[kind+" "+name] = true
		}
		addLimits(kind, field, limits)
		if field.Items != nil {
			addLimits(kind, *field.Items.Schema, limits)
		}
	}
}

// limitingFlags returns the flags of the operator and the gateway that limit something.
func limitingFlags(t *testing.T) []string {
	t.Helper()
	var flags []string
	for _, program := range []string{"nestor-operator", "nestor-gateway"} {
		files, err := filepath.Glob(filepath.Join(root, "cmd", program, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range declaredFlag.FindAllSubmatch(text, -1) {
				if limitingFlag.Match(found[1]) {
					flags = append(flags, "--"+string(found[1]))
				}
			}
		}
	}
	if len(flags) < 5 {
		t.Fatalf("only the flags %q limit something: this test does not find the others", flags)
	}
	return flags
}

// limitRows returns the cells of the table of limits. Every cell but "starts again" has text.
func limitRows(t *testing.T) [][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "reference", "limits.md"))
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if len(cells) != 7 || slices.Contains(cells[:5], "") || cells[6] == "" {
			t.Errorf("an incomplete row: %s", line)
			continue
		}
		rows = append(rows, cells)
	}
	return rows
}
