// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestEventsKeepTheirEstimate(t *testing.T) {
	for _, want := range []Estimate{EstimatePieces, EstimateBytes} {
		data, err := json.Marshal(Event{At: 1, Fact: Woke{}, Estimate: want})
		if err != nil {
			t.Fatal(err)
		}
		var read Event
		if err := json.Unmarshal(data, &read); err != nil {
			t.Fatal(err)
		}
		if read.Estimate != want {
			t.Errorf("decoding %s gives the estimate %v, want %v", data, read.Estimate, want)
		}
	}
}

// Version 1 events contain the generation of their estimator.
func TestVersion1EventsCarryTheirEstimate(t *testing.T) {
	for data, want := range map[string]Estimate{
		`{"v":1,"type":"Woke","at":1,"fact":{}}`: EstimateBytes, `{"v":1,"type":"Woke","at":1,"tokens":1,"fact":{}}`: EstimatePieces,
		`{"v":2,"type":"Woke","at":1,"fact":{}}`: EstimatePieces,
	} {
		var read Event
		if err := json.Unmarshal([]byte(data), &read); err != nil || read.Estimate != want {
			t.Errorf("decoding %s gives the estimate %v (%v), want %v", data, read.Estimate, err, want)
		}
	}
}

// The history of this log needs a compaction by the new estimate, but not by the old one. The replay must make the call that was
// recorded, or the next reply would be treated as a summary.
func TestReplayUsesTheRecordedEstimate(t *testing.T) {
	config := Config{Kind: SubAgent, Name: "a", Depth: 1, MaxDepth: 1, Role: Role{Name: "coder"},
		Limits: Limits{ContextTokens: 14_000, MaxOutputTokens: 1000}}
	history := []Message{
		{Speaker: User, Text: strings.Repeat("東京", 3000)}, {Speaker: Assistant, Text: "yes"},
		{Speaker: User, Text: strings.Repeat("東京", 1000)}, {Speaker: Assistant, Text: "yes"},
	}
	purpose := func(estimate Estimate) Purpose {
		s, _ := Step(State{}, Event{At: 1, Fact: Started{Config: config, History: history}, Estimate: estimate})
		return s.ModelCall.Purpose
	}
	if got := purpose(EstimateBytes); got != PurposeTurn {
		t.Errorf("with the old estimate, the first call has the purpose %s", got)
	}
	if got := purpose(EstimatePieces); got != PurposeCompact {
		t.Errorf("with the new estimate, the first call has the purpose %s", got)
	}
}
