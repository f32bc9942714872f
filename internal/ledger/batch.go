// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nestor-dev/nestor/internal/shard"
)

// Batch is one append of an agent: events, the intents of the effects that they cause, and the results of the effects that they
// report.
type Batch struct {
	Agent string
	Fence Fence
	// Create is the record of a new agent. It is set with the agent's first events and only then. Those of a fork follow the events of its
	// origin.
	Create *Agent
	// After is the sequence number of the last event that the writer has seen; the new events are numbered from After+1.
	After int64
	// Events may be empty, to record a late result that no longer matters to the state.
	Events []Event

	// ModelCalls and ToolCalls are intents: they are recorded before the effect is performed.
	ModelCalls []ModelCall
	ToolCalls  []ToolCall
	// ModelResults and ToolResults end calls whose intents are in the ledger or in this batch.
	ModelResults []ModelResult
	ToolResults  []ToolResult

	// Images are the images that the events of the batch refer to.
	Images []Image

	// Snapshot is the state after the last event of the batch; nil keeps the existing snapshot.
	Snapshot json.RawMessage
	// Update changes the agent's record together with the last event.
	Update *AgentUpdate
	Finish *Finish
}

// AgentUpdate contains the fields of an agent's record that may change, because the configuration of an orchestrator can be
// edited.
type AgentUpdate struct{ Role, RoleRevision, Provider, Model string }

type Finish struct {
	Status    Status
	ErrorKind string
	At        time.Time
}

// Size returns the approximate number of bytes that the batch writes.
func (b *Batch) Size() int {
	size := len(b.Snapshot)
	for i := range b.Events {
		size += len(b.Events[i].Data)
	}
	for i := range b.ModelCalls {
		size += len(b.ModelCalls[i].Request)
	}
	for i := range b.ModelResults {
		size += len(b.ModelResults[i].Response) + len(b.ModelResults[i].Sent)
	}
	for i := range b.ToolCalls {
		size += len(b.ToolCalls[i].Arguments)
	}
	for i := range b.ToolResults {
		size += len(b.ToolResults[i].Output)
	}
	for i := range b.Images {
		size += len(b.Images[i].Data)
	}
	return size
}

// AddedSize returns the approximate number of bytes by which the ledger grows: a snapshot replaces the previous one.
func (b *Batch) AddedSize() int { return b.Size() - len(b.Snapshot) }

// Validate returns an ErrInvalid for a batch that no ledger accepts.
func (b *Batch) Validate() error {
	if err := b.validateAgent(); err != nil {
		return err
	}
	if err := b.validateEvents(); err != nil {
		return err
	}
	if err := b.validateIntents(); err != nil {
		return err
	}
	return b.validateResults()
}

func (b *Batch) validateAgent() error {
	if b.Agent == "" {
		return invalidf("batch without an agent")
	}
	if b.After < 0 {
		return invalidf("agent %s: after %d: sequences start at 1", b.Agent, b.After)
	}
	if b.Finish != nil && (!b.Finish.Status.Final() || b.Finish.At.IsZero()) {
		return invalidf("agent %s: a finish needs a final status and a time", b.Agent)
	}
	if b.Update != nil && len(b.Events) == 0 {
		return invalidf("agent %s: an update of the record needs the events that caused it", b.Agent)
	}
	if b.Create == nil {
		return nil
	}
	if b.Create.UID != b.Agent {
		return invalidf("agent %s: the record belongs to agent %s", b.Agent, b.Create.UID)
	}
	if b.After != b.Create.OriginSeq || len(b.Events) == 0 {
		return invalidf("agent %s: a record must come with the first events of its agent", b.Agent)
	}
	if b.Create.OriginSeq < 0 || b.Create.Origin == b.Agent || b.Create.Origin == "" && b.Create.OriginSeq > 0 {
		return invalidf("agent %s: it cannot begin with %d events of agent %q", b.Agent, b.Create.OriginSeq, b.Create.Origin)
	}
	if b.Create.Root == "" || b.Create.CreatedAt.IsZero() {
		return invalidf("agent %s: a record needs a root and a creation time", b.Agent)
	}
	if hash := b.Create.ShardHash; hash < 0 || hash >= shard.Hashes {
		return invalidf("agent %s: %d is not the hash of a tree", b.Agent, hash)
	}
	return nil
}

func (b *Batch) validateEvents() error {
	for i := range b.Events {
		event := &b.Events[i]
		if event.Type == "" || event.At.IsZero() {
			return invalidf("agent %s: event %d needs a type and a time", b.Agent, b.After+int64(i)+1)
		}
		if !validJSON(event.Data) {
			return invalidf("agent %s: event %d (%s) is not JSON", b.Agent, b.After+int64(i)+1, event.Type)
		}
	}
	for i := range b.Images {
		if b.Images[i].Digest == "" || len(b.Events) == 0 {
			return invalidf("agent %s: an image needs a digest and an event that refers to it", b.Agent)
		}
	}
	if b.Snapshot != nil && !validJSON(b.Snapshot) {
		return invalidf("agent %s: the snapshot is not JSON", b.Agent)
	}
	return nil
}

func (b *Batch) validateIntents() error {
	for i := range b.ModelCalls {
		call := &b.ModelCalls[i]
		if err := b.checkIntent("model call", call.Key, call.StartedAt); err != nil {
			return err
		}
		if !validJSON(call.Request) {
			return invalidf("agent %s: the request of model call %s is not JSON", b.Agent, call.Key)
		}
		if call.Place < 0 || call.Chain < 0 || (call.Place > 0) != (call.Chain > 0 && call.Chain < call.Seq) {
			return invalidf("agent %s: model call %s of event %d is at place %d of chain %d", b.Agent, call.Key, call.Seq, call.Place, call.Chain)
		}
	}
	for i := range b.ToolCalls {
		if err := b.checkIntent("tool call", b.ToolCalls[i].Key, b.ToolCalls[i].StartedAt); err != nil {
			return err
		}
	}
	return nil
}

func (b *Batch) checkIntent(kind, key string, started time.Time) error {
	if key == "" || strings.HasPrefix(key, KeySeparator) || started.IsZero() {
		return invalidf("agent %s: %s %q needs a key, which begins with the agent, and a start", b.Agent, kind, key)
	}
	return nil
}

func (b *Batch) validateResults() error {
	for i := range b.ModelResults {
		result := &b.ModelResults[i]
		if err := b.checkResult("model call", result.Key, result.Status, result.FinishedAt); err != nil {
			return err
		}
		for _, data := range []json.RawMessage{result.Response, result.ToolCalls} {
			if data != nil && !validJSON(data) {
				return invalidf("agent %s: the response or the tool calls of model call %s are not JSON", b.Agent, result.Key)
			}
		}
	}
	for i := range b.ToolResults {
		result := &b.ToolResults[i]
		if err := b.checkResult("tool call", result.Key, result.Status, result.FinishedAt); err != nil {
			return err
		}
	}
	return nil
}

func (b *Batch) checkResult(kind, key string, status Status, finished time.Time) error {
	if key == "" || !status.Final() || finished.IsZero() {
		return invalidf("agent %s: the result of %s %q needs a key, a final status and an end", b.Agent, kind, key)
	}
	return nil
}

// validJSON reports whether data is JSON in UTF-8, which PostgreSQL requires and encoding/json does not.
func validJSON(data json.RawMessage) bool { return utf8.Valid(data) && json.Valid(data) }

func invalidf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}
