// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"fmt"
	"strings"
)

var (
	//go:embed templates/argocd-cm.yaml
	argocdTemplate string
	//go:embed templates/flux-team.yaml
	fluxTemplate string
)

// argoDefaults maps the type and status of a condition to the health that Argo CD derives from them alone.
var argoDefaults = map[string]string{
	"Ready=True": "Healthy", "Ready=False": "Degraded", "Ready=Unknown": "Progressing",
	"Succeeded=True": "Healthy", "Succeeded=False": "Degraded", "Succeeded=Unknown": "Progressing",
	"ToolsChanged=False": "Healthy",
}

// argocd returns the ConfigMap with the health check of Argo CD.
func argocd(t table) string {
	var keys []string
	exceptions := map[string][]string{}
	for _, r := range t.Reasons {
		for _, s := range t.states(r) {
			key := s.condition + "=" + s.status
			if s.group.Stalled || s.group.Argo == "Unchanged" || s.group.Argo == argoDefaults[key] {
				continue // the health follows from Stalled or from argoDefaults
			}
			if exceptions[key] == nil {
				keys = append(keys, key)
			}
			exceptions[key] = append(exceptions[key], fmt.Sprintf("%s = %q", r.Reason, s.group.Argo))
		}
	}
	var lines []string
	for _, key := range keys {
		lines = append(lines, fmt.Sprintf("          [%q] = {", key))
		for _, exception := range exceptions[key] {
			lines = append(lines, "            "+exception+",")
		}
		lines = append(lines, "          },")
	}
	return strings.Replace(argocdTemplate, "VERDICTS", strings.Join(lines, "\n"), 1)
}

// flux returns the Kustomization with the health checks of Flux.
func flux(t table) string {
	var b strings.Builder
	b.WriteString(fluxTemplate)
	for _, c := range t.Conditions {
		if c.Type != "Succeeded" {
			continue
		}
		for _, kind := range c.Kinds {
			fmt.Fprintf(&b, `    - apiVersion: nestor.dev/v1beta1
      kind: %s
      current: status.conditions.exists(c, c.type == 'Succeeded' && c.status == 'True')
      failed: status.conditions.exists(c, c.type == 'Succeeded' && c.status == 'False' || c.type == 'Stalled' && c.status == 'True')
`, kind)
		}
	}
	return b.String()
}
