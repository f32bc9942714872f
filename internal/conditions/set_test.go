// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// person has the reasons for which a person must act, so that DESIGN sections 22 and 24 set Stalled, besides those of the
// group MissingReference.
var person = map[string]bool{"InvalidSpec": true, "InvalidExpression": true, "TooManyPolicies": true, "BudgetExhausted": true, "HistoryLost": true,
	"RolledBack": true, "EvaluationFailed": true, "RevisionNotKept": true}

func TestSet_EveryRow_Stalled(t *testing.T) {
	for name, row := range reasons {
		for _, s := range row.States {
			if s.Condition != v1beta1.ConditionReady && s.Condition != v1beta1.ConditionSucceeded {
				continue
			}
			for _, kind := range s.Kinds {
				c := metav1.Condition{Type: s.Condition, Status: s.Status, Reason: name, Message: "why"}
				all := Set(nil, kind, c, metav1.Now())
				stalled := len(all) == 2 && all[1].Type == v1beta1.ConditionStalled && all[1].Status == metav1.ConditionTrue &&
					all[1].Reason == name && all[1].Message == "why"
				if want := s.Group == "MissingReference" || person[name]; stalled != want {
					t.Errorf("%s %s=%s %s: %v, want Stalled %t", kind, s.Condition, s.Status, name, all, want)
				}
				for _, c := range all {
					if _, _, known := Find(kind, c); !known {
						t.Errorf("%s: no row for %v", kind, c)
					}
				}
			}
		}
	}
}

func TestSet_RemovesStalledOnly(t *testing.T) {
	first, later := metav1.NewTime(time.Unix(100, 0)), metav1.NewTime(time.Unix(200, 0))
	all := Set([]metav1.Condition{{Type: "Theirs", Status: "True"}}, "AgentChat",
		metav1.Condition{Type: "Ready", Status: "False", Reason: "RoleNotFound"}, first)
	all = Set(all, "AgentChat", metav1.Condition{Type: "Ready", Status: "False", Reason: "SecretNotFound"}, later)
	want := []metav1.Condition{{Type: "Theirs", Status: "True"},
		{Type: "Ready", Status: "False", Reason: "SecretNotFound", LastTransitionTime: first},
		{Type: "Stalled", Status: "True", Reason: "SecretNotFound", LastTransitionTime: first}}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
	all = Set(all, "AgentChat", metav1.Condition{Type: "Reconciling", Status: "True", Reason: "Retrying"}, later)
	if len(all) != 4 {
		t.Errorf("Reconciling changed the others: %v", all)
	}
	all = Without(Set(all, "AgentChat", metav1.Condition{Type: "Ready", Status: "True", Reason: "Ready"}, later), "Reconciling")
	want = []metav1.Condition{{Type: "Theirs", Status: "True"}, {Type: "Ready", Status: "True", Reason: "Ready", LastTransitionTime: later}}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
}

// TestFind_OtherConditions_NoRow: conditions of other programs and of newer operators are not an error.
func TestFind_OtherConditions_NoRow(t *testing.T) {
	for _, c := range []metav1.Condition{{Type: "Theirs", Status: "True", Reason: "Ready"}, {Type: "Ready", Status: "True", Reason: "Newer"},
		{Type: "Stalled", Status: "True", Reason: "Ready"}} {
		if row, _, known := Find("AgentChat", c); known {
			t.Errorf("%v has the row %+v", c, row)
		}
	}
}
