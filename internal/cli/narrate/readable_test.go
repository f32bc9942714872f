// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package narrate

import (
	"bytes"
	"strings"
	"testing"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
)

func TestTranscriptsHaveNoEmptyLines(t *testing.T) {
	var out bytes.Buffer
	printer := NewTranscriptPrinter(terminal.Writer(&out, nil))
	for i, e := range []historyv1.Entry{
		{Kind: historyv1.EntryQuestion, Child: "first-2", Content: "Which year?", ToolCalls: []historyv1.ToolCall{{ID: "call-1", Phase: historyv1.ToolCallWaitingForUser}}},
		{Kind: historyv1.EntryAssistant},
		{Kind: historyv1.EntryAssistant, ToolCalls: []historyv1.ToolCall{{Tool: "write", Arguments: "{\n  \"content\": \"a\\n    b \\u0026 c\"}", Phase: historyv1.ToolCallRunning}}},
		{Kind: historyv1.EntryAssistant, Children: []historyv1.ChildRun{{Name: "first-1", Tool: "calculator"}}},
	} {
		e.Seq = int64(i + 1)
		printer.Print(e)
	}
	want := `first-2 asks  #1
  Which year?

assistant  #2
  (ended its turn without text)

assistant  #3
  → write {"content":"a\n    b & c"}

assistant  #4
  ▸ first-1 (calculator)
`
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
}

func TestRequestsForApprovalAreReadable(t *testing.T) {
	post := v1beta1.AgentMessage{Spec: v1beta1.AgentMessageSpec{Role: v1beta1.RoleAssistant, Content: "Agent Coder asks for approval of `bash`:\n{\"command\":\"make \\u0026\\u0026 make test\"}"}}
	post.Annotations = map[string]string{v1beta1.AnnotationCall: "call-1"}
	if got := strings.Join(messageLines(post), "\n"); !strings.Contains(got, `{"command":"make && make test"}`) {
		t.Errorf("printed as %s", got)
	}
	delete(post.Annotations, v1beta1.AnnotationCall)
	if got := strings.Join(messageLines(post), "\n"); !strings.Contains(got, `\u0026`) {
		t.Errorf("a text of the model was changed: %s", got)
	}
}
