// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"sync"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine"
)

// maxPolicySeries bounds the pairs of policies and rules that are counted apart: anyone who writes policies could
// create series without end.
const maxPolicySeries = 500

// otherPolicies is the label of policies and rules beyond maxPolicySeries.
const otherPolicies = "other"

// policyRule is a policy and one of its rules.
type policyRule struct{ policy, rule string }

// policySeries are the policies and rules that are counted apart.
type policySeries struct {
	mu    sync.Mutex
	known map[policyRule]bool
}

// of returns the labels under which a rule is counted.
func (s *policySeries) of(r policyRule) policyRule {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.known[r] && len(s.known) >= maxPolicySeries {
		return policyRule{otherPolicies, otherPolicies}
	}
	if s.known == nil {
		s.known = map[policyRule]bool{}
	}
	s.known[r] = true
	return r
}

// countVerdicts counts the verdicts of policies.
func (m *Metrics) countVerdicts(c engine.Change) {
	for _, e := range c.Events {
		judged, ok := e.Fact.(agent.Judged)
		if !ok {
			continue
		}
		for _, call := range judged.Calls {
			for _, v := range call.Verdicts {
				verdict := string(v.Action)
				if v.Audit {
					verdict = "Audit" + verdict
				}
				series := m.policies.of(policyRule{v.Policy, v.Rule})
				m.verdicts.WithLabelValues(series.policy, series.rule, verdict).Inc()
			}
		}
	}
}
