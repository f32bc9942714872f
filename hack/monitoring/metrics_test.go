// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

type metricLabels map[string][]string

// libraryMetrics are the metrics of the operator's libraries, and one of the API server. test/otel checks that the operator
// serves its own.
var libraryMetrics = metricLabels{
	"controller_runtime_reconcile_errors_total":        {"controller"},
	"controller_runtime_reconcile_time_seconds_bucket": {"controller", "le"},
	"rest_client_requests_total":                       {"code", "host", "method"},
	"workqueue_depth":                                  {"controller", "name", "priority"},
	"process_cpu_seconds_total":                        nil,
	"process_resident_memory_bytes":                    nil,
	"aggregator_unavailable_apiservice":                {"name"},
}

var scrapeLabels = []string{"job", "instance", "__name__"}

var row = regexp.MustCompile("(?m)^\\| `(nestor_[a-z_]+)` \\| (\\w+) \\| (.*?) \\|")

func documented(t *testing.T) metricLabels {
	t.Helper()
	page, err := os.ReadFile("../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	metrics := metricLabels{}
	for name, labels := range libraryMetrics {
		metrics[name] = labels
	}
	rows := row.FindAllStringSubmatch(string(page), -1)
	if len(rows) < 20 {
		t.Fatalf("the reference has only %d metrics", len(rows))
	}
	for _, match := range rows {
		var labels []string
		for label := range strings.SplitSeq(strings.ReplaceAll(match[3], "`", ""), ", ") {
			labels = append(labels, label)
		}
		if match[2] != "histogram" {
			metrics[match[1]] = labels
			continue
		}
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			metrics[match[1]+suffix] = append(slices.Clone(labels), "le")
		}
	}
	return metrics
}

// check checks that an expression is valid and that its metrics and labels exist.
func (k metricLabels) check(t *testing.T, where, expression string) {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	if err != nil {
		t.Errorf("%s: %v\n%s", where, err, expression)
		return
	}
	var offered []string
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			offered = append(offered, k.checkSelector(t, where, selector)...)
		}
		return nil
	})
	offered = append(offered, scrapeLabels...)
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if sum, ok := node.(*parser.AggregateExpr); ok {
			for _, label := range sum.Grouping {
				if !slices.Contains(offered, label) {
					t.Errorf("%s groups by %s, which none of its metrics has", where, label)
				}
			}
		}
		return nil
	})
}

func (k metricLabels) checkSelector(t *testing.T, where string, selector *parser.VectorSelector) []string {
	t.Helper()
	offered, ok := k[selector.Name]
	if !ok {
		t.Errorf("%s uses the unknown metric %s", where, selector.Name)
	}
	for _, matcher := range selector.LabelMatchers {
		if matcher.Name == labels.MetricName || slices.Contains(scrapeLabels, matcher.Name) {
			continue
		}
		if !slices.Contains(offered, matcher.Name) {
			t.Errorf("%s uses the label %s of %s, which has %v", where, matcher.Name, selector.Name, offered)
		}
	}
	return offered
}
