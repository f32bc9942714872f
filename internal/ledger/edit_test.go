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
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
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
			edit, ok := ledgertest.Compare(whole, next)
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
