// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// toolServers reports the tool servers of the namespace whose tools changed since they were pinned. It
// reports nothing if the user may not list them: another check reports missing permissions.
func (t Target) toolServers(ctx context.Context) []Finding {
	var list v1beta1.ToolServerList
	if err := t.API.List(ctx, &list, client.InNamespace(t.Namespace)); err != nil {
		return nil
	}
	var findings []Finding
	for i := range list.Items {
		s := &list.Items[i]
		if c := meta.FindStatusCondition(s.Status.Conditions, v1beta1.ConditionToolsChanged); c != nil && c.Reason == v1beta1.ReasonToolsWithheld {
			findings = append(findings, found("tools", Warning, "tools of the ToolServer %s changed, and are withheld", s.Name).advise("%s", c.Message))
		}
	}
	return findings
}
