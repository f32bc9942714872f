// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentrole

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/controller/status"
)

func TestJudgePromotion(t *testing.T) {
	both := []string{"two", "one"}
	for name, test := range map[string]struct {
		p      promotion
		before v1beta1.AgentRoleStatus
		want   v1beta1.AgentRoleStatus
		// wantReady is the status, reason and a part of the message; wantWaits a part of the message of Reconciling.
		wantReady, wantWaits string
	}{
		"an immediate role uses every change": {
			p:      promotion{Current: "two", Kept: both},
			before: v1beta1.AgentRoleStatus{CurrentRevision: "one", PromotedRevision: "one"},
			want:   v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "two"}, wantReady: "True Ready",
		},
		"the first revision of a gated role is promoted": {
			p:    promotion{Gated: true, Current: "one", Kept: []string{"one"}},
			want: v1beta1.AgentRoleStatus{CurrentRevision: "one", PromotedRevision: "one"}, wantReady: "True Ready",
		},
		"a change of a gated role waits": {
			p:      promotion{Gated: true, Current: "two", Kept: both},
			before: v1beta1.AgentRoleStatus{CurrentRevision: "one", PromotedRevision: "one"},
			want:   v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "one"}, wantReady: "True Ready", wantWaits: "runs begin with one",
		},
		"a promotion": {
			p:         promotion{Gated: true, Current: "two", Kept: both, Request: "two/a", User: "alice"},
			before:    v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "one"},
			want:      v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "two", PreviousRevision: "one", PromotionUser: "alice", HandledPromotion: "two/a"},
			wantReady: "True Ready",
		},
		"a promotion that was handled before is not handled again": {
			p:      promotion{Gated: true, Current: "two", Kept: both, Request: "one/a", User: "alice"},
			before: v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "two", HandledPromotion: "one/a"},
			want:   v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "two", HandledPromotion: "one/a"}, wantReady: "True Ready",
		},
		"a rollback": {
			p:         promotion{Gated: true, Current: "two", Kept: both, Request: "one"},
			before:    v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "two", PreviousRevision: "one", PromotionUser: "alice"},
			want:      v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "one", PreviousRevision: "two", RejectedRevision: "two", HandledPromotion: "one"},
			wantReady: "True RolledBack: The current revision two was rolled back to one",
		},
		"a correction after a rollback waits": {
			p:         promotion{Gated: true, Current: "three", Kept: append([]string{"three"}, both...), Request: "one"},
			before:    v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "one", PreviousRevision: "two", RejectedRevision: "two", HandledPromotion: "one"},
			want:      v1beta1.AgentRoleStatus{CurrentRevision: "three", PromotedRevision: "one", PreviousRevision: "two", RejectedRevision: "two", HandledPromotion: "one"},
			wantReady: "True Ready", wantWaits: "The revision three waits",
		},
		"a revision that was rolled back is promoted again": {
			p:      promotion{Gated: true, Current: "two", Kept: both, Request: "two"},
			before: v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "one", PreviousRevision: "two", RejectedRevision: "two", HandledPromotion: "one"},
			want:   v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "two", PreviousRevision: "one", HandledPromotion: "two"}, wantReady: "True Ready",
		},
		"a spec that returns to an earlier revision waits": {
			p:      promotion{Gated: true, Current: "one", Kept: both},
			before: v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "two", PreviousRevision: "one"},
			want:   v1beta1.AgentRoleStatus{CurrentRevision: "one", PromotedRevision: "two", PreviousRevision: "one"}, wantReady: "True Ready", wantWaits: "The revision one waits",
		},
		"a revision that does not exist": {
			p:      promotion{Gated: true, Current: "two", Kept: both, Request: "none/a"},
			before: v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "one"},
			want:   v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "one"},
			wantReady: "True RevisionNotFound: The annotation nestor.dev/promote names the revision none, which does not exist; runs begin with one. " +
				"Promote one of these with `kubectl nestor role promote poet REVISION`: two, one.",
		},
		"a promoted revision that was deleted": {
			p:      promotion{Gated: true, Current: "two", Kept: []string{"two"}},
			before: v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "one"},
			want:   v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "one"}, wantReady: "False RevisionNotFound: The promoted revision one does not exist",
		},
		"a revision that cannot be recorded": {
			p:      promotion{Gated: true, Current: "two", Kept: []string{"one"}, Unkept: "It is too large."},
			before: v1beta1.AgentRoleStatus{CurrentRevision: "one", PromotedRevision: "one"},
			want:   v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "one"}, wantReady: "True RevisionNotKept: It is too large.",
		},
		"a first revision that cannot be recorded is not promoted": {
			p:    promotion{Gated: true, Current: "one", Unkept: "It is too large."},
			want: v1beta1.AgentRoleStatus{CurrentRevision: "one"}, wantReady: "False RevisionNotKept: It is too large.",
		},
		"an annotation from the time before the gate": {
			p:      promotion{Current: "two", Kept: both, Request: "one/a"},
			before: v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "one", PreviousRevision: "two", RejectedRevision: "two", PromotionUser: "alice"},
			want:   v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "two", HandledPromotion: "one/a"}, wantReady: "True Ready",
		},
		"a revision that passes its evaluation is promoted": {
			p:      promotion{Gated: true, Current: "two", Kept: both, EvaluationName: "suite", Evaluation: verdict("two", "one", v1beta1.VerdictPassed)},
			before: v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "one", PromotionUser: "alice"},
			want:   v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "two", PreviousRevision: "one"}, wantReady: "True Ready",
		},
		"a verdict about another candidate promotes nothing": {
			p:      promotion{Gated: true, Current: "three", Kept: append([]string{"three"}, both...), EvaluationName: "suite", Evaluation: verdict("two", "one", v1beta1.VerdictPassed)},
			before: v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "one"},
			want:   v1beta1.AgentRoleStatus{CurrentRevision: "three", PromotedRevision: "one"}, wantReady: "True Ready", wantWaits: "The revision three is promoted if it passes the evaluation suite",
		},
		"a verdict about another baseline promotes nothing": {
			p:      promotion{Gated: true, Current: "two", Kept: both, EvaluationName: "suite", Evaluation: verdict("two", "zero", v1beta1.VerdictPassed)},
			before: v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "one"},
			want:   v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "one"}, wantReady: "True Ready", wantWaits: "runs begin with one",
		},
		"a verdict of an earlier suite promotes nothing": {
			p:      promotion{Gated: true, Current: "two", Kept: both, EvaluationName: "suite", Evaluation: edited(verdict("two", "one", v1beta1.VerdictPassed))},
			before: v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "one"},
			want:   v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "one"}, wantReady: "True Ready", wantWaits: "runs begin with one",
		},
		"a revision that passes and was rolled back is not promoted": {
			p:         promotion{Gated: true, Current: "two", Kept: both, EvaluationName: "suite", Evaluation: verdict("two", "one", v1beta1.VerdictPassed)},
			before:    v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "one", RejectedRevision: "two"},
			want:      v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "one", RejectedRevision: "two"},
			wantReady: "True RolledBack",
		},
		"a revision that fails": {
			p:         promotion{Gated: true, Current: "two", Kept: both, EvaluationName: "suite", Evaluation: verdict("two", "one", v1beta1.VerdictFailed)},
			before:    v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "one"},
			want:      v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "one"},
			wantReady: "True EvaluationFailed: The current revision two did not pass the evaluation suite (Failed), so runs begin with one.",
		},
		"an inconclusive verdict": {
			p:         promotion{Gated: true, Current: "two", Kept: both, EvaluationName: "suite", Evaluation: verdict("two", "one", v1beta1.VerdictInconclusive)},
			before:    v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "one"},
			want:      v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "one"},
			wantReady: "True EvaluationFailed: The current revision two did not pass the evaluation suite (Inconclusive)",
		},
		"a revision that fails and is promoted by a person": {
			p:         promotion{Gated: true, Current: "two", Kept: both, Request: "two/a", User: "alice", EvaluationName: "suite", Evaluation: verdict("two", "one", v1beta1.VerdictFailed)},
			before:    v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "one"},
			want:      v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "two", PreviousRevision: "one", PromotionUser: "alice", HandledPromotion: "two/a"},
			wantReady: "True Ready",
		},
		"an evaluation that does not exist": {
			p:         promotion{Gated: true, Current: "two", Kept: both, EvaluationName: "suite"},
			before:    v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "one"},
			want:      v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "one"},
			wantReady: "True EvaluationNotFound: spec.promotion.evaluation: create the AgentEvaluation suite with spec.role poet",
		},
		"a role that cannot be read": {
			p:      promotion{Gated: true, Kept: both},
			before: v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "two"},
			want:   v1beta1.AgentRoleStatus{CurrentRevision: "two", PromotedRevision: "two"}, wantReady: "False InvalidSpec: Runs begin with the promoted revision two. It is wrong.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.p.Name = "poet"
			written := status.Ready(3, "The role can be used.")
			if test.p.Current == "" {
				written = status.NotReady(3, v1beta1.ReasonInvalidSpec, "It is wrong.")
			}
			got := *test.before.DeepCopy()
			wrong := test.p.judge(&got)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			ready := test.p.ready(written, got, wrong)
			if line := string(ready.Status) + " " + ready.Reason + ": " + ready.Message; !strings.HasPrefix(line, test.wantReady) || ready.ObservedGeneration != 3 {
				t.Errorf("Ready is %s of generation %d, want %s", line, ready.ObservedGeneration, test.wantReady)
			}
			waits := ""
			for _, c := range test.p.withWaiting(got, ready) {
				reason := v1beta1.ReasonWaitingForPromotion
				if test.p.Evaluation != nil {
					reason = v1beta1.ReasonEvaluating
				}
				if c.Type == v1beta1.ConditionReconciling && c.Status == metav1.ConditionTrue && c.Reason == reason {
					waits = c.Message
				}
			}
			if (waits == "") != (test.wantWaits == "") || !strings.Contains(waits, test.wantWaits) {
				t.Errorf("Reconciling is %q, want %q", waits, test.wantWaits)
			}
		})
	}
}

// verdict returns an evaluation with a verdict.
func verdict(candidate, baseline string, found v1beta1.Verdict) *v1beta1.AgentEvaluation {
	return &v1beta1.AgentEvaluation{ObjectMeta: metav1.ObjectMeta{Generation: 4}, Status: v1beta1.AgentEvaluationStatus{
		ResolvedGeneration: 4, CandidateRevision: candidate, BaselineRevision: baseline, Verdict: found,
	}}
}

func edited(e *v1beta1.AgentEvaluation) *v1beta1.AgentEvaluation {
	e.Generation++
	return e
}
