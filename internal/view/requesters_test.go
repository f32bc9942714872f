// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"slices"
	"testing"

	"github.com/nestor-dev/nestor/api/v1alpha1"
)

func TestRequestersOfATask(t *testing.T) {
	for _, tc := range []struct {
		user, firedBy string
		want          []string
	}{
		{"", "", nil},
		{"", "bob", nil}, // the author of the trigger is not known
		{"alice", "", []string{"alice"}},
		{"alice", "bob", []string{"alice", "bob"}},
	} {
		task := &v1alpha1.AgentTask{Spec: v1alpha1.AgentTaskSpec{User: tc.user, FiredBy: tc.firedBy}}
		if got := Requesters(task); !slices.Equal(got, tc.want) {
			t.Errorf("user %q, firedBy %q: %v", tc.user, tc.firedBy, got)
		}
	}
}
