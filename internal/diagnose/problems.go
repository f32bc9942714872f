// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"strings"

	"github.com/nestor-dev/nestor/internal/health"
)

// checks are the checks for the problems of a namespace that no other check reports.
var checks = map[health.Kind]string{health.Ledger: "ledger", health.Provider: "provider", health.RateLimit: "provider", health.Quota: "quota", health.ToolServer: "tools"}

// problems reports what keeps the agents of the namespace from working, as the page and the command line show it.
func (t Target) problems(ctx context.Context) []Finding {
	list, err := health.Namespace{API: t.API, Name: t.Namespace, OperatorNamespace: t.OperatorNamespace, Heartbeat: &health.Observer{}}.Problems(ctx)
	if err != nil {
		return nil // the check of the rights reports it
	}
	var findings []Finding
	for _, p := range list {
		check, known := checks[p.Kind]
		if !known || p.Object == "" || strings.HasPrefix(p.Object, "ModelProvider ") {
			continue // the checks of the operator, the ledger and the providers report it
		}
		status := Warning
		if p.Kind == health.Ledger {
			status = Failed
		}
		message := strings.ToLower(p.Message[:1]) + strings.TrimSuffix(p.Message[1:], ".")
		findings = append(findings, found(check, status, "%s", message).advise("%s", p.Todo))
	}
	return findings
}
