// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"encoding/base64"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/tool"
)

const readerScript = `
name: looker
rules:
- match: {role: coder, turn: 1}
  reply: {toolCalls: [{name: read, arguments: {path: a.png}}, {name: ls, arguments: {path: .}}]}
- match: {role: coder, turn: 2, images: 2, lastMessage: Image result of tool call, toolResult: {tool: ls}}
  reply: {toolCalls: [{name: ls, arguments: {path: b}}]}
- match: {role: coder, turn: 2, history: images are not shown to you}
  reply: {toolCalls: [{name: submit_result, arguments: {result: I cannot see.}}]}
- match: {role: coder, turn: 3}
  reply: {toolCalls: [{name: submit_result, arguments: {result: I see.}}]}
- match: {role: orchestrator, from: user, turn: 1}
  reply: {toolCalls: [{name: read, arguments: {path: a.png}}]}
- match: {role: orchestrator, images: 2}
  reply: {text: I see it too.}
`

// imageTools is a toolbox whose read tool returns two images; other tools return text.
type imageTools struct {
	*toolbox
	picture []byte
}

func (e imageTools) Set(ctx context.Context, a ledger.Agent, name string) (tool.Set, error) {
	set, err := e.toolbox.Set(ctx, a, name)
	if err != nil || name != "read" {
		return set, err
	}
	made, err := tool.New(tool.Spec{Name: "read", ReadOnly: true}, func(context.Context, tool.Invocation) (tool.Output, error) {
		return tool.Output{Text: "two images", Images: []tool.Image{{MIMEType: "image/png", Data: e.picture}, {MIMEType: "image/png", Data: e.picture}}}, nil
	})
	if err != nil {
		return set, err
	}
	return tool.NewSet(made)
}

func newImageWorld(t *testing.T, prices model.Prices) (*world, []byte) {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 3, 3))); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, readerScript)
	w.crash()
	e := w.start(w.ledger)
	e.options.Tools = imageTools{w.tools, b.Bytes()}
	fixed := e.options.Models.(fixedModel)
	fixed.endpoint.Prices = prices
	e.options.Models = fixed
	return w, b.Bytes()
}

func TestImagesOfToolsReachModel(t *testing.T) {
	w, picture := newImageWorld(t, nil)
	w.task("task", func(c *agent.Config) { c.Role.Allow = []string{"*"} })
	if s := w.untilEnded("task"); s.Outcome.Result.Brief() != "I see." {
		t.Fatalf("it ended with %s:\n%v", s.Outcome, s.History.Messages())
	}
	encoded := base64.StdEncoding.EncodeToString(picture)
	sent := w.model.Requests()
	if n := strings.Count(string(sent[len(sent)-1].Body), encoded); n != 2 {
		t.Errorf("the last request contains the image %d times, want 2", n)
	}
	// The ledger stores the image once; everything else refers to it.
	calls, err := w.ledger.ModelCalls(t.Context(), ledger.CallFilter{Agent: "uid-task"}, ledger.Page{})
	if err != nil {
		t.Fatal(err)
	}
	for _, listed := range calls.Items {
		call, err := w.ledger.ModelCall(t.Context(), listed.Key)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(call.Request), encoded) {
			t.Errorf("the recorded request %s contains the image itself", call.Key)
		}
	}
	history, err := w.ledger.Load(t.Context(), "uid-task")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range history.Events {
		if strings.Contains(string(e.Data), encoded) {
			t.Errorf("event %d contains the image itself", e.Seq)
		}
	}
	checkReplay(t, w, "uid-task")
}

func TestOrchestratorToolImagesReachModel(t *testing.T) {
	w, _ := newImageWorld(t, nil)
	w.chat(nil)
	w.sendMessage("m1", "Look")
	w.until("the answer", func() bool { return len(w.posts) == 1 && strings.Contains(w.posts[0], "I see it too.") })
	w.untilEnded("chat-1")
}

func TestTextOnlyModelReadsImageDescriptions(t *testing.T) {
	w, picture := newImageWorld(t, model.Prices{{Name: "scripted", TextOnly: true}})
	w.task("task", func(c *agent.Config) { c.Role.Allow = []string{"*"} })
	if s := w.untilEnded("task"); s.Outcome.Result.Brief() != "I cannot see." {
		t.Fatalf("it ended with %s:\n%v", s.Outcome, s.History.Messages())
	}
	for _, r := range w.model.Requests() {
		if strings.Contains(string(r.Body), base64.StdEncoding.EncodeToString(picture)) {
			t.Error("the image was sent")
		}
	}
}
