// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"

	api "github.com/nestor-dev/nestor/api/history/v1alpha1"
	"github.com/nestor-dev/nestor/internal/shorten"
)

// Columns of kubectl. A column that begins with + is for -o wide; the others fit 100 columns with names of usual length.
var (
	transcriptColumns = []string{"Name", "Role", "Phase", "Reason", "+Events", "+Calls", "+Tools", "Tokens", "Cost", "Duration", "Age", "+Chat", "+Model", "+UID"}
	modelCallColumns  = []string{"Name", "Role", "Phase", "Tokens", "Duration", "Age", "+Model", "+Prompt", "+Completion", "+Cost", "+Tools", "+Chat", "+Purpose", "+Provider", "+Error", "+Reply"}
	usageColumns      = []string{"Name", "Calls", "Success", "Prompt", "Completion", "Cost", "+Mean", "+Max", "Runs", "Live", "Succeeded", "+Cached", "+Reasoning", "+Failed", "+Unpriced"}
)

type transcriptTable struct{}

// ConvertToTable implements rest.TableConvertor.
func (transcriptTable) ConvertToTable(_ context.Context, object, options runtime.Object) (*metav1.Table, error) {
	return buildTable(object, options, transcriptColumns, func(o runtime.Object) []any {
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
			cost(usage.CostMicros, usage.Total > 0), shortDuration(took), age(t.CreationTimestamp), t.Agent.Chat, t.Agent.Model, string(t.UID),
		}
	})
}

type modelCallTable struct{}

// ConvertToTable implements rest.TableConvertor.
func (modelCallTable) ConvertToTable(_ context.Context, object, options runtime.Object) (*metav1.Table, error) {
	return buildTable(object, options, modelCallColumns, func(o runtime.Object) []any {
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
			c.Spec.Model, tokens(usage.PromptTokens), tokens(usage.CompletionTokens), cost(usage.CostMicros, c.Status.Phase == api.PhaseSuccess),
			strings.Join(c.Status.ToolCalls, ","),
			c.Spec.Chat, c.Spec.Purpose, c.Spec.ModelProvider, firstLine(c.Status.Error), firstLine(c.Status.Summary),
		}
	})
}

type usageTable struct{}

// ConvertToTable implements rest.TableConvertor.
func (usageTable) ConvertToTable(_ context.Context, object, options runtime.Object) (*metav1.Table, error) {
	return buildTable(object, options, usageColumns, func(o runtime.Object) []any {
		u := o.(*api.Usage)
		calls := u.ModelCalls
		return []any{
			u.Name, calls.Total, percent(calls.SuccessPercent), calls.PromptTokens, calls.CompletionTokens, cost(calls.CostMicros, calls.Total > 0),
			millis(calls.MeanDurationMillis), millis(calls.MaxDurationMillis), u.Runs.Total, u.Runs.Live, percent(u.Runs.SuccessPercent),
			calls.CachedTokens, calls.ReasoningTokens, u.Runs.Failed, calls.UnknownCostCalls,
		}
	})
}

// buildTable returns a table with a row for an object, or for each object of a list.
func buildTable(object, options runtime.Object, columns []string, cells func(runtime.Object) []any) (*metav1.Table, error) {
	t := &metav1.Table{}
	if wanted, ok := options.(*metav1.TableOptions); !ok || !wanted.NoHeaders {
		t.ColumnDefinitions = definitions(columns)
	}
	add := func(o runtime.Object) error {
		t.Rows = append(t.Rows, metav1.TableRow{Cells: cells(o), Object: runtime.RawExtension{Object: o}})
		return nil
	}
	if !meta.IsListType(object) {
		return t, add(object)
	}
	list, err := meta.ListAccessor(object)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	t.ResourceVersion, t.Continue = list.GetResourceVersion(), list.GetContinue()
	return t, meta.EachListItem(object, add)
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
func cost(micros *int64, used bool) string {
	switch {
	case micros != nil:
		return fmt.Sprintf("%.4f", float64(*micros)/1e6)
	case used:
		return "unknown"
	}
	return ""
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
