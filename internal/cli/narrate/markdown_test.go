// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package narrate

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
)

func TestTranscriptAsMarkdown(t *testing.T) {
	var out strings.Builder
	p := NewMarkdownPrinter(&out, "Chat first")
	p.Reasoning = true
	at := metav1.NewMicroTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	for _, e := range []historyv1.Entry{
		{Seq: 1, Kind: historyv1.EntryUser, User: "al_ice", Content: "Run *it*.\n", Time: at},
		{Kind: historyv1.EntryDelta, Delta: &historyv1.Delta{Text: "skipped"}},
		{Seq: 2, Kind: historyv1.EntryAssistant, Content: "Of course.", Reasoning: "Why not?", Time: at,
			ToolCalls: []historyv1.ToolCall{{ID: "c1", Tool: "bash", Arguments: `{"command":"a \u0026\u0026 b"}`, Phase: historyv1.ToolCallRunning}}},
		{Seq: 3, Kind: historyv1.EntryToolResult, Content: "```\nok\x1b[31m", ToolCalls: []historyv1.ToolCall{{ID: "c1", Tool: "bash", Phase: historyv1.ToolCallSuccess}}},
		{Seq: 4, Kind: historyv1.EntryAssistant, Outcome: &historyv1.Outcome{Summary: "Done.", Data: &runtime.RawExtension{Raw: []byte(`{"n":1}`)}}},
	} {
		p.Print(e)
	}
	want := `# Chat first

## al\_ice

<sub>#1 · 2026-01-02 03:04:05 UTC</sub>

Run *it*.

## assistant

<sub>#2 · 2026-01-02 03:04:05 UTC</sub>

<details><summary>Reasoning</summary>

~~~
Why not?
~~~

</details>

Of course.

**'bash'** running

~~~json
{"command":"a && b"}
~~~

## tool bash {"command":"a && b"}

<sub>#3</sub>

~~~~
~~~
ok␛[31m
~~~~

## assistant

<sub>#4</sub>

**Done:** Done.

~~~json
{"n":1}
~~~
`
	want = strings.NewReplacer("~", "`", "'", "`").Replace(want)
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
