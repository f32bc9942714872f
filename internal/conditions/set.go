// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// Set returns the conditions of an object with one of them set. With Ready or Succeeded it also sets or removes Stalled, as the table
// has it. The time of a condition's last transition changes only with its status.
func Set(all []metav1.Condition, kind string, c metav1.Condition, at metav1.Time) []metav1.Condition {
	next := with(all, c, at)
	if c.Type != v1beta1.ConditionReady && c.Type != v1beta1.ConditionSucceeded {
		return next
	}
	if _, state, _ := Find(kind, c); !state.Stalled {
		return Without(next, v1beta1.ConditionStalled)
	}
	c.Type, c.Status = v1beta1.ConditionStalled, metav1.ConditionTrue
	return with(next, c, at)
}

// Without returns the conditions except the one of a type.
func Without(all []metav1.Condition, name string) []metav1.Condition {
	return slices.DeleteFunc(slices.Clone(all), func(c metav1.Condition) bool { return c.Type == name })
}

func with(all []metav1.Condition, c metav1.Condition, at metav1.Time) []metav1.Condition {
	c.LastTransitionTime = at
	next := slices.Clone(all)
	i := slices.IndexFunc(next, func(old metav1.Condition) bool { return old.Type == c.Type })
	if i < 0 {
		return append(next, c)
	}
	if next[i].Status == c.Status {
		c.LastTransitionTime = next[i].LastTransitionTime
	}
	next[i] = c
	return next
}
