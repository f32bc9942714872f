// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
)

// FuzzEvents replays arbitrary logs, one JSON event per line. Nothing may panic, and invariants that do not depend on the events
// must hold.
func FuzzEvents(f *testing.F) {
	for _, name := range []string{"testdata/golden/log.jsonl", "testdata/golden/events.jsonl"} {
		log, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(log)
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		var s State
		for line := range bytes.Lines(log) {
			var e Event
			if json.Unmarshal(line, &e) != nil {
				continue
			}
			before := s.Phase
			next, effects := Step(s, e)
			if _, forks := e.Fact.(Forked); before.Terminal() && !forks && len(effects) > 0 {
				t.Fatalf("an agent that has ended has effects: %v", effects)
			}
			if c := next.Children; c.Pending() < 0 || c.Finished < s.Children.Finished {
				t.Fatalf("children: %+v", c)
			}
			for _, effect := range effects {
				_ = effect.String()
				if call, ok := effect.(CallModel); ok && len(s.History.Messages()) == 0 && call.Call == "" {
					t.Fatal("a call without an id")
				}
			}
			_ = BuildPrompt(next)
			_ = next.String()
			s = next
		}
		encoded, err := EncodeState(s)
		if err != nil {
			t.Fatalf("encode: %v", err)
		}
		decoded, err := DecodeState(encoded)
		if err != nil {
			t.Fatalf("decode: %v", err)
		}
		if encode(decoded) != encode(s) {
			t.Fatal("the state changes when it is encoded and decoded")
		}
	})
}
