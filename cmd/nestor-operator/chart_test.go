// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/nestor-dev/nestor/config/operator"
	"github.com/nestor-dev/nestor/internal/program"
)

func TestChartSetsKnownFlags(t *testing.T) {
	template, err := os.ReadFile(filepath.Join("..", "..", "charts", "nestor", "templates", "_pod.tpl"))
	if err != nil {
		t.Fatal(err)
	}
	set := flag.NewFlagSet("", flag.ContinueOnError)
	new(options).register(set)
	found := regexp.MustCompile(`(?m)^- --([a-z-]+)`).FindAllSubmatch(template, -1)
	if len(found) < 10 {
		t.Fatalf("the chart sets only %d flags", len(found))
	}
	for _, match := range found {
		if set.Lookup(string(match[1])) == nil {
			t.Errorf("the chart sets --%s, which the operator does not know", match[1])
		}
	}
}

func TestDefaultNamespaceMatchesChart(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "")
	if program.OperatorNamespace() != operator.Namespace {
		t.Errorf("the operator's default namespace is %s, but the chart installs it in %s", program.OperatorNamespace(), operator.Namespace)
	}
}
