// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestDescriptionWithQuotes(t *testing.T) {
	page := &descCollector{}
	if err := page.Register(prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "nestor_x", Help: `What somebody calls "x", or C:\x.`}, []string{"a", "b"})); err != nil {
		t.Fatal(err)
	}
	if want := "| `nestor_x` | gauge | `a`, `b` | What somebody calls \"x\", or C:\\x. |\n"; !strings.HasSuffix(page.rows.String(), want) {
		t.Errorf("it is described as\n%swant\n%s", page.rows.String(), want)
	}
}
