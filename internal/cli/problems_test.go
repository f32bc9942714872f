// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/nestor-dev/nestor/internal/health"
)

func TestProblemsArePrintedOnce(t *testing.T) {
	var out bytes.Buffer
	p := problemPrinter{s: &session{IOStreams: genericiooptions.IOStreams{ErrOut: &out}}}
	operator := health.Problem{Kind: health.Operator, Severity: health.Error, Message: "The operator does not run.", Todo: "Start\x1b[2J it."}
	waits := health.Problem{Kind: health.Provider, Severity: health.Error, Object: "AgentChat first", Message: "It waits.", Todo: "Wait."}
	slow := health.Problem{Kind: health.ToolServer, Severity: health.Warning, Object: "ToolServer box", Message: "It is not ready.", Todo: "Look."}
	for _, now := range [][]health.Problem{{operator, waits, slow}, {operator}, {slow}, nil} {
		p.print(now)
	}
	want := "problem: The operator does not run. Start␛[2J it.\nsolved: The operator does not run.\n"
	if got := out.String(); got != want {
		t.Errorf("printed\n%swant\n%s", got, want)
	}
	if lines := problemLines([]health.Problem{operator, waits, slow}); len(lines) != 2 {
		t.Errorf("the screen shows %q", lines)
	}
}
