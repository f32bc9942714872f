// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// maxDurationSeconds is the highest limit that the API allows. It applies to runs without a limit of their own.
const maxDurationSeconds = 86400

// withoutProgress returns how long the status of an active run has not changed, or 0 if that time is not suspicious.
// The operator ends a run after its duration limit and writes the status when a wait begins or ends, so only a
// longer time is suspicious. slowStart allows for the final answer at the limit. For a task with a sub-agent, the
// sub-agent is checked instead.
func (o object) withoutProgress(reason string) time.Duration {
	active := o.Status.Phase == string(v1beta1.SubAgentActive) || o.Status.Phase == string(v1beta1.TaskRunning) && o.Status.SubAgent == ""
	if !active || reason != v1beta1.ReasonRunning {
		return 0
	}
	idle := time.Since(changeTime(o.Metadata, "status"))
	if idle <= time.Duration(cmp.Or(o.Spec.Limits.MaxDurationSeconds, maxDurationSeconds))*time.Second+slowStart {
		return 0
	}
	return idle
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
