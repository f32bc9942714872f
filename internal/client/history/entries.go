// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"encoding/json"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
)

// entryDecoder reads a stream of JSON objects.
type entryDecoder struct{ decoder *json.Decoder }

func newEntryDecoder(in io.Reader) entryDecoder { return entryDecoder{json.NewDecoder(in)} }

// next reads the next entry. A server that fails while streaming sends a Status instead of an entry.
func (l entryDecoder) next(entry *historyv1.Entry) error {
	var raw json.RawMessage
	if err := l.decoder.Decode(&raw); err != nil {
		return err
	}
	var status metav1.Status
	if err := json.Unmarshal(raw, &status); err == nil && status.Kind == "Status" && status.Status == metav1.StatusFailure {
		return &apierrors.StatusError{ErrStatus: status}
	}
	return decode(raw, entry)
}

func decode(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("decode the response: %w", err)
	}
	return nil
}
