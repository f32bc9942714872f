// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// querier is a pool or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// row is the source of a scan function: a single row, or the current one of many.
type row = Row

func list[T any](ctx context.Context, db querier, scan func(row) (T, error), query string, args ...any) ([]T, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // Err has already reported the error.
	var items []T
	for rows.Next() {
		item, err := scan(rows)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, rows.Err()
}

// into returns a scan function that scans a row into the fields of a T.
func into[T any](fields func(*T) []any) func(row) (T, error) {
	return func(r row) (T, error) {
		var item T
		err := r.Scan(fields(&item)...)
		return item, err
	}
}

// storedCall is a row of a call whose texts may be references.
type storedCall[T any] interface {
	whole(u *unfolder) (T, error)
}

// listCalls lists calls without their bodies.
func listCalls[C storedCall[T], T any](ctx context.Context, db querier, scan func(row) (C, error), query string, args ...any) ([]T, error) {
	rows, err := list(ctx, db, scan, query, args...)
	if err != nil {
		return nil, err
	}
	u := newUnfolder(ctx, db)
	calls := make([]T, len(rows))
	for i := range rows {
		if calls[i], err = rows[i].whole(u); err != nil {
			return nil, err
		}
	}
	return calls, nil
}

type where struct {
	conditions []string
	args       []any
}

// add adds a condition; the argument's placeholder is appended to it.
func (w *where) add(condition string, arg any) {
	w.conditions = append(w.conditions, condition+w.arg(arg))
}

// equal adds a condition unless the value is empty.
func (w *where) equal(column, value string) {
	if value != "" {
		w.add(column+" = ", text(value))
	}
}

// arg adds an argument and returns its placeholder.
func (w *where) arg(arg any) string {
	w.args = append(w.args, arg)
	return "$" + strconv.Itoa(len(w.args))
}

// addArgs adds arguments and returns the list of their placeholders.
func addArgs[T any](w *where, args []T) string {
	places := make([]string, len(args))
	for i, arg := range args {
		places[i] = w.arg(arg)
	}
	return strings.Join(places, ", ")
}

// scope adds the conditions of a scope; at is the time column.
func (w *where) scope(s ledger.Scope, at string) {
	w.equal("namespace", s.Namespace)
	w.equal("namespace_uid", s.NamespaceUID)
	w.equal("chat", s.Chat)
	w.equal("root_uid", s.Root)
	w.equal("role", s.Role)
	w.equal("model", s.Model)
	if !s.Since.IsZero() {
		w.add(at+" >= ", micros(s.Since))
	}
	if !s.Until.IsZero() {
		w.add(at+" < ", micros(s.Until))
	}
}

// callScope adds the conditions of a scope for model calls. The calls of a tree are selected by its agents.
func (w *where) callScope(s ledger.Scope) {
	if s.Root != "" {
		w.conditions = append(w.conditions, "agent IN (SELECT id FROM agents WHERE root_uid = "+w.arg(text(s.Root))+")")
		s.Root = ""
	}
	w.scope(s, "started_at")
}

// String returns the WHERE clause; empty without conditions.
func (w *where) String() string {
	if len(w.conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.conditions, " AND ")
}

// after continues after a cursor in the order of a time and a unique column, which together identify a row: pages do
// not shift when rows are added or deleted.
func (w *where) after(cursor, at, unique string) error {
	if cursor == "" {
		return nil
	}
	number, id, ok := strings.Cut(cursor, "/")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || !ok {
		return fmt.Errorf("%w: cursor %q is not the Next of a page", ledger.ErrInvalid, cursor)
	}
	w.conditions = append(w.conditions, fmt.Sprintf("(%s, %s) > (%s, %s)", at, unique, w.arg(n), w.arg(id)))
	return nil
}

// ordered ends a paged query. It selects one row more than the page, to detect whether there is a next page.
func (w *where) ordered(page ledger.Page, at, unique string) string {
	return fmt.Sprintf("%s ORDER BY %s, %s LIMIT %s", w, at, unique, w.arg(page.Size()+1))
}

// paged cuts a list to its page; cursor returns the cursor of an item.
func paged[T any](items []T, page ledger.Page, cursor func(T) string) ledger.List[T] {
	if len(items) <= page.Size() {
		return ledger.List[T]{Items: items}
	}
	items = items[:page.Size()]
	return ledger.List[T]{Items: items, Next: cursor(items[len(items)-1])}
}

func timeCursor(at time.Time, id string) string { return strconv.FormatInt(micros(at), 10) + "/" + id }
