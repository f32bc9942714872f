// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/selection"

	api "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// defaultListLimit bounds a list that was requested without a limit. It is high because such a client may not support
// paging.
const defaultListLimit = 10_000

// listQuery is a list request in terms of the ledger.
type listQuery struct {
	fields map[string]string
	scope  ledger.Scope
	limit  int
	// unlimited reports that the request has no limit.
	unlimited bool
	cursor    string
	// contradictory means that the selectors contradict each other.
	contradictory bool
}

// parseListOptions parses the options of a list in a namespace, or in all namespaces if it is empty.
func parseListOptions(namespace string, options *metainternalversion.ListOptions) (listQuery, error) {
	a := listQuery{fields: map[string]string{}, scope: ledger.Scope{Namespace: namespace}, limit: defaultListLimit, unlimited: true}
	if options == nil {
		return a, nil
	}
	for _, read := range []func(*metainternalversion.ListOptions) error{a.readFields, a.readLabels, a.readPage} {
		if err := read(options); err != nil {
			return a, err
		}
	}
	return a, nil
}

func (a *listQuery) readFields(options *metainternalversion.ListOptions) error {
	if options.FieldSelector == nil {
		return nil
	}
	for _, r := range options.FieldSelector.Requirements() {
		if r.Operator != selection.Equals && r.Operator != selection.DoubleEquals {
			return apierrors.NewBadRequest(fmt.Sprintf("field selector %s%s%s: only = can be used here", r.Field, r.Operator, r.Value))
		}
		a.fields[r.Field] = r.Value
	}
	if wanted, ok := a.fields[api.FieldNamespace]; ok {
		a.restrict(&a.scope.Namespace, wanted)
	}
	var err error
	if a.scope.Since, err = a.timeField(api.FieldSince); err != nil {
		return err
	}
	a.scope.Until, err = a.timeField(api.FieldUntil)
	return err
}

func (a *listQuery) timeField(field string) (time.Time, error) {
	text, ok := a.fields[field]
	if !ok {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, apierrors.NewBadRequest(fmt.Sprintf("field selector %s=%s: write the time as 2006-01-02T15:04:05Z", field, text))
	}
	return at, nil
}

func (a *listQuery) readLabels(options *metainternalversion.ListOptions) error {
	if options.LabelSelector == nil {
		return nil
	}
	requirements, selectable := options.LabelSelector.Requirements()
	a.contradictory = a.contradictory || !selectable
	into := map[string]*string{v1beta1.LabelChat: &a.scope.Chat, v1beta1.LabelRole: &a.scope.Role}
	equality := []selection.Operator{selection.Equals, selection.DoubleEquals, selection.In}
	for _, r := range requirements {
		field, ok := into[r.Key()]
		if !ok || !slices.Contains(equality, r.Operator()) || r.Values().Len() != 1 {
			return apierrors.NewBadRequest(fmt.Sprintf("label selector %q: history can be selected by %s=CHAT and %s=ROLE",
				r.String(), v1beta1.LabelChat, v1beta1.LabelRole))
		}
		a.restrict(field, r.Values().List()[0])
	}
	return nil
}

// restrict adds a condition.
func (a *listQuery) restrict(field *string, value string) {
	a.contradictory = a.contradictory || value == "" || (*field != "" && *field != value)
	*field = value
}

func (a *listQuery) readPage(options *metainternalversion.ListOptions) error {
	if options.Limit > 0 {
		a.limit, a.unlimited = int(min(options.Limit, defaultListLimit)), false
	}
	cursor, err := base64.RawURLEncoding.DecodeString(options.Continue)
	if err != nil {
		return apierrors.NewBadRequest("continue must be the metadata.continue of the previous page")
	}
	a.cursor = string(cursor)
	return nil
}

// readPages reads pages of the ledger until the list is full, and returns the cursor of the next page.
func readPages[T any](a listQuery, read func(ledger.Page) (ledger.List[T], error)) (items []T, next string, err error) {
	if a.contradictory {
		return nil, "", nil
	}
	page := ledger.Page{Cursor: a.cursor}
	for {
		page.Limit = min(a.limit-len(items), ledger.MaxLimit)
		list, err := read(page)
		if err != nil {
			return nil, "", statusError(err)
		}
		items = append(items, list.Items...)
		if list.Next == "" || len(items) >= a.limit {
			return items, token(list.Next), nil
		}
		page.Cursor = list.Next
	}
}

// token makes a cursor opaque for clients.
func token(cursor string) string { return base64.RawURLEncoding.EncodeToString([]byte(cursor)) }

func labels(chat, role string) map[string]string {
	found := map[string]string{}
	for key, value := range map[string]string{v1beta1.LabelChat: chat, v1beta1.LabelRole: role} {
		if value != "" {
			found[key] = value
		}
	}
	return found
}
