// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// namespaceScopedLedger is a ledger in which the name of a namespace means the namespace that currently has it: a recreated
// namespace does not show the history of the old one. The history of a deleted namespace can be read until there is
// another one of its name. Queries over all namespaces return everything.
type namespaceScopedLedger struct {
	Ledger
	cluster kubernetes.Interface
}

// restrict excludes records of earlier namespaces of the name.
func (t namespaceScopedLedger) restrict(ctx context.Context, scope *ledger.Scope) error {
	if scope.Namespace == "" {
		return nil
	}
	ns, err := t.cluster.CoreV1().Namespaces().Get(ctx, scope.Namespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get namespace %s: %w", scope.Namespace, err)
	}
	scope.NamespaceUID = string(ns.UID)
	return nil
}

func (t namespaceScopedLedger) Agents(ctx context.Context, filter ledger.AgentFilter, page ledger.Page) (ledger.List[ledger.Agent], error) {
	if err := t.restrict(ctx, &filter.Scope); err != nil {
		return ledger.List[ledger.Agent]{}, err
	}
	return t.Ledger.Agents(ctx, filter, page)
}

func (t namespaceScopedLedger) ModelCall(ctx context.Context, key string) (ledger.ModelCall, error) {
	call, err := t.Ledger.ModelCall(ctx, key)
	if err != nil {
		return call, err
	}
	scope := ledger.Scope{Namespace: call.Namespace}
	if err := t.restrict(ctx, &scope); err != nil {
		return ledger.ModelCall{}, err
	}
	if scope.NamespaceUID != "" && call.NamespaceUID != scope.NamespaceUID {
		return ledger.ModelCall{}, fmt.Errorf("read model call %s: %w", key, ledger.ErrNotFound)
	}
	return call, nil
}

func (t namespaceScopedLedger) ModelCalls(ctx context.Context, filter ledger.CallFilter, page ledger.Page) (ledger.List[ledger.ModelCall], error) {
	if err := t.restrict(ctx, &filter.Scope); err != nil {
		return ledger.List[ledger.ModelCall]{}, err
	}
	return t.Ledger.ModelCalls(ctx, filter, page)
}

func (t namespaceScopedLedger) Runs(ctx context.Context, filter ledger.AgentFilter, page ledger.Page) (ledger.List[ledger.Run], error) {
	if err := t.restrict(ctx, &filter.Scope); err != nil {
		return ledger.List[ledger.Run]{}, err
	}
	return t.Ledger.Runs(ctx, filter, page)
}

func (t namespaceScopedLedger) Search(ctx context.Context, query ledger.SearchQuery, page ledger.Page) (ledger.List[ledger.SearchHit], error) {
	if err := t.restrict(ctx, &query.Scope); err != nil {
		return ledger.List[ledger.SearchHit]{}, err
	}
	return t.Ledger.Search(ctx, query, page)
}

func (t namespaceScopedLedger) Usage(ctx context.Context, query ledger.ReportQuery, page ledger.Page) (ledger.List[ledger.Usage], error) {
	if err := t.restrict(ctx, &query.Scope); err != nil {
		return ledger.List[ledger.Usage]{}, err
	}
	return t.Ledger.Usage(ctx, query, page)
}

func (t namespaceScopedLedger) Outcomes(ctx context.Context, query ledger.ReportQuery, page ledger.Page) (ledger.List[ledger.Outcome], error) {
	if err := t.restrict(ctx, &query.Scope); err != nil {
		return ledger.List[ledger.Outcome]{}, err
	}
	return t.Ledger.Outcomes(ctx, query, page)
}
