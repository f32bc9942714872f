// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/nestor-dev/nestor/internal/agent/budget"
	"github.com/nestor-dev/nestor/internal/plainjson"
)

// The versions of the JSON of events and states. A release with an incompatible change raises the version and still reads older ones.
const (
	eventVersion = 1
	stateVersion = 1
)

// envelope is the JSON form of an event.
type envelope struct {
	Version int             `json:"v"`
	Type    string          `json:"type"`
	At      Time            `json:"time"`
	Fact    json.RawMessage `json:"fact"`
	Usage   *budget.Amount  `json:"usage,omitempty"`
}

type outgoingEnvelope struct {
	Version int            `json:"v"`
	Type    string         `json:"type"`
	At      Time           `json:"time"`
	Fact    Fact           `json:"fact"`
	Usage   *budget.Amount `json:"usage,omitempty"`
}

// facts maps the type names in logs to the types of facts. A name is never reused for something else.
var facts = factTypes(
	Started{}, MessageArrived{}, ModelReplied{}, ModelFailed{}, ToolFinished{}, Decided{}, Answered{}, ChildFinished{}, ChildWaits{},
	Asked{}, AskResolved{}, Cancelled{}, Woke{}, Restarted{}, ItemSent{}, NameTaken{}, Resumed{},
	QuotaReached{}, QuotaGranted{}, StartPublished{}, Reconfigured{}, Quarantined{}, RemoteCancelled{}, ToolAsked{},
	Allowed{}, AllowanceRevoked{}, Judged{}, Forked{}, Recalled{},
)

func factTypes(examples ...Fact) map[string]reflect.Type {
	types := make(map[string]reflect.Type, len(examples))
	for _, f := range examples {
		types[FactType(f)] = reflect.TypeOf(f)
	}
	return types
}

// FactType returns the name of a fact's type in logs.
func FactType(f Fact) string {
	if f == nil {
		return ""
	}
	return reflect.TypeOf(f).Name()
}

func EncodeEvent(e Event) ([]byte, error) {
	data, err := plainjson.Marshal(outgoingEnvelope{Version: eventVersion, Type: FactType(e.Fact), At: e.At, Fact: e.Fact, Usage: e.Usage})
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", FactType(e.Fact), err)
	}
	return data, nil
}

func (e Event) MarshalJSON() ([]byte, error) { return EncodeEvent(e) }

// UnmarshalJSON decodes an event with its version.
func (e *Event) UnmarshalJSON(data []byte) error {
	var env envelope
	if err := json.Unmarshal(data, &env); err != nil {
		return fmt.Errorf("decode event: %w", err)
	}
	if env.Version < 1 || env.Version > eventVersion {
		return fmt.Errorf("event has version %d, this program reads 1 to %d: upgrade it", env.Version, eventVersion)
	}
	kind, ok := facts[env.Type]
	if !ok {
		return fmt.Errorf("event has unknown type %q", env.Type)
	}
	fact := reflect.New(kind)
	if len(env.Fact) > 0 {
		if err := json.Unmarshal(env.Fact, fact.Interface()); err != nil {
			return fmt.Errorf("decode %s: %w", env.Type, err)
		}
	}
	e.At, e.Usage = env.At, env.Usage
	e.Fact = fact.Elem().Interface().(Fact)
	return nil
}

// Snapshot is a state with its version, as stored in a ledger.
type Snapshot struct {
	Version int   `json:"v"`
	State   State `json:"state"`
}

func EncodeState(s State) ([]byte, error) {
	return plainjson.Marshal(Snapshot{Version: stateVersion, State: s})
}

func DecodeState(data []byte) (State, error) {
	var snapshot Snapshot
	if err := json.Unmarshal(data, &snapshot); err != nil {
		return State{}, fmt.Errorf("decode state: %w", err)
	}
	if snapshot.Version < 1 || snapshot.Version > stateVersion {
		return State{}, fmt.Errorf("state has version %d, this program reads 1 to %d: replay the events instead", snapshot.Version, stateVersion)
	}
	return snapshot.State.withFrame(), nil
}
