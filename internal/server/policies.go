// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/history"
	"github.com/nestor-dev/nestor/internal/client/policies"
	"github.com/nestor-dev/nestor/internal/policy"
)

const (
	// trialTimeout limits a trial. The calls that it has not read by then are not judged, and the page shows that.
	trialTimeout = 20 * time.Second
	// maxTrials is how many trials run at the same time, because they evaluate expressions of their authors in this process.
	maxTrials = 2
	// maxFindings is how many calls of a trial the page shows.
	maxFindings = 200
	// maxTrialDays is how far a trial reaches back.
	maxTrialDays = 365
)

// policyDraft is a policy that a person edits.
type policyDraft struct {
	Spec v1beta1.ToolPolicySpec `json:"spec"`
	// Days is how far back the recorded calls are.
	Days int `json:"days"`
}

// trialResponse is what the draft would have done.
type trialResponse struct {
	policies.Report
	// Incomplete is true if there was no time to read all calls.
	Incomplete bool `json:"incomplete,omitempty"`
}

// policies lists the policies that apply in a namespace, as far as the person may read them.
func (s *site) policies(w http.ResponseWriter, r *http.Request, config *rest.Config) {
	namespace := r.PathValue("namespace")
	if err := checkNamespace(namespace); err != nil {
		writeError(w, err)
		return
	}
	api, err := newClient(config)
	if err != nil {
		writeError(w, err)
		return
	}
	list, err := policies.Read(r.Context(), api, namespace, s.operatorNamespace)
	if err != nil {
		writeError(w, err)
		return
	}
	writeJSON(w, http.StatusOK, list)
}

// tryPolicy evaluates a draft on the recorded calls of a namespace, with the permissions of the person.
func (s *site) tryPolicy(w http.ResponseWriter, r *http.Request, config *rest.Config) {
	namespace, name := r.PathValue("namespace"), r.PathValue("name")
	compiled, days, err := readPolicyDraft(w, r, namespace, name)
	if err != nil {
		writeError(w, err)
		return
	}
	if _, err := s.authenticate(r.Context(), config); err != nil {
		writeError(w, err)
		return
	}
	if !s.trials.TryAcquire(1) {
		writeError(w, apierrors.NewTooManyRequests("Other policies are being tried: try again in some seconds.", int(trialTimeout.Seconds())))
		return
	}
	defer s.trials.Release(1)
	ctx, cancel := context.WithTimeout(r.Context(), trialTimeout)
	defer cancel()
	api, err := newClient(config)
	if err != nil {
		writeError(w, err)
		return
	}
	facts, err := policies.NewFacts(ctx, api, namespace, s.operatorNamespace)
	if err != nil {
		writeError(w, err)
		return
	}
	report, err := policies.Trial{
		Policies: []*policy.Policy{compiled}, Reader: history.NewReader(config, api, namespace), Facts: facts,
		From: time.Now().AddDate(0, 0, -days),
	}.Run(ctx)
	incomplete := errors.Is(ctx.Err(), context.DeadlineExceeded)
	if err != nil && !incomplete {
		writeError(w, err)
		return
	}
	report.Findings = report.Findings[:min(len(report.Findings), maxFindings)]
	writeJSON(w, http.StatusOK, trialResponse{Report: report, Incomplete: incomplete})
}

// readPolicyDraft reads the draft of a request and compiles it.
func readPolicyDraft(w http.ResponseWriter, r *http.Request, namespace, name string) (*policy.Policy, int, error) {
	if err := checkNames("policy", namespace, name); err != nil {
		return nil, 0, err
	}
	var d policyDraft
	if err := readJSON(w, r, maxBody, &d); err != nil {
		return nil, 0, err
	}
	if d.Days < 1 || d.Days > maxTrialDays {
		return nil, 0, apierrors.NewBadRequest(fmt.Sprintf("days: %d is not between 1 and %d.", d.Days, maxTrialDays))
	}
	if len(d.Spec.Rules) == 0 {
		return nil, 0, apierrors.NewBadRequest("The policy has no rules.")
	}
	compiled, err := policy.Compile(&v1beta1.ToolPolicy{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, Spec: d.Spec})
	if err != nil {
		return nil, 0, apierrors.NewBadRequest(err.Error())
	}
	return compiled, d.Days, nil
}
