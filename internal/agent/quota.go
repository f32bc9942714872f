// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

// QuotaReached says that the model call in flight waits: a quota of the namespace does not allow it now. The call stays outstanding, and
// the time until QuotaGranted does not count.
type QuotaReached struct {
	Call    string `json:"call"`
	Attempt int    `json:"attempt"`
	QuotaWait
}

// QuotaGranted says that the model call that waited for a quota goes on.
type QuotaGranted struct {
	Call    string `json:"call"`
	Attempt int    `json:"attempt"`
}

func (QuotaReached) fact() {}
func (QuotaGranted) fact() {}

// QuotaWait is why a model call waits for a quota, in a word that fits the reason of a condition and in a sentence for people.
type QuotaWait struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

func quotaReached(s State, f QuotaReached) State {
	r := *s.Request
	if f.Call != r.ID || f.Attempt != r.Attempt || r.RetryAt != 0 || r.Quota != nil && *r.Quota == f.QuotaWait {
		return s
	}
	r.Quota = &f.QuotaWait
	s.Request = &r
	return s
}

func quotaGranted(s State, f QuotaGranted) State {
	if f.Call != s.Request.ID || f.Attempt != s.Request.Attempt {
		return s
	}
	return s.withoutQuotaWait()
}

// withoutQuotaWait is for calls that go on, or have ended.
func (s State) withoutQuotaWait() State {
	if s.Request == nil || s.Request.Quota == nil {
		return s
	}
	r := *s.Request
	r.Quota = nil
	s.Request = &r
	return s
}

// QuotaWait is what the agent's model call waits for, or nil if it does not wait for a quota.
func (s State) QuotaWait() *QuotaWait {
	if s.Phase != PhaseRequesting {
		return nil
	}
	return s.Request.Quota
}

// Suspended says that nothing of the agent's own is at work and that all it waits for needs a person or a quota, here or further below.
// Such time does not count.
func (s State) Suspended() bool { return s.WaitsForPerson() || s.QuotaWait() != nil }
