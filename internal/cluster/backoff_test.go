// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A quota that is raised after an hour is detected within half a minute.
func TestLastingFailureRetryInterval(t *testing.T) {
	backoff := Backoff()
	waited, longest := time.Duration(0), time.Duration(0)
	for waited < time.Hour {
		again := backoff.When(reconcile.Request{})
		waited, longest = waited+again, max(longest, again)
	}
	if longest != 30*time.Second {
		t.Errorf("the longest delay between two attempts is %s", longest)
	}
	if first := Backoff().When(reconcile.Request{}); first > 50*time.Millisecond {
		t.Errorf("the delay of the first retry is %s", first)
	}
}
