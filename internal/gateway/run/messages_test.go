// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/client/live"
)

// A client that repeats an answer before it is handled must not receive the question again, so the message names it.
func TestRepeatedAnswerNamesItsAsk(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := &Caller{User: "alice", API: fake.NewClientBuilder().WithScheme(scheme).Build()}
	question := Ask{Namespace: "a", Root: "work", Ask: live.Ask{Task: "work-1", Call: "q1", Kind: v1alpha1.WaitingQuestion}}
	call := Ask{Namespace: "a", Ask: live.Ask{Task: "work", Call: "c1", Kind: v1alpha1.WaitingApproval}}
	if err := c.Answer(t.Context(), question, "Green", "one"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Decide(t.Context(), call, Decision{Approve: true, Shown: call.Ref()}, "two"); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"one": question.ID(), "two": call.ID()} {
		if ask, answered, err := c.HasAnswered(t.Context(), "a", "work", key); ask != want || !answered || err != nil {
			t.Errorf("the message with the key %s answers %q (%t, %v), want %q", key, ask, answered, err, want)
		}
	}
	if ask, answered, err := c.HasAnswered(t.Context(), "a", "work", "three"); ask != "" || answered || err != nil {
		t.Errorf("a message that was not sent answers %q (%t, %v)", ask, answered, err)
	}
}
