// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// body is a request as the engine encodes it.
type body struct {
	Model    string   `json:"model"`
	Messages []string `json:"messages"`
	Tools    []string `json:"tools,omitempty"`
	Key      string   `json:"idempotencyKey,omitempty"`
}

func (b body) encode() json.RawMessage {
	data, err := json.Marshal(b)
	if err != nil {
		panic(err) // Encoding strings cannot fail.
	}
	return data
}

func TestRebuildRestoresEveryRequest(t *testing.T) {
	words := rapid.StringOf(rapid.SampledFrom([]rune(`ab"\<>]},é` + "\n\u2028")))
	rapid.Check(t, func(t *rapid.T) {
		b := body{Model: words.Draw(t, "model"), Tools: rapid.SliceOfN(words, 0, 3).Draw(t, "tools")}
		if rapid.Bool().Draw(t, "begun") {
			b.Messages = []string{"system"}
		}
		whole := b.encode()
		chain := []json.RawMessage{whole}
		for i := range rapid.IntRange(1, 8).Draw(t, "turns") {
			b.Messages = append(b.Messages, rapid.SliceOfN(words, 0, 3).Draw(t, "new")...)
			b.Key = fmt.Sprintf("é%d%s", i, words.Draw(t, "key"))
			if rapid.IntRange(0, 5).Draw(t, "edited") == 0 {
				b.Tools = rapid.SliceOfN(words, 0, 3).Draw(t, "tools")
			}
			next := b.encode()
			edit, ok := ledger.Compare(whole, next)
			if ok {
				chain = append(chain, edit.Encode())
			} else {
				chain = []json.RawMessage{next}
			}
			whole = next
			rebuilt, err := ledger.Rebuild(chain)
			if err != nil || !bytes.Equal(rebuilt, whole) {
				t.Fatalf("rebuilt %s (%v), want %s", rebuilt, err, whole)
			}
		}
	})
}

func TestEditSizeIsThatOfTheNewMessages(t *testing.T) {
	b := body{Model: "m", Messages: []string{"system", string(bytes.Repeat([]byte("x"), 10_000))}, Tools: []string{string(bytes.Repeat([]byte("t"), 5000))}, Key: "a/1"}
	before := b.encode()
	b.Messages, b.Key = append(b.Messages, "new"), "a/2"
	edit, ok := ledger.Compare(before, b.encode())
	if size := len(edit.Encode()); !ok || size > 80 {
		t.Errorf("an edit that adds one word has %d bytes: %s", size, edit.Encode())
	}
}

func TestUnrelatedRequestIsNoEdit(t *testing.T) {
	before := body{Messages: []string{"system", "one"}}.encode()
	for name, next := range map[string]json.RawMessage{
		"other words": body{Messages: []string{"system", "two"}}.encode(), "fewer": body{Messages: []string{"system"}}.encode(),
		"other model": body{Model: "x", Messages: []string{"system", "one"}}.encode(), "no object": json.RawMessage(`[]`), "no messages": json.RawMessage(`{"a":1}`),
		"no list": json.RawMessage(`{"model":"","messages":null}`), "not JSON": json.RawMessage(`{`),
	} {
		if edit, ok := ledger.Compare(before, next); ok {
			t.Errorf("%s: %s", name, edit.Encode())
		}
	}
}

func TestBrokenChainIsAnError(t *testing.T) {
	whole := json.RawMessage(`{"messages":[]}`)
	for _, edit := range []string{`[[0,99]]`, `[[5,2]]`, `[[-1,2]]`, `{}`, `[{"add":1}]`, `[3]`, `null2`} {
		if got, err := ledger.Rebuild([]json.RawMessage{whole, json.RawMessage(edit)}); !errors.Is(err, ledger.ErrBrokenChain) {
			t.Errorf("%s rebuilds to %s (%v), want ErrBrokenChain", edit, got, err)
		}
	}
	if _, err := ledger.Rebuild(nil); !errors.Is(err, ledger.ErrBrokenChain) {
		t.Errorf("an empty chain: %v", err)
	}
}
