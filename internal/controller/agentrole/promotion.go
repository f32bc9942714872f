// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentrole

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/conditions"
	"github.com/nestor-dev/nestor/internal/controller/status"
)

// promotion is what decides about the revisions of a role.
type promotion struct {
	Name  string
	Gated bool
	// Current is the revision of the role as it is written now; empty if it cannot be read.
	Current string
	// Kept are the revisions that exist, newest first.
	Kept []string
	// Request and User are the annotations of the person who promotes a revision.
	Request, User string
	// Unkept is why the current revision cannot be recorded, or "".
	Unkept string
	// EvaluationName is the AgentEvaluation that promotes; empty if only people do. Evaluation is nil if there is none for
	// this role.
	EvaluationName string
	Evaluation     *v1beta1.AgentEvaluation
}

// problem is why a person must act on a gated role.
type problem struct {
	Reason, Message string
	// Usable reports that runs begin nevertheless.
	Usable bool
}

// judge sets the revisions in the status of a role, and returns what a person must do, if anything.
func (p promotion) judge(s *v1beta1.AgentRoleStatus) *problem {
	if p.Current != "" {
		s.CurrentRevision = p.Current
	}
	if !p.Gated {
		if p.Current != "" {
			s.PromotedRevision = p.Current
		}
		s.PreviousRevision, s.RejectedRevision, s.PromotionUser, s.HandledPromotion = "", "", "", p.Request
		return nil
	}
	if s.PromotedRevision == "" && p.Current != "" && p.Unkept == "" {
		s.PromotedRevision = p.Current // the first one
	}
	wanted, _, _ := strings.Cut(p.Request, "/")
	exists := true
	if p.Request != "" && p.Request != s.HandledPromotion {
		exists = p.keeps(wanted)
		if exists {
			p.promote(s, wanted)
		}
	}
	verdict := p.verdict(*s)
	if verdict == v1beta1.VerdictPassed && p.Unkept == "" && p.keeps(s.CurrentRevision) {
		s.PreviousRevision, s.PromotedRevision, s.PromotionUser = s.PromotedRevision, s.CurrentRevision, ""
	}
	switch {
	case p.Unkept != "":
		return &problem{Reason: v1beta1.ReasonRevisionNotKept, Message: p.Unkept, Usable: p.keeps(s.PromotedRevision)}
	case s.PromotedRevision == "": // the role cannot be read, and its condition has the reason
		return nil
	case !p.keeps(s.PromotedRevision):
		return &problem{Reason: v1beta1.ReasonRevisionNotFound, Message: fmt.Sprintf("The promoted revision %s does not exist, so no run begins. %s", s.PromotedRevision, p.choice())}
	case !exists:
		return &problem{Reason: v1beta1.ReasonRevisionNotFound, Usable: true,
			Message: fmt.Sprintf("The annotation %s names the revision %s, which does not exist; runs begin with %s. %s", v1beta1.AnnotationPromote, wanted, s.PromotedRevision, p.choice())}
	case s.CurrentRevision == s.RejectedRevision:
		return &problem{Reason: v1beta1.ReasonRolledBack, Usable: true,
			Message: fmt.Sprintf("The current revision %s was rolled back to %s: correct the role, or promote another revision.", s.CurrentRevision, s.PromotedRevision)}
	case p.EvaluationName != "" && p.Evaluation == nil:
		return &problem{Reason: v1beta1.ReasonEvaluationNotFound, Usable: true,
			Message: fmt.Sprintf("spec.promotion.evaluation: create the AgentEvaluation %s with spec.role %s in this namespace. Runs begin with the revision %s.", p.EvaluationName, p.Name, s.PromotedRevision)}
	case verdict == v1beta1.VerdictFailed, verdict == v1beta1.VerdictInconclusive:
		return &problem{Reason: v1beta1.ReasonEvaluationFailed, Usable: true, Message: fmt.Sprintf(
			"The current revision %s did not pass the evaluation %s (%s), so runs begin with %s. See `kubectl nestor eval describe %s`, then correct the role or promote the revision yourself.",
			s.CurrentRevision, p.EvaluationName, verdict, s.PromotedRevision, p.EvaluationName)}
	}
	return nil
}

