// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package endpoint answers the API server's requests for admission.
//
// No safety depends on an answer, so it never delays or prevents more than it must: what cannot be judged in time is admitted, and so is
// what makes the judge fail. Anyone who can connect to the endpoint can ask; the work for all of them together is bounded.
package endpoint
