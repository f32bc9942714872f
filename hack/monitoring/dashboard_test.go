// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

// dashboard has the relevant parts of Grafana's model.
type dashboard struct {
	UID, Title string
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
	Panels []panel
}

type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ H, W, X, Y int }
	Targets                  []struct{ Expr, LegendFormat string }
	FieldConfig              struct {
		Defaults struct{ Unit string }
	}
}

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	data, err := os.ReadFile("../../config/monitoring/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

var (
	values   = strings.NewReplacer("$__rate_interval", "5m", "$job", ".*", "$provider", ".*")
	variable = regexp.MustCompile(`\$\w+|\$\{\w+\}`)
	lookup   = regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)
)

func TestDashboardQueriesExistingMetrics(t *testing.T) {
	metrics, queries := documented(t), 0
	for _, p := range readDashboard(t).Panels {
		for _, target := range p.Targets {
			expression := values.Replace(target.Expr)
			if unknown := variable.FindString(expression); unknown != "" {
				t.Errorf("%s uses the undefined variable %s", p.Title, unknown)
			}
			metrics.check(t, p.Title, expression)
			queries++
		}
	}
	if queries < 30 {
		t.Errorf("the dashboard has only %d queries", queries)
	}
	for _, v := range readDashboard(t).Templating.List {
		if v.Type != "query" {
			continue
		}
		found := lookup.FindStringSubmatch(v.Definition)
		if found == nil {
			t.Errorf("the variable %s cannot be read: %s", v.Name, v.Definition)
			continue
		}
		metrics.check(t, v.Name, "count by ("+found[2]+") ("+values.Replace(found[1])+")")
	}
}

func TestDashboardLayout(t *testing.T) {
	const width = 24
	taken, ids, sections := map[[2]int]string{}, map[int]bool{}, map[string]bool{}
	section := ""
	for _, p := range readDashboard(t).Panels {
		if ids[p.ID] {
			t.Errorf("%s has the id of another panel", p.Title)
		}
		ids[p.ID] = true
		if p.Type == "row" {
			section = p.Title
		} else if p.Description == "" || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 || sections[section+p.Title] {
			t.Errorf("%s / %s needs a unique title, a description, a unit and a query", section, p.Title)
		}
		sections[section+p.Title] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= width {
					t.Fatalf("%s overlaps %s or the edge", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
	bottom := 0
	for at := range taken {
		bottom = max(bottom, at[1]+1)
	}
	if len(taken) != width*bottom {
		t.Errorf("%d of %d cells are empty", width*bottom-len(taken), width*bottom)
	}
}
