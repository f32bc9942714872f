// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// A reviewed agent starts at most MaxRounds reviewers, one at a time, and succeeds only after an approval or, if the review is not
// required, with a warning.
func reviewsHold(t *rapid.T) func(step) {
	reviewers := 0
	approved := false
	return func(s step) {
		c := s.after.Config
		if !c.reviews() {
			return
		}
		for _, e := range s.effects {
			if start, ok := e.(StartChild); ok && s.after.IsReviewer(start.Child.Name) && s.nameTakenOf() == "" {
				reviewers++
			}
		}
		if reviewers > c.Review.MaxRounds || s.after.Review.Rounds > c.Review.MaxRounds {
			t.Fatalf("%d reviewers in %d rounds, and at most %d are allowed", reviewers, s.after.Review.Rounds, c.Review.MaxRounds)
		}
		if f, ok := s.event.Fact.(ChildFinished); ok && s.before.IsReviewer(f.Child) {
			verdict, _, problem := readVerdict(f.Outcome)
			approved = verdict && problem == ""
		}
		o := s.after.Outcome
		if o == nil || !o.Succeeded() || s.before.Outcome != nil {
			return
		}
		warned := len(o.Result.Warnings) > 0
		if !approved && (c.Review.Required || !warned) {
			t.Fatalf("it succeeded with %+v, and the last review was no approval", o.Result)
		}
		if approved && warned {
			t.Fatalf("an approved result has the warnings %q", o.Result.Warnings)
		}
	}
}

// The instruction of a reviewer must fit into a task, whatever the agent submits.
func TestInstructionOfReviewerIsBounded(t *testing.T) {
	s := State{Config: Config{Kind: SubAgent, Review: &Review{Role: "reviewer", MaxRounds: 2},
		Task: Task{Instruction: strings.Repeat("ü", maxTaskText), SuccessCriteria: strings.Repeat("ü", maxCriteria)}}}
	spec := s.reviewSpec(Result{Text: strings.Repeat("ü", 100_000), Data: json.RawMessage(`{}`)})
	if n := utf8.RuneCountInString(spec.Task); n > maxTaskText {
		t.Errorf("the instruction has %d characters", n)
	}
	if !json.Valid(spec.OutputSchema) {
		t.Errorf("the schema of the verdict is %s", spec.OutputSchema)
	}
}
