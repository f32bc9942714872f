// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package toolserver

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
)

func TestConditionOfAServer(t *testing.T) {
	for name, test := range map[string]struct {
		known  mcp.Status
		status metav1.ConditionStatus
		reason string
	}{
		"ready":         {mcp.Status{Ready: true}, metav1.ConditionTrue, v1beta1.ReasonReady},
		"connecting":    {mcp.Status{Reason: mcp.Connecting}, metav1.ConditionUnknown, v1beta1.ReasonNotChecked},
		"refuses":       {mcp.Status{Reason: mcp.Unauthorized}, metav1.ConditionFalse, v1beta1.ReasonUnauthorized},
		"invalid spec":  {mcp.Status{Reason: mcp.InvalidServer}, metav1.ConditionFalse, v1beta1.ReasonInvalidSpec},
		"not connected": {mcp.Status{}, metav1.ConditionFalse, v1beta1.ReasonUnreachable},
	} {
		c := conditionOf(3, test.known)
		if c.Type != v1beta1.ConditionReady || c.Status != test.status || c.Reason != test.reason || c.ObservedGeneration != 3 {
			t.Errorf("%s: %+v, want %s with reason %s", name, c, test.status, test.reason)
		}
	}
}
