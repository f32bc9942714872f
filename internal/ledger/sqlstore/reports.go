// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/money"
)

// tally returns the columns of ledger.Tally; took is the expression for the duration of a row, NULL while it is
// running.
func tally(took string) string {
	return `COUNT(*), COUNT(*) FILTER (WHERE finished_at IS NULL), COUNT(*) FILTER (WHERE status = 'Success'),
	COUNT(*) FILTER (WHERE status = 'Cancelled'),
	CAST(COALESCE(SUM(` + took + `), 0) AS BIGINT), COALESCE(MAX(` + took + `), 0)`
}

// callTotals returns the columns of ledger.CallTotals, for rows that are grouped by currency. A running call has no
// tokens yet and does not count as unknown.
func callTotals() string {
	return tally("duration") + `,
	CAST(COALESCE(SUM(prompt_tokens), 0) AS BIGINT), CAST(COALESCE(SUM(cached_tokens), 0) AS BIGINT),
	CAST(COALESCE(SUM(completion_tokens), 0) AS BIGINT), CAST(COALESCE(SUM(reasoning_tokens), 0) AS BIGINT),
	COUNT(*) FILTER (WHERE finished_at IS NOT NULL AND (prompt_tokens IS NULL OR completion_tokens IS NULL)),
	COUNT(*) FILTER (WHERE finished_at IS NOT NULL AND cost_micros IS NULL), currency, CAST(SUM(cost_micros) AS BIGINT)`
}

func tallyInto(t *ledger.Tally) []any {
	return []any{&t.Total, &t.Running, &t.Succeeded, &t.Cancelled, (*duration)(&t.TotalDuration), (*duration)(&t.MaxDuration)}
}

func callTotalsInto(t *ledger.CallTotals) []any {
	cost := &costOf{totals: t}
	return append(tallyInto(&t.Tally), &t.PromptTokens, &t.CachedTokens, &t.CompletionTokens, &t.ReasoningTokens,
		&t.UnknownTokenCalls, &t.UnknownCostCalls, &cost.currency, cost)
}

// costOf scans a cost, whose currency was scanned before it.
type costOf struct {
	totals   *ledger.CallTotals
	currency string
}

func (c *costOf) Scan(value any) error {
	if value == nil {
		return nil
	}
	n, ok := value.(int64)
	if !ok {
		return fmt.Errorf("a cost of type %T", value)
	}
	c.totals.Costs = money.Sums{c.currency: n}
	return nil
}

// duration scans a number of microseconds.
type duration time.Duration

func (d *duration) Scan(value any) error {
	n, ok := value.(int64)
	if !ok {
		return fmt.Errorf("a duration of type %T", value)
	}
	*d = duration(time.Duration(n) * time.Microsecond)
	return nil
}

func (s *Store) Usage(ctx context.Context, query ledger.ReportQuery, page ledger.Page) (ledger.List[ledger.Usage], error) {
	var w where
	w.callScope(query.Scope)
	rows, err := report(ctx, s.driver.Reader(), query, page, reportOf[ledger.Usage]{
		table: "model_calls", at: "started_at", totals: callTotals(), by: []string{"currency"}, where: &w,
		into: func(u *ledger.Usage) (*ledger.Group, []any) { return &u.Group, callTotalsInto(&u.CallTotals) },
	})
	return rows, s.fail("report usage", err)
}

func (s *Store) Outcomes(ctx context.Context, query ledger.ReportQuery, page ledger.Page) (ledger.List[ledger.Outcome], error) {
	w := where{conditions: []string{"expired_at IS NULL"}}
	w.scope(query.Scope, "created_at")
	rows, err := report(ctx, s.driver.Reader(), query, page, reportOf[ledger.Outcome]{
		table: "agents", at: "created_at", totals: tally("finished_at - created_at"), where: &w,
		into: func(o *ledger.Outcome) (*ledger.Group, []any) { return &o.Group, tallyInto(&o.Tally) },
	})
	return rows, s.fail("report outcomes", err)
}

// reportOf describes a report: what it sums, the column of its time, and how to scan it into T.
type reportOf[T any] struct {
	table, at, totals string
	by                []string // columns by which the rows are grouped in addition to those of the query
	where             *where
	into              func(*T) (*ledger.Group, []any)
}

