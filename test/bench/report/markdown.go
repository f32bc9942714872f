// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"crypto/sha256"
	_ "embed" // for the page
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
)

//go:embed page.md.tmpl
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"gib": func(n int64) string { return fmt.Sprintf("%.1f", float64(n)/(1<<30)) },
	"mib": func(n int64) string { return fmt.Sprintf("%.1f", float64(n)/(1<<20)) },
	"seconds": func(s float64) string {
		return fmt.Sprintf("%.2f s", s)
	},
	"rate":       func(r Result) string { return ifTurns(r, fmt.Sprintf("%.0f", r.TurnsPerSecond())) },
	"perTurn":    func(r Result, value float64) string { return ifTurns(r, fmt.Sprintf("%.2f", value)) },
	"kilobytes":  func(r Result) string { return ifTurns(r, fmt.Sprintf("%.1f", r.LedgerBytesPerTurn()/1024)) },
	"cpuPerTurn": func(r Result) string { return ifTurns(r, fmt.Sprintf("%.2f ms", r.CPUPerTurn())) },
	"calls": func(r Result) string {
		if r.ModelCalls == 0 {
			return "-"
		}
		return fmt.Sprintf("%.0f", r.CallsPerSecond())
	},
	"cpu": func(r Result, process string) string { return fmt.Sprintf("%.1f s", r.CPUSeconds[process]) },
	"cores": func(r Result, process string) string {
		return fmt.Sprintf("%.2f", over(r.CPUSeconds[process], r.WallSeconds))
	},
	"steady": func(r Result) string {
		value, _ := r.Figure(FigureSteady)
		return fmt.Sprintf("%.0f", value)
	},
	"quantile": quantileText,
	"writes":   writesText,
	"indent":   func(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ") },
}).Parse(pageText))

// page is the data of the template.
type page struct {
	*Report
	Plot string
}

// stamp is the last line of a page: the measured commit, and a digest of the lines above.
const stamp = "<!-- measured %s, sha256 of the lines above %x -->\n"

// CheckPage returns an error if a page is not what WritePage wrote, whole and unchanged.
func CheckPage(text string) error {
	last := strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n") + 1
	_, commit, _ := strings.Cut(text[last:], "measured ")
	commit, _, _ = strings.Cut(commit, ",")
	if text[last:] != fmt.Sprintf(stamp, commit, sha256.Sum256([]byte(text[:last]))) {
		return errors.New("the page is not what the benchmark wrote: write it again with --render and --markdown")
	}
	return nil
}

// WritePage writes the report as Markdown, and its plot beside it as SVG.
func (r *Report) WritePage(path string) error {
	plot := strings.TrimSuffix(path, filepath.Ext(path)) + ".svg"
	if err := os.WriteFile(plot, []byte(r.Plot()), 0o644); err != nil {
		return fmt.Errorf("write the plot: %w", err)
	}
	text, err := r.markdown(filepath.Base(plot))
	if err != nil {
		return err
	}
	text += fmt.Sprintf(stamp, r.Version, sha256.Sum256([]byte(text)))
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

func (r *Report) markdown(plot string) (string, error) {
	var b strings.Builder
	if err := pageTemplate.Execute(&b, page{Report: r, Plot: plot}); err != nil {
		return "", fmt.Errorf("write the page: %w", err)
	}
	return b.String(), nil
}

// OnStack returns the results of scenarios on the whole stack.
func (p page) OnStack() []Result { return p.where(func(r Result) bool { return !r.Bare }) }

// Bare returns the results of the engine and the ledger without Kubernetes.
func (p page) Bare() []Result { return p.where(func(r Result) bool { return r.Bare }) }

// oneOperator is the scenario with which those of several operators are compared.
const oneOperator = "replicas-1"

// Replicas returns the results with different numbers of operators.
func (p page) Replicas() []Result {
	return p.where(func(r Result) bool { return strings.HasPrefix(r.Name, "replicas-") })
}

// Ratio compares the throughput with that of one operator.
func (p page) Ratio(r Result) string { return p.ratio(r, Result.TurnsPerSecond) }

// SteadyRatio compares the throughput without the start and the end of the load with that of one operator.
func (p page) SteadyRatio(r Result) string {
	return p.ratio(r, func(r Result) float64 {
		value, _ := r.Figure(FigureSteady)
		return value
	})
}

func (p page) ratio(r Result, rate func(Result) float64) string {
	one, _ := p.result(oneOperator)
	if ratio := over(rate(r), rate(one)); ratio > 0 {
		return fmt.Sprintf("%.2f", ratio)
	}
	return "-"
}

func (p page) where(fits func(Result) bool) (some []Result) {
	for _, r := range p.Results {
		if fits(r) {
			some = append(some, r)
		}
	}
	return some
}

// WritesToBound returns the share of the API server's write capacity that a scenario used.
func (p page) WritesToBound(r Result) string {
	return ratio(over(float64(r.AllWrites()), r.WallSeconds), p.Bounds.StatusPut2KB)
}

// TurnsToBound returns the throughput relative to the bound, which depends little on the machine's load.
func (p page) TurnsToBound(r Result) string {
	return ifTurns(r, ratio(r.TurnsPerSecond(), p.Bounds.StatusPut2KB))
}

// RowsToBound returns the share of the disk's write capacity that a scenario used.
func (p page) RowsToBound(r Result) string {
	const row = 2 << 10
	return ratio(over(float64(r.LedgerBytes)/row, r.WallSeconds), p.Bounds.SQLiteRows2KB)
}

func ratio(value, bound float64) string {
	if bound == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", value/bound)
}

// ifTurns returns text for scenarios with turns, and "-" for others.
func ifTurns(r Result, text string) string {
	if r.Turns == 0 {
		return "-"
	}
	return text
}

func quantileText(d *Distribution, which string) string {
	if d == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f ms", map[string]float64{"p50": d.P50, "p95": d.P95, "p99": d.P99}[which])
}

func writesText(r Result) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(r.Writes)) {
		parts = append(parts, fmt.Sprintf("%s: %d", key, r.Writes[key]))
	}
	return strings.Join(parts, ", ")
}
