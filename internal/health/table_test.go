// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"os"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// TestProblems_EveryReason builds a chat and a task for each of their states.
func TestProblems_EveryReason(t *testing.T) {
	text, err := os.ReadFile("../../api/v1beta1/conditions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Reasons []struct {
			Reason  string
			States  map[string][]string
			Problem *struct {
				Kind     Kind
				Severity Severity
			}
		}
	}
	if err := yaml.Unmarshal(text, &table); err != nil {
		t.Fatal(err)
	}
	problems := 0
	for _, r := range table.Reasons {
		for on, kinds := range r.States {
			name, status, _ := strings.Cut(on, "=")
			all := condition(name, metav1.ConditionStatus(status), r.Reason, "why")
			for kind, object := range map[string]client.Object{
				"AgentChat": &v1beta1.AgentChat{ObjectMeta: named("one"), Status: v1beta1.AgentChatStatus{Conditions: all}},
				"AgentTask": &v1beta1.AgentTask{ObjectMeta: named("one"), Status: v1beta1.AgentTaskStatus{Conditions: all}},
			} {
				if !slices.Contains(kinds, kind) {
					continue
				}
				got := find(t, reader(t, interceptor.Funcs{}, object))
				switch {
				case r.Problem == nil && len(got) > 0:
					t.Errorf("%s %s %s is a problem: %v", kind, on, r.Reason, got)
				case r.Problem == nil:
				case len(got) != 1 || got[0].Kind != r.Problem.Kind || got[0].Severity != r.Problem.Severity || got[0].Object != kind+" one":
					t.Errorf("%s %s %s: %v, want %v", kind, on, r.Reason, got, *r.Problem)
				case !slices.Contains([]Kind{Ledger, Provider, RateLimit, Quota}, got[0].Kind) || !slices.Contains([]Severity{Error, Warning}, got[0].Severity):
					t.Errorf("%s: clients do not know %v", r.Reason, got[0])
				default:
					problems++
				}
			}
		}
	}
	if problems == 0 {
		t.Error("the table has no problems")
	}
}