// report runs a grouped query. Each page computes the sums of its groups and of those after it. Its cursor is the group
// before it: a row number would repeat or omit a group if another one appears between two pages, and the reader adds
// them up.
func report[T any](ctx context.Context, db querier, query ledger.ReportQuery, page ledger.Page, of reportOf[T]) (ledger.List[T], error) {
	columns, err := groupColumns(query, of.at)
	if err != nil {
		return ledger.List[T]{}, err
	}
	grouped := slices.Concat(columns, of.by)
	if page.Cursor != "" {
		if err := of.where.afterGroup(grouped, query.Every > 0, page.Cursor); err != nil {
			return ledger.List[T]{}, err
		}
	}
	sql := "SELECT " + strings.Join(slices.Concat(columns, []string{of.totals}, grouped), ", ") + " FROM " + of.table + of.where.String()
	if len(grouped) > 0 {
		by := strings.Join(grouped, ", ")
		sql += " GROUP BY " + by + " ORDER BY " + by
	}
	sql += " LIMIT " + of.where.arg(page.Size()+1)
	var cursors []string
	scan := func(r row) (T, error) {
		var item T
		group, totals := of.into(&item)
		key := make([]string, len(grouped))
		into := slices.Concat(groupInto(group, query), totals)
		for i := range key {
			into = append(into, &key[i])
		}
		if err := r.Scan(into...); err != nil {
			return item, err
		}
		cursor, err := json.Marshal(key)
		cursors = append(cursors, string(cursor))
		return item, err
	}
	rows, err := list(ctx, db, scan, sql, of.where.args...)
	return paged(rows, page, func(T) string { return cursors[page.Size()-1] }), err
}

// afterGroup adds the condition that a row is of a group after a cursor. The first column may be a time.
func (w *where) afterGroup(grouped []string, timed bool, cursor string) error {
	var key []string
	if json.Unmarshal([]byte(cursor), &key) != nil || len(key) != len(grouped) || len(key) == 0 {
		return fmt.Errorf("%w: cursor %q is not the Next of a page", ledger.ErrInvalid, cursor)
	}
	args := make([]string, len(key))
	for i, value := range key {
		var arg any = text(value)
		if i == 0 && timed {
			start, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return fmt.Errorf("%w: cursor %q is not the Next of a page", ledger.ErrInvalid, cursor)
			}
			arg = start
		}
		args[i] = w.arg(arg)
	}
	w.conditions = append(w.conditions, "("+strings.Join(grouped, ", ")+") > ("+strings.Join(args, ", ")+")")
	return nil
}

// groupColumns refuses unknown dimensions, because their names become part of the query. at is the column of the time.
func groupColumns(query ledger.ReportQuery, at string) ([]string, error) {
	if err := query.Valid(); err != nil {
		return nil, err
	}
	var columns []string
	if query.Every > 0 {
		columns = append(columns, fmt.Sprintf("%s - %s %% %d", at, at, query.Every.Microseconds()))
	}
	for _, d := range query.GroupBy {
		switch d {
		case ledger.ByNamespace, ledger.ByChat, ledger.ByRole, ledger.ByModel:
			columns = append(columns, string(d))
		default:
			return nil, fmt.Errorf("%w: reports cannot be grouped by %q", ledger.ErrInvalid, d)
		}
	}
	return columns, nil
}

func groupInto(g *ledger.Group, query ledger.ReportQuery) []any {
	fields := map[ledger.Dimension]any{
		ledger.ByNamespace: &g.Namespace, ledger.ByChat: &g.Chat, ledger.ByRole: &g.Role, ledger.ByModel: &g.Model,
	}
	var into []any
	if query.Every > 0 {
		into = append(into, (*moment)(&g.Start))
	}
	for _, d := range query.GroupBy {
		into = append(into, fields[d])
	}
	return into
}

// moment scans a number of microseconds since 1970.
type moment time.Time

func (m *moment) Scan(value any) error {
	n, ok := value.(int64)
	if !ok {
		return fmt.Errorf("a time of type %T", value)
	}
	*m = moment(fromMicros(n))
	return nil
}
