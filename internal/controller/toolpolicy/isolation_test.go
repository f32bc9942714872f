// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package toolpolicy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/evaluation"
	"github.com/nestor-dev/nestor/internal/policy"
)

// block takes all slots of a namespace until release is called.
func block(t *testing.T, s *Store, namespace string) (release func()) {
	t.Helper()
	blocked, taken, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	for range evaluation.PerNamespace {
		go func() {
			_ = s.slots.Run(t.Context(), namespace, func(context.Context) error {
				taken <- struct{}{}
				<-blocked
				return nil
			})
			ended <- struct{}{}
		}()
	}
	for range evaluation.PerNamespace {
		<-taken
	}
	return func() {
		close(blocked)
		for range evaluation.PerNamespace {
			<-ended
		}
	}
}

func inNamespace(name, tool string) engine.PolicyInput {
	in := input(agent.PlannedCall{Tool: tool})
	in.Agent.Namespace = name
	return in
}

// TestOthersDoNotWaitForCompilation has a namespace whose compilations do not end. Only calls that its policies match
// wait.
func TestOthersDoNotWaitForCompilation(t *testing.T) {
	s := newStore(t, namespace("team", ""), namespace("lab", ""))
	woken := make(chan types.NamespacedName, 2)
	s.programs = evaluation.NewPrograms(s.slots, policy.Compile, func(name types.NamespacedName) { woken <- name })
	s.slots.Spawn = func(f func()) { go f() }
	release := block(t, s, "lab")
	costly, cheap := toolPolicy("lab", "costly", "false", nil), toolPolicy("team", "cheap", "false", nil)
	costly.Spec.Match = &v1beta1.PolicyMatch{Tools: []string{"write"}}
	s.set(costly)
	s.set(cheap)
	if name := <-woken; name.Name != "cheap" {
		t.Errorf("%s was compiled", name)
	}
	if got := judged(t, s, inNamespace("team", "write")); got != "team/cheap" {
		t.Errorf("the other namespace: %q", got)
	}
	if got := judged(t, s, inNamespace("lab", "read")); got != "" {
		t.Errorf("a call that the policy does not match: %q", got)
	}
	if got := judged(t, s, inNamespace("lab", "write")); got != policy.ErrNotCompiled.Error() {
		t.Errorf("%q, want that the call waits", got)
	}
	if _, known := s.Problem(costly); known {
		t.Error("the policy has a status before it is compiled")
	}
	release()
	if name := <-woken; name.Name != "costly" {
		t.Errorf("%s was compiled", name)
	}
	if got := judged(t, s, inNamespace("lab", "write")); got != "lab/costly" {
		t.Errorf("after the compilation: %q", got)
	}
	if problem, known := s.Problem(costly); problem != nil || !known {
		t.Errorf("the problem is %v, known: %t", problem, known)
	}
}

// TestOthersDoNotWaitForEvaluation has a namespace whose evaluations do not end. Its calls wait and get no verdict.
func TestOthersDoNotWaitForEvaluation(t *testing.T) {
	s := newStore(t, namespace("team", ""), namespace("lab", ""))
	s.set(toolPolicy("nestor-system", "everywhere", "false", &v1beta1.AllowedNamespaces{From: v1beta1.NamespacesAll}))
	release := block(t, s, "lab")
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	if verdicts, _, err := s.Judge(ctx, inNamespace("lab", "read")); !errors.Is(err, errTooSlow) || verdicts != nil {
		t.Errorf("got %v, %v; want that the call waits", verdicts, err)
	}
	if got := judged(t, s, inNamespace("team", "read")); got != "nestor-system/everywhere" {
		t.Errorf("the other namespace: %q", got)
	}
	release()
	if got := judged(t, s, inNamespace("lab", "read")); got != "nestor-system/everywhere" {
		t.Errorf("after the evaluations: %q", got)
	}
}

// A call that only policies above the limit match waits until there are fewer.
func TestPoliciesAboveTheLimitMakeCallsWait(t *testing.T) {
	s := newStore(t, namespace("team", ""))
	var woken []string
	s.wake = func(name types.NamespacedName) { woken = append(woken, name.Name) }
	var all []*v1beta1.ToolPolicy
	for i := range maxPolicies + 1 {
		p := toolPolicy("team", fmt.Sprintf("p%d", i), "false", nil)
		p.Spec.Match = &v1beta1.PolicyMatch{Tools: []string{p.Name}}
		p.CreationTimestamp = metav1.NewTime(time.Unix(int64(i), 0))
		all = append(all, p)
	}
	newest := all[maxPolicies]
	for _, p := range slices.Backward(all) {
		s.set(p)
	}
	if !slices.Contains(woken, newest.Name) {
		t.Errorf("%v were woken, want the newest policy", woken)
	}
	if problem, known := s.Problem(newest); !known || problem == nil {
		t.Errorf("the problem is %v, known: %t", problem, known)
	}
	if got := judged(t, s, inNamespace("team", newest.Name)); !strings.Contains(got, "team/"+newest.Name+" is not evaluated: only the 64 oldest") {
		t.Errorf("%q, want that the call waits", got)
	}
	if got := judged(t, s, inNamespace("team", "p1")); got != "team/p1" {
		t.Errorf("a call of a policy below the limit: %q", got)
	}
	if got := judged(t, s, inNamespace("lab", newest.Name)); got != "" {
		t.Errorf("the other namespace: %q", got)
	}
	s.remove(all[0])
	if problem, known := s.Problem(newest); !known || problem != nil {
		t.Errorf("the problem is %v, known: %t", problem, known)
	}
	if got := judged(t, s, inNamespace("team", newest.Name)); got != "team/"+newest.Name {
		t.Errorf("after one was deleted: %q", got)
	}
	again := all[1].DeepCopy() // deleted and created while the watch was interrupted, after the others
	again.UID, again.CreationTimestamp = "again", metav1.NewTime(time.Unix(1000, 0))
	s.set(again)
	s.set(all[0]) // as old as before
	if got := judged(t, s, inNamespace("team", again.Name)); !strings.Contains(got, "is not evaluated") {
		t.Errorf("%q, want that the call waits", got)
	}
	if got := judged(t, s, inNamespace("team", newest.Name)); got != "team/"+newest.Name {
		t.Errorf("the policy at the limit: %q", got)
	}
}

// The status of a ToolServer is written often: only other tools change what policies match.
func TestToolServerStatusIsIgnored(t *testing.T) {
	server := &v1beta1.ToolServer{Status: v1beta1.ToolServerStatus{ToolCount: 1, Tools: []v1beta1.ToolInfo{{Name: "read"}}}}
	ready, other := server.DeepCopy(), server.DeepCopy()
	ready.Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionReady}}
	other.Status.Tools[0].Name = "write"
	if toolsChanged().Update(event.UpdateEvent{ObjectOld: server, ObjectNew: ready}) {
		t.Error("a condition counts as a change of tools")
	}
	if !toolsChanged().Update(event.UpdateEvent{ObjectOld: server, ObjectNew: other}) {
		t.Error("another tool does not count as a change")
	}
}
