// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"

	api "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/money"
	"github.com/nestor-dev/nestor/internal/shorten"
)

// Columns of kubectl. A column that begins with + is for -o wide; the others fit 100 columns with names of usual length.
var (
	transcriptColumns = []string{"Name", "Role", "Phase", "Reason", "+Events", "+Calls", "+Tools", "Tokens", "Cost", "Duration", "Age", "+Chat", "+Model", "+UID"}
	modelCallColumns  = []string{"Name", "Role", "Phase", "Tokens", "Duration", "Age", "+Model", "+Prompt", "+Completion", "+Cost", "+Tools", "+Chat", "+Purpose", "+Provider", "+Error", "+Reply"}
	usageColumns      = []string{"Name", "Calls", "Success", "Prompt", "Completion", "Cost", "+Mean", "+Max", "Runs", "Live", "Succeeded", "+Cached", "+Reasoning", "+Failed", "+Unpriced"}
)

func transcriptCells(o runtime.Object) []any {
	t := o.(*api.Transcript)
	var usage api.CallUsage
	if t.Status.Usage != nil {
		usage = *t.Status.Usage
	}
	took := time.Since(t.Status.StartTime.Time)
	if t.Status.CompletionTime != nil {
		took = t.Status.CompletionTime.Sub(t.Status.StartTime.Time)
	}
	return []any{
		t.Name, t.Agent.Role, string(t.Status.Phase), t.Status.ErrorKind, t.Status.LastSeq, usage.Total, t.Status.ToolCalls, usage.TotalTokens,
		costs(usage), shortDuration(took), age(t.CreationTimestamp), t.Agent.Chat, t.Agent.Model, string(t.UID),
	}
}

func modelCallCells(o runtime.Object) []any {
	c := o.(*api.ModelCall)
	usage := c.Status.Usage
	if usage == nil {
		usage = &api.TokenUsage{}
	}
	took := ""
	if c.Status.DurationMillis != nil {
		took = millis(c.Status.DurationMillis)
	}
	return []any{
		c.Name, c.Spec.Role, string(c.Status.Phase), allTokens(*usage), took, age(c.CreationTimestamp),
		c.Spec.Model, tokens(usage.PromptTokens), tokens(usage.CompletionTokens), cost(usage.CostMicros, usage.Currency, c.Status.Phase == api.PhaseSuccess),
		strings.Join(c.Status.ToolCalls, ","),
		c.Spec.Chat, c.Spec.Purpose, c.Spec.ModelProvider, firstLine(c.Status.Error), firstLine(c.Status.Summary),
	}
}

func usageCells(o runtime.Object) []any {
	u := o.(*api.Usage)
	calls := u.ModelCalls
	return []any{
		u.Name, calls.Total, percent(calls.SuccessPercent), calls.PromptTokens, calls.CompletionTokens, costs(calls),
		millis(calls.MeanDurationMillis), millis(calls.MaxDurationMillis), u.Runs.Total, u.Runs.Live, percent(u.Runs.SuccessPercent),
		calls.CachedTokens, calls.ReasoningTokens, u.Runs.Failed, calls.UnknownCostCalls,
	}
}

func definitions(columns []string) []metav1.TableColumnDefinition {
	defined := make([]metav1.TableColumnDefinition, len(columns))
	for i, name := range columns {
		defined[i] = metav1.TableColumnDefinition{Name: name, Type: "string"}
		if wide, ok := strings.CutPrefix(name, "+"); ok {
			defined[i].Name, defined[i].Priority = wide, 1
		}
		if name == "Name" {
			defined[i].Format = "name"
		}
	}
	return defined
}

// cost formats a cost in units of the currency. Unknown is not zero.
func cost(micros *int64, currency string, used bool) string {
	switch {
	case micros != nil:
		return money.Format(*micros, currency)
	case used:
		return "unknown"
	}
	return ""
}

// costs formats the costs of calls, one for each currency.
func costs(calls api.CallUsage) string {
	if len(calls.Costs) == 0 {
		return cost(nil, "", calls.Total > 0)
	}
	sums := money.Sums{}
	for _, c := range calls.Costs {
		sums[c.Currency] += c.CostMicros
	}
	return sums.String()
}

func tokens(n *int64) any {
	if n == nil {
		return ""
	}
	return *n
}

// allTokens returns the tokens of the prompt and of the reply.
func allTokens(u api.TokenUsage) any {
	if u.PromptTokens == nil || u.CompletionTokens == nil {
		return ""
	}
	return *u.PromptTokens + *u.CompletionTokens
}

func percent(n *int32) string {
	if n == nil {
		return ""
	}
	return fmt.Sprintf("%d%%", *n)
}

func millis(n *int64) string {
	if n == nil {
		return ""
	}
	return shortDuration(time.Duration(*n) * time.Millisecond)
}

// shortDuration formats a duration in two or three characters; below ten seconds it has tenths.
func shortDuration(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", max(d, 0).Seconds())
	}
	return duration.HumanDuration(d)
}

func age(created metav1.Time) string { return duration.HumanDuration(time.Since(created.Time)) }

// firstLine returns the beginning of a text as one line.
func firstLine(text string) string {
	const limit = 60
	return shorten.Head(shorten.Line(text), limit)
}
