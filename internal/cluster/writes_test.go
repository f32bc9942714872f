// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// The watch event of a write may arrive before the response, and nothing reads the object again.
func TestExpiredWritesAreRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewClient(nil)
		for _, name := range []string{"one", "two", "three"} {
			c.remember(&v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}}, false)
			time.Sleep(2 * writeTTL) //nolint:forbidigo // fake time of synctest
		}
		for kind, writes := range c.written {
			if len(writes) != 1 {
				t.Errorf("%d writes of %s are remembered, want the last one", len(writes), kind)
			}
		}
	})
}
