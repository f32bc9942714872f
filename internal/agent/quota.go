// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

// QuotaReached is the fact that the model call in flight waits because a quota of the namespace does not allow it now. The call stays
// outstanding, and the time until QuotaGranted does not count.
type QuotaReached struct {
	Call    string `json:"call"`
	Attempt int    `json:"attempt"`
	QuotaWait
}

// QuotaGranted is the fact that the model call that waited for a quota continues.
type QuotaGranted struct {
	Call    string `json:"call"`
	Attempt int    `json:"attempt"`
}

func (QuotaReached) fact() {}
func (QuotaGranted) fact() {}

// QuotaWait describes why a model call waits for a quota: the reason and message of a condition.
type QuotaWait struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

func quotaReached(s State, f QuotaReached) State {
	call := *s.ModelCall
	if f.Call != call.ID || f.Attempt != call.Attempt || call.RetryTime != 0 || call.Quota != nil && *call.Quota == f.QuotaWait {
		return s
	}
	call.Quota = &f.QuotaWait
	s.ModelCall = &call
	return s
}

func quotaGranted(s State, f QuotaGranted) State {
	if f.Call != s.ModelCall.ID || f.Attempt != s.ModelCall.Attempt {
		return s
	}
	return s.clearQuotaWait()
}

// clearQuotaWait clears the quota wait of a call that continues or has ended.
func (s State) clearQuotaWait() State {
	if s.ModelCall == nil || s.ModelCall.Quota == nil {
		return s
	}
	call := *s.ModelCall
	call.Quota = nil
	s.ModelCall = &call
	return s
}

// QuotaWait returns why the agent's model call waits for a quota, or nil if it does not wait.
func (s State) QuotaWait() *QuotaWait {
	if s.Phase != PhaseRequesting {
		return nil
	}
	return s.ModelCall.Quota
}

// Suspended reports whether the agent waits only for people, quotas or policies, here or further below. Such time does not count.
func (s State) Suspended() bool {
	return s.WaitsForPerson() || s.QuotaWait() != nil || s.WaitsForPolicies() != ""
}
