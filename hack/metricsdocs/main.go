// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Command metricsdocs writes what there is to observe where people look for it: the reference of the metrics, and the alerts as a
// PrometheusRule.
//
//	metricsdocs docs/reference/metrics.md config/monitoring/rules.yaml config/monitoring/prometheusrule.yaml
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/nestor-dev/nestor/internal/metrics"
)

const ruleHead = `# Made by make generate from rules.yaml, for the Prometheus Operator.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: nestor
  labels:
    app.kubernetes.io/name: nestor-operator
spec:
`

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: metricsdocs METRICS.MD RULES.YAML PROMETHEUSRULE.YAML")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "metricsdocs:", err)
		os.Exit(1)
	}
}

func write(page, rules, object string) error {
	text, err := metrics.Reference()
	if err != nil {
		return err
	}
	if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
		return err
	}
	plain, err := os.ReadFile(rules)
	if err != nil {
		return err
	}
	return os.WriteFile(object, []byte(ruleHead+indent(string(plain))), 0o644)
}

// indent puts a YAML document, without the comment at its head, below a key.
func indent(document string) string {
	var b strings.Builder
	head := true
	for line := range strings.Lines(document) {
		head = head && strings.HasPrefix(line, "#")
		switch {
		case head:
		case strings.TrimSpace(line) == "":
			b.WriteString("\n")
		default:
			b.WriteString("  " + line)
		}
	}
	return b.String()
}
