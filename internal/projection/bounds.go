// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/shorten"
)

// The bounds of the API, in characters and entries. A test compares them with the generated CRDs.
const (
	maxMessages        = 8
	maxToolCalls       = 8
	maxPinnedRevisions = 24
	maxWaiting         = 32
	maxRequesters      = 64
	maxContent         = 1024
	maxArguments       = 256 // bytes of JSON
	maxToolResult      = 256
	maxToolError       = 256
	maxToolName        = 128
	maxLabelSource     = 64
	maxLabelCall       = 32
	maxRuleMessage     = 128
	maxProgress        = 256
	maxSummary         = 2048
	maxQuestion        = 1024
	maxWaitingText     = 1024
	maxErrorMessage    = 1024
	maxBailout         = 256
	maxResultSummary   = 4096
	maxResultDetails   = 8192
	maxTaskData        = 32 << 10 // bytes of JSON
	maxSubAgentData    = 4 << 10  // bytes of JSON; the rest of its status is large
	maxFiles           = 32
	maxRemarks         = 8
	maxEntry           = 256 // a path or a remark
	maxCondition       = 1024
)

// shortenAll shortens a list of paths or remarks.
func shortenAll(texts []string, entries int) []string {
	if len(texts) == 0 {
		return nil
	}
	short := make([]string, 0, min(len(texts), entries))
	for _, text := range texts[:min(len(texts), entries)] {
		short = append(short, shorten.Head(text, maxEntry))
	}
	return short
}

// moment converts a time of the core to a time of the API; the zero time is nil.
func moment(t agent.Time) *metav1.Time {
	if t == 0 {
		return nil
	}
	// The API stores whole seconds. A status with fractions would never equal the stored one, and would be written again
	// at every reconcile.
	return new(metav1.NewTime(time.UnixMilli(int64(t)).UTC().Truncate(time.Second)))
}
