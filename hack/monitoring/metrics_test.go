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

// known are metrics and their labels.
type known map[string][]string

// others are the metrics that the operator has from its libraries, and the one that the API server has. That the operator really
// serves its own is a test of test/otel.
var others = known{
	"controller_runtime_reconcile_errors_total":        {"controller"},
	"controller_runtime_reconcile_time_seconds_bucket": {"controller", "le"},
	"rest_client_requests_total":                       {"code", "host", "method"},
	"workqueue_depth":                                  {"controller", "name", "priority"},
	"process_cpu_seconds_total":                        nil,
	"process_resident_memory_bytes":                    nil,
	"aggregator_unavailable_apiservice":                {"name"},
}

// scraped are the labels that Prometheus adds.
var scraped = []string{"job", "instance", "__name__"}

var row = regexp.MustCompile("(?m)^\\| `(nestor_[a-z_]+)` \\| (\\w+) \\| (.*?) \\|")

// documented reads the metrics of the reference, which is made from the operator's own.
func documented(t *testing.T) known {
	t.Helper()
	page, err := os.ReadFile("../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	metrics := known{}
	for name, labels := range others {
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

// check holds that an expression is valid and that everything in it exists.
func (k known) check(t *testing.T, where, expression string) {
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
	offered = append(offered, scraped...)
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

// checkSelector returns the labels of the metric that is selected.
func (k known) checkSelector(t *testing.T, where string, selector *parser.VectorSelector) []string {
	t.Helper()
	offered, ok := k[selector.Name]
	if !ok {
		t.Errorf("%s asks for %s, which there is not", where, selector.Name)
	}
	for _, matcher := range selector.LabelMatchers {
		if matcher.Name == labels.MetricName || slices.Contains(scraped, matcher.Name) {
			continue
		}
		if !slices.Contains(offered, matcher.Name) {
			t.Errorf("%s looks at the label %s of %s, which has %v", where, matcher.Name, selector.Name, offered)
		}
	}
	return offered
}
