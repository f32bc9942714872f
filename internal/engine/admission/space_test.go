// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// What is appended while the sizes are read is not lost, although the reading may have come before it.
func TestAppendDuringReadingCounts(t *testing.T) {
	s := newSpace(worldQuota)
	alice := tenant{"alice", "uid"}
	s.beginReading()
	s.add(alice, worldQuota)
	s.set([]ledger.NamespaceBytes{{Namespace: "alice", UID: "uid", Bytes: 10}}, time.Now())
	if !s.full(alice) {
		t.Error("the namespace is below its quota, although it was filled during the reading")
	}
	s.beginReading()
	s.set([]ledger.NamespaceBytes{{Namespace: "alice", UID: "uid", Bytes: worldQuota - 1}}, time.Now())
	if s.full(alice) {
		t.Error("what was counted twice stays counted after the next reading")
	}
}
