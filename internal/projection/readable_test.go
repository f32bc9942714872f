// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/agent"
)

func TestConditionShowsArgumentsWithoutEscapes(t *testing.T) {
	call := agent.ToolCall{ID: "c1", Tool: "bash", Arguments: `{"command":"make \u0026\u0026 make test"}`}
	_, task := shown(Work{}, play(subAgent(), replies("", call)("m1")))
	if message := task.Status.Conditions[0].Message; !strings.Contains(message, "make && make test") {
		t.Errorf("the condition says %q", message)
	}
	w := task.Status.Waiting
	if w == nil || w.Tool != "bash" || w.Arguments == nil || string(w.Arguments.Raw) != call.Arguments || w.ArgumentsDigest != agent.CallDigest("bash", call.Arguments) {
		t.Errorf("waiting is %+v", w)
	}
}
