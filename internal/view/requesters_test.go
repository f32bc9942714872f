// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"slices"
	"testing"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

func TestRequestersOfATask(t *testing.T) {
	for _, tc := range []struct {
		user, fireUser string
		want           []string
	}{
		{"", "", nil},
		{"", "bob", nil}, // the author of the trigger is not known
		{"alice", "", []string{"alice"}},
		{"alice", "bob", []string{"alice", "bob"}},
	} {
		task := &v1beta1.AgentTask{Spec: v1beta1.AgentTaskSpec{User: tc.user, FireUser: tc.fireUser}}
		if got := Requesters(task); !slices.Equal(got, tc.want) {
			t.Errorf("user %q, fireUser %q: %v", tc.user, tc.fireUser, got)
		}
	}
}
