// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package role

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

func TestIsolationProblem(t *testing.T) {
	isolated := func(change func(*v1beta1.AgentRoleSpec)) Role {
		r := Role{Name: "judge", AgentRoleSpec: v1beta1.AgentRoleSpec{Isolated: true, OutputSchema: &runtime.RawExtension{Raw: []byte(`{}`)}}}
		change(&r.AgentRoleSpec)
		return r
	}
	for want, change := range map[string]func(*v1beta1.AgentRoleSpec){
		"":                             func(*v1beta1.AgentRoleSpec) {},
		"has no outputSchema":          func(s *v1beta1.AgentRoleSpec) { s.OutputSchema = nil },
		"has delegation, tools: leave": func(s *v1beta1.AgentRoleSpec) { s.Tools, s.Delegation = &v1beta1.RoleTools{}, &v1beta1.Delegation{} },
		"has skills":                   func(s *v1beta1.AgentRoleSpec) { s.Skills = []v1beta1.SkillSource{{}} },
		"has review":                   func(s *v1beta1.AgentRoleSpec) { s.Review = &v1beta1.ResultReview{} },
		"has approval":                 func(s *v1beta1.AgentRoleSpec) { s.Approval = &v1beta1.ApprovalPolicy{} },
		"has remote":                   func(s *v1beta1.AgentRoleSpec) { s.Remote = &v1beta1.RemoteAgent{} },
	} {
		if got := IsolationProblem(isolated(change)); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("the problem is %q, want %q", got, want)
		}
	}
	over := isolated(func(*v1beta1.AgentRoleSpec) {})
	for _, name := range []string{"coder", "orchestrator", "reviewer"} {
		if problem := IsolationProblem(builtIn(t, name).Overlay(over)); problem != "" {
			t.Errorf("over %s: %s", name, problem)
		}
	}
	if problem := CannotReview(over); !strings.Contains(problem, "isolated") {
		t.Errorf("an isolated role may review: %q", problem)
	}
}