// verdict returns the verdict of the evaluation about the current revision, compared with the promoted one; empty if
// there is none. One that a user has replaced is not evaluated again.
func (p promotion) verdict(s v1beta1.AgentRoleStatus) v1beta1.Verdict {
	if p.Evaluation == nil || p.Current == "" || s.CurrentRevision == s.PromotedRevision || s.CurrentRevision == s.RejectedRevision {
		return ""
	}
	result := p.Evaluation.Status
	if result.CandidateRevision != s.CurrentRevision || result.BaselineRevision != s.PromotedRevision ||
		result.ResolvedGeneration != p.Evaluation.Generation {
		return ""
	}
	return result.Verdict
}

// promote handles the request to promote a revision.
func (p promotion) promote(s *v1beta1.AgentRoleStatus, revision string) {
	before := s.PromotedRevision
	s.HandledPromotion, s.PromotionUser = p.Request, p.User
	if revision == before {
		return
	}
	s.PreviousRevision, s.PromotedRevision = before, revision
	switch {
	case before == s.CurrentRevision:
		s.RejectedRevision = before
	case revision == s.RejectedRevision:
		s.RejectedRevision = ""
	}
}

func (p promotion) keeps(revision string) bool { return slices.Contains(p.Kept, revision) }

// choice returns a sentence with the revisions that can be promoted.
func (p promotion) choice() string {
	if len(p.Kept) == 0 {
		return "There are no revisions to promote."
	}
	return fmt.Sprintf("Promote one of these with `kubectl nestor role promote %s REVISION`: %s.", p.Name, strings.Join(p.Kept, ", "))
}

// ready returns the Ready condition of a role: that of the role as it is written, unless a person must act on its
// promotion.
func (p promotion) ready(written metav1.Condition, s v1beta1.AgentRoleStatus, wrong *problem) metav1.Condition {
	if written.Status != metav1.ConditionTrue {
		if p.Gated && p.keeps(s.PromotedRevision) {
			return status.NotReady(written.ObservedGeneration, written.Reason, fmt.Sprintf("Runs begin with the promoted revision %s. %s", s.PromotedRevision, written.Message))
		}
		return written
	}
	if wrong == nil {
		return written
	}
	ready := status.NotReady(written.ObservedGeneration, wrong.Reason, wrong.Message)
	if wrong.Usable {
		ready.Status = metav1.ConditionTrue
	}
	return ready
}

// withWaiting returns the conditions of a role with Reconciling, if its current revision waits for its promotion. ready
// is its Ready condition.
func (p promotion) withWaiting(s v1beta1.AgentRoleStatus, ready metav1.Condition) []metav1.Condition {
	if !p.Gated || ready.Reason != v1beta1.ReasonReady || s.CurrentRevision == s.PromotedRevision || s.PromotedRevision == "" {
		return conditions.Without(s.Conditions, v1beta1.ConditionReconciling)
	}
	waiting := metav1.Condition{Type: v1beta1.ConditionReconciling, Status: metav1.ConditionTrue,
		Reason: v1beta1.ReasonWaitingForPromotion, ObservedGeneration: ready.ObservedGeneration,
		Message: fmt.Sprintf("The revision %s waits for its promotion with `kubectl nestor role promote %s`; runs begin with %s.", s.CurrentRevision, p.Name, s.PromotedRevision),
	}
	if p.Evaluation != nil {
		waiting.Reason = v1beta1.ReasonEvaluating
		waiting.Message = fmt.Sprintf("The revision %s is promoted if it passes the evaluation %s; runs begin with %s.", s.CurrentRevision, p.EvaluationName, s.PromotedRevision)
	}
	return conditions.Set(s.Conditions, "AgentRole", waiting, metav1.Now())
}
