// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	historyapi "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
)

func kindTypes() map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for _, object := range []any{
		v1beta1.AgentChat{}, v1beta1.AgentMessage{}, v1beta1.AgentTask{}, v1beta1.SubAgent{}, v1beta1.AgentRole{}, v1beta1.ModelProvider{},
		v1beta1.ToolServer{}, v1beta1.AgentTrigger{}, v1beta1.AgentQuota{}, v1beta1.ToolPolicy{}, v1beta1.AgentEvaluation{},
		historyapi.Transcript{}, historyapi.ModelCall{}, historyapi.Usage{}, historyapi.WorkspaceChanges{}, historyapi.WorkspaceFile{},
	} {
		types[reflect.TypeOf(object).Name()] = reflect.TypeOf(object)
	}
	return types
}

// hasField reports whether a type has the field of a path such as status.waiting[].startTime.
func hasField(kind reflect.Type, path string) bool {
	for step := range strings.SplitSeq(path, ".") {
		name, list := strings.CutSuffix(step, "[]")
		field, found := findField(kind, name)
		if !found {
			return false
		}
		kind = field
		if list {
			kind = kind.Elem()
		}
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
	}
	return true
}

func findField(kind reflect.Type, name string) (reflect.Type, bool) {
	if kind.Kind() != reflect.Struct {
		return nil, false
	}
	for _, field := range reflect.VisibleFields(kind) {
		if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag == name {
			if field.Type.Kind() == reflect.Pointer {
				return field.Type.Elem(), true
			}
			return field.Type, true
		}
	}
	return nil, false
}

// Programs read the table of names: the old path of each field must no longer exist, and the new one must exist.
func TestNamesOfV1beta1(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/v1beta1.md")
	if err != nil {
		t.Fatal(err)
	}
	kinds, fields, old := kindTypes(), 0, map[string]bool{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 7 || strings.HasPrefix(cells[1], "-") || strings.TrimSpace(cells[1]) == "Old" {
			continue
		}
		for i, cell := range cells {
			cells[i] = strings.TrimSpace(cell)
		}
		before, after, what, reason := strings.Trim(cells[1], "`"), strings.Trim(cells[2], "`"), cells[4], cells[5]
		if key := cells[3] + " " + what + " " + before; old[key] || before == "" && after == "" || reason == "" {
			t.Errorf("a duplicate row, or one without names or a reason: %s", line)
		} else {
			old[key] = before != ""
		}
		if what != "field" {
			continue
		}
		for name := range strings.SplitSeq(cells[3], ", ") {
			fields++
			switch kind := kinds[name]; {
			case kind == nil:
				t.Errorf("there is no kind %s: %s", name, line)
			case before != "" && hasField(kind, before):
				t.Errorf("%s still has %s", name, before)
			case after != "" && !hasField(kind, after):
				t.Errorf("%s has no %s", name, after)
			}
		}
	}
	if fields < 30 {
		t.Errorf("the table has %d fields: it was not read", fields)
	}
}
