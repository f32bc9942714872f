// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model"
)

const attachmentScript = `
name: attachments
rules:
- match: {role: orchestrator, from: user, turn: 1, images: 1}
  reply: {toolCalls: [{name: delegate_to_agent, arguments: {role: coder, task: Draw it.}}]}
- match: {role: orchestrator, from: user, turn: 1, history: images are not shown to you}
  reply: {text: I cannot see it.}
- match: {role: orchestrator}
  reply: {text: Understood.}
- match: {role: coder, turn: 1}
  reply: {toolCalls: [{name: ask_user, arguments: {question: "Which one?"}}]}
- match: {role: coder, turn: 2, images: 1}
  reply: {toolCalls: [{name: submit_result, arguments: {result: I see the answer.}}]}
`

func attach(picture []byte) (agent.Image, ledger.Image) {
	digest := ImageDigest(picture)
	return agent.Image{Digest: digest, MediaType: "image/png", Size: int64(len(picture)), Name: "a.png"}, ledger.Image{Digest: digest, MediaType: "image/png", Data: picture}
}

func newAttachmentWorld(t *testing.T, prices model.Prices) (*world, []byte) {
	t.Helper()
	_, picture := newImageWorld(t, nil)
	w := newWorld(t, attachmentScript)
	w.crash()
	w.prices = prices
	w.start(w.ledger)
	return w, picture
}

// An attached image reaches the model of the orchestrator, an answer's image that of the agent that asked, even
// after crashes; the ledger stores it once.
func TestAttachedImagesReachTheModels(t *testing.T) {
	w, picture := newAttachmentWorld(t, nil)
	ref, stored := attach(picture)
	w.chat(nil)
	if err := w.engine.Record(t.Context(), "uid-chat", agent.MessageArrived{Message: "m1", Text: "Like this.", Images: []agent.Image{ref}}, stored); err != nil {
		t.Fatal(err)
	}
	w.untilPosted("Which one?")
	w.restart()
	reply := agent.MessageArrived{Message: "m2", Text: "This.", Answers: "chat-1", Images: []agent.Image{ref}}
	if err := w.current().Record(t.Context(), "uid-chat", reply, stored); err != nil {
		t.Fatal(err)
	}
	if s := w.untilEnded("chat-1"); s.Outcome.Result.Brief() != "I see the answer." {
		t.Fatalf("it ended with %s:\n%v", s.Outcome, s.History.Messages())
	}
	for _, uid := range []string{"uid-chat", "uid-chat-1"} {
		image, err := w.ledger.ImageOf(t.Context(), uid, ref.Digest)
		if err != nil || string(image.Data) != string(picture) {
			t.Errorf("the image of %s is %d bytes (%v)", uid, len(image.Data), err)
		}
		history, err := w.ledger.Load(t.Context(), uid)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range history.Events {
			if strings.Contains(string(e.Data), base64.StdEncoding.EncodeToString(picture)) {
				t.Errorf("event %d of %s contains the image itself", e.Seq, uid)
			}
		}
	}
	checkReplay(t, w, "uid-chat-1") // the chat may still be active
}

func TestTextModelGetsImageDescription(t *testing.T) {
	w, picture := newAttachmentWorld(t, model.Prices{{Name: "scripted", TextOnly: true}})
	ref, stored := attach(picture)
	w.chat(nil)
	if err := w.engine.Record(t.Context(), "uid-chat", agent.MessageArrived{Message: "m1", Text: "Like this.", Images: []agent.Image{ref}}, stored); err != nil {
		t.Fatal(err)
	}
	w.untilPosted("I cannot see it.")
}
