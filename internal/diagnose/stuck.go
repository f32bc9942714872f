// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// maxDurationSeconds is the highest limit that the API allows, for runs without one.
const maxDurationSeconds = 86400

// withoutProgress returns how long a run has been active without a change of its status, if that is longer than it may be: the operator
// ends it after maxDurationSeconds, and writes the status when it begins and ends to wait. The last answer at the limit takes some time.
// A task with a sub-agent is judged by the sub-agent.
func (o object) withoutProgress(reason string) time.Duration {
	active := o.Status.Phase == string(v1beta1.SubAgentActive) || o.Status.Phase == string(v1beta1.TaskRunning) && o.Status.SubAgent == ""
	if !active || reason != v1beta1.ReasonRunning {
		return 0
	}
	still := time.Since(changeTime(o.Metadata, "status"))
	if still <= time.Duration(cmp.Or(o.Spec.Limits.MaxDurationSeconds, maxDurationSeconds))*time.Second+slowStart {
		return 0
	}
	return still
}

// changeTime returns when an object, or its subresource, was last changed.
func changeTime(m metav1.ObjectMeta, subresource string) time.Time {
	last := m.CreationTimestamp.Time
	for _, f := range m.ManagedFields {
		if f.Subresource == subresource && f.Time != nil && f.Time.After(last) {
			last = f.Time.Time
		}
	}
	return last
}
