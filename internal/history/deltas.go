// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/history/live"
	"github.com/nestor-dev/nestor/internal/model"
)

// writeDeltas writes the new deltas of a reply, unless the complete reply was already written.
func (s *stream) writeDeltas(out *json.Encoder, update live.Update) error {
	s.call = update.Call
	name, ok := modelCallName(update.Call)
	if !s.deltas || !ok || name == s.completedCall {
		return nil
	}
	for i, piece := range update.Deltas {
		delta := deltaOf(piece)
		delta.Lost = update.Truncated && i == len(update.Deltas)-1
		entry := api.Entry{
			Seq: s.cursor.Seq(), Time: metav1.NewMicroTime(time.Now()), Kind: api.EntryDelta, ModelCall: name, Delta: &delta,
		}
		if err := out.Encode(entry); err != nil {
			return err
		}
	}
	return nil
}

// deltaOf converts a delta for readers; a refusal becomes text.
func deltaOf(p model.Delta) api.Delta {
	delta := api.Delta{Text: p.Text + p.Refusal, Reasoning: p.Reasoning}
	if p.ToolCall != nil {
		delta.ToolCall = &api.ToolCallDelta{Index: int32(p.ToolCall.Index), Tool: p.ToolCall.Name, Arguments: p.ToolCall.Arguments}
	}
	return delta
}
