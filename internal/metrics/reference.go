// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

const referenceHead = `# Metrics

<!-- Made by make generate from internal/metrics: change the metrics' own descriptions instead. -->

` + "`nestor-operator --metrics-bind-address :8080` serves these at `/metrics`, beside those of controller-runtime (`controller_runtime_*`,\n" +
	"`workqueue_*`, `rest_client_*`, `leader_election_*`) and of Go (`go_*`, `process_*`). Labels are few and bounded; questions about single\n" +
	"agents are for the ledger. [Observe Nestor](../tasks/observe.md) shows how to use them, and tells of the metrics of OpenTelemetry.\n" + `
| metric | type | labels | what it says |
|---|---|---|---|
`

const referenceFoot = "\n`provider` is the namespace and name of a ModelProvider. Money is in millionths of the currency that the provider's prices are in.\n"

// Reference is the page that documents every metric.
func Reference() (string, error) {
	page := &page{}
	if _, err := New(page); err != nil {
		return "", err
	}
	for _, c := range []prometheus.Collector{Engine{}, Ledger{}, Streams{}, Writes{}} {
		if err := page.Register(c); err != nil {
			return "", err
		}
	}
	return referenceHead + page.rows.String() + referenceFoot, nil
}

// page is a registry that only writes down what there is.
type page struct {
	prometheus.Registerer

	rows strings.Builder
}

// described is how a description prints; it has no other way to be read.
var described = regexp.MustCompile(`fqName: "([^"]+)", help: ("(?:[^"\\]|\\.)*"), .*variableLabels: \{([^}]*)\}`)

// Register implements prometheus.Registerer.
func (p *page) Register(c prometheus.Collector) error {
	descriptions := make(chan *prometheus.Desc, 16)
	c.Describe(descriptions)
	close(descriptions)
	for d := range descriptions {
		found := described.FindStringSubmatch(d.String())
		if found == nil {
			return fmt.Errorf("a metric describes itself as %s, which cannot be read", d)
		}
		help, err := strconv.Unquote(found[2])
		if err != nil {
			return fmt.Errorf("read the description of %s: %w", found[1], err)
		}
		labels := ""
		if found[3] != "" {
			labels = "`" + strings.ReplaceAll(found[3], ",", "`, `") + "`"
		}
		fmt.Fprintf(&p.rows, "| `%s` | %s | %s | %s |\n", found[1], typeOf(c, found[1]), labels, help)
	}
	return nil
}

func typeOf(c prometheus.Collector, name string) string {
	switch _, isHistogram := c.(*prometheus.HistogramVec); {
	case isHistogram:
		return "histogram"
	case strings.HasSuffix(name, "_total"):
		return "counter"
	}
	return "gauge"
}
