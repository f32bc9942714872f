// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package jsontext

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

func TestFind(t *testing.T) {
	server := &v1beta1.ToolServer{}
	server.Status.Tools = []v1beta1.ToolInfo{{Name: "a", Description: ` {"type": "object"}`}, {Name: "b", Description: "[1]"}, {Name: "c", Description: "{not JSON}"}}
	if found, err := Find(server); err != nil || len(found) != 2 {
		t.Errorf("found %q, %v", found, err)
	}
	agent := &v1beta1.SubAgent{}
	agent.Status.ToolCalls = []v1beta1.ToolCallStatus{{Result: `{"ok":true}`, Arguments: &runtime.RawExtension{Raw: []byte(`{"data":"{}"}`)}}}
	if found, err := Find(agent); err != nil || len(found) != 0 {
		t.Errorf("found %q in the text of a tool, %v", found, err)
	}
}
