// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
)

const (
	// lockNamespace locks the counts of a namespace until the transaction ends.
	lockNamespace = `INSERT INTO quota_namespaces (namespace, settled_at) VALUES ($1, $2)
	ON CONFLICT (namespace) DO UPDATE SET settled_at = excluded.settled_at`
	// countReplacedNamespace finds counts of an earlier namespace with the same name.
	countReplacedNamespace = `SELECT COUNT(*) FROM quota_namespaces WHERE namespace = $1 AND uid <> '' AND uid <> $2`
	setNamespaceUID        = `UPDATE quota_namespaces SET uid = $1 WHERE namespace = $2 AND uid <> $1`
	dropUsage              = `DELETE FROM quota_usage WHERE namespace = $1`
	dropReserved           = `DELETE FROM quota_reservations WHERE namespace = $1`
	// endedReservations selects reservations whose calls have a result, or were pruned.
	endedReservations = `SELECT r.key, r.hour, r.tokens, r.cost_micros, r.currency, COALESCE(c.status, ''), c.prompt_tokens + c.completion_tokens, c.cost_micros, COALESCE(c.currency, '')
	FROM quota_reservations r LEFT JOIN model_call_rows c ON c.agent = r.agent AND c.key = r.row_key
	WHERE r.namespace = $1 AND (c.key IS NULL OR c.finished_at IS NOT NULL)`
	dropReservation = `DELETE FROM quota_reservations WHERE key = $1`
	addUsage        = `INSERT INTO quota_usage (namespace, hour, currency, tokens, cost_micros) VALUES ($1, $2, $3, $4, $5)
	ON CONFLICT (namespace, hour, currency) DO UPDATE SET tokens = quota_usage.tokens + excluded.tokens, cost_micros = quota_usage.cost_micros + excluded.cost_micros`
	// recountUsage raises the counts to the sums of the finished calls without a reservation. It never lowers them: calls
	// that were counted may have been pruned. The last arguments bound the amounts of one call, so that no sum overflows.
	recountUsage = `INSERT INTO quota_usage (namespace, hour, currency, tokens, cost_micros)
	SELECT namespace, hour, currency, CAST(SUM(tokens) AS BIGINT), CAST(SUM(cost) AS BIGINT) FROM (
		SELECT c.namespace AS namespace, c.started_at / 3600000000 * 3600000000 AS hour, c.currency AS currency,
			CASE WHEN c.total_tokens > $3 THEN $3 WHEN c.total_tokens IS NOT NULL THEN c.total_tokens
				WHEN c.status = 'Success' THEN COALESCE(c.context_tokens, 0) ELSE 0 END AS tokens,
			CASE WHEN c.cost_micros > $3 THEN $3 ELSE COALESCE(c.cost_micros, 0) END AS cost
		FROM model_calls c WHERE c.namespace = $1 AND c.started_at >= $2 AND c.finished_at IS NOT NULL AND ($4 = '' OR c.namespace_uid = '' OR c.namespace_uid = $4)
			AND NOT EXISTS (SELECT 1 FROM quota_reservations r WHERE r.agent = c.agent AND r.row_key = c.row_key)
	) AS calls WHERE tokens > 0 OR cost > 0 GROUP BY namespace, hour, currency
	ON CONFLICT (namespace, hour, currency) DO UPDATE SET
		tokens = CASE WHEN excluded.tokens > quota_usage.tokens THEN excluded.tokens ELSE quota_usage.tokens END,
		cost_micros = CASE WHEN excluded.cost_micros > quota_usage.cost_micros THEN excluded.cost_micros ELSE quota_usage.cost_micros END`
	countUsage = `SELECT currency, CAST(SUM(tokens) AS BIGINT), CAST(SUM(cost) AS BIGINT), CAST(SUM(reserved) AS BIGINT), CAST(SUM(reserved_cost) AS BIGINT) FROM (
		SELECT currency, tokens, cost_micros AS cost, 0 AS reserved, 0 AS reserved_cost FROM quota_usage WHERE namespace = $1 AND hour >= $2
		UNION ALL SELECT currency, 0, 0, tokens, cost_micros FROM quota_reservations WHERE namespace = $1 AND hour >= $2
	) AS counts GROUP BY currency`
	isReserved        = `SELECT COUNT(*) FROM quota_reservations WHERE key = $1`
	insertReservation = `INSERT INTO quota_reservations (key, agent, row_key, namespace, hour, currency, tokens, cost_micros) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`
	// restartCall moves the start of a call that waited for its reservation into the hour in which it counts.
	restartCall = `UPDATE model_call_rows SET started_at = $1 WHERE agent = $2 AND key = $3 AND started_at < $4 AND finished_at IS NULL`
)

const maxCallAmount = int64(1e12)

func (s *Store) Reserve(ctx context.Context, requests []ledger.QuotaRequest) ([]ledger.QuotaAnswer, error) {
	answers := make([]ledger.QuotaAnswer, len(requests))
	// Every writer locks its namespaces in the same order, to avoid deadlocks between processes.
	order := make([]int, len(requests))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(requests[a].Namespace, requests[b].Namespace) })
	err := s.transact(ctx, "reserve from quotas", func(ctx context.Context, tx Tx) error {
		for _, i := range order {
			var err error
			if answers[i], err = reserve(ctx, tx, requests[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return answers, nil
}

// reserve answers one request. The statements after the lock read all earlier reservations.
func reserve(ctx context.Context, tx Tx, q ledger.QuotaRequest) (ledger.QuotaAnswer, error) {
	var answer ledger.QuotaAnswer
	if _, err := tx.Exec(ctx, statement(lockNamespace, text(q.Namespace), micros(q.At))); err != nil {
		return answer, err
	}
	if err := resetReplacedNamespace(ctx, tx, q); err != nil {
		return answer, err
	}
	if err := settle(ctx, tx, q.Namespace); err != nil {
		return answer, err
	}
	if q.Recount && len(q.Limits) > 0 {
		earliest := slices.MinFunc(q.Limits, func(a, b ledger.QuotaLimit) int { return a.Since.Compare(b.Since) }).Since
		if _, err := tx.Exec(ctx, statement(recountUsage, text(q.Namespace), micros(earliest), maxCallAmount, text(q.NamespaceUID))); err != nil {
			return answer, err
		}
	}
	for _, limit := range q.Limits {
		var count ledger.QuotaCount
		err := tx.Query(ctx, func(r Row) error {
			var c ledger.QuotaCount
			err := r.Scan(&c.Currency, &c.Tokens, &c.CostMicros, &c.ReservedTokens, &c.ReservedCostMicros)
			count = count.Plus(c)
			return err
		}, countUsage, text(q.Namespace), micros(limit.Since))
		if err != nil {
			return answer, err
		}
		answer.Counts = append(answer.Counts, count)
	}
	var err error
	answer.Granted, err = grant(ctx, tx, q, answer.Counts)
	return answer, err
}

// resetReplacedNamespace drops the counts of an earlier namespace with the same name.
func resetReplacedNamespace(ctx context.Context, tx Tx, q ledger.QuotaRequest) error {
	if q.NamespaceUID == "" {
		return nil
	}
	other, err := tx.Int64(ctx, countReplacedNamespace, text(q.Namespace), text(q.NamespaceUID))
	if err != nil {
		return err
	}
	var statements []Statement
	if other > 0 {
		statements = append(statements, statement(dropUsage, text(q.Namespace)), statement(dropReserved, text(q.Namespace)))
	}
	_, err = tx.Exec(ctx, append(statements, statement(setNamespaceUID, text(q.NamespaceUID), text(q.Namespace)))...)
	return err
}

// grant reserves for the calls that fit, and adds them to the counts.
func grant(ctx context.Context, tx Tx, q ledger.QuotaRequest, counts []ledger.QuotaCount) ([]bool, error) {
	granted := make([]bool, len(q.Calls))
	hour := micros(q.At.UTC().Truncate(time.Hour))
	for i, call := range q.Calls {
		call.Tokens, call.CostMicros = clampAmount(call.Tokens), clampAmount(call.CostMicros)
		reserved, err := tx.Int64(ctx, isReserved, text(call.Key))
		if err != nil {
			return nil, err
		}
		if reserved > 0 { // a call that is repeated after a crash keeps its reservation
			granted[i] = true
			continue
		}
		if !fits(q.Limits, counts, call) {
			continue
		}
		at, err := findModelCall(ctx, tx, call.Key)
		if err != nil {
			return nil, err
		}
		_, err = tx.Exec(ctx,
			statement(insertReservation, text(call.Key), at.agent, at.key, text(q.Namespace), hour, call.Currency, call.Tokens, call.CostMicros),
			statement(restartCall, micros(q.At), at.agent, at.key, hour))
		if err != nil {
			return nil, err
		}
		granted[i] = true
		for j := range counts {
			counts[j] = counts[j].PlusReserved(call)
		}
	}
	return granted, nil
}

// findModelCall returns the position of a call; the zero value if there is no such call.
func findModelCall(ctx context.Context, tx Tx, key string) (at rowPosition, err error) {
	var w where
	w.hasKey(modelCallKind, key)
	err = tx.Query(ctx, func(r Row) error { return r.Scan(&at.agent, &at.key) }, `SELECT agent, row_key FROM model_calls`+w.String(), w.args...)
	return at, err
}

func fits(limits []ledger.QuotaLimit, counts []ledger.QuotaCount, call ledger.QuotaCall) bool {
	for i, limit := range limits {
		if !limit.Fits(counts[i], call) {
			return false
		}
	}
	return true
}

// endedReservation is a reservation whose call has ended, with what the call used. Its tokens count in the row of the
// call's own currency, as in a recount.
type endedReservation struct {
	key                string
	hour               int64
	tokens, costMicros int64
	currency           string
	// unknown is the reserved cost of a call with unknown cost.
	unknown         int64
	unknownCurrency string
}

// settle replaces the reservations of ended calls by their usage. The keys are read first and deleted one by one: a
// call that ends in between is settled the next time.
func settle(ctx context.Context, tx Tx, namespace string) error {
	var all []endedReservation
	err := tx.Query(ctx, func(r Row) error {
		e, err := scanEnded(r)
		all = append(all, e)
		return err
	}, endedReservations, text(namespace))
	if err != nil || len(all) == 0 {
		return err
	}
	var statements []Statement
	for _, e := range all {
		statements = append(statements, statement(dropReservation, e.key))
		if e.tokens > 0 || e.costMicros > 0 {
			statements = append(statements, statement(addUsage, text(namespace), e.hour, e.currency, e.tokens, e.costMicros))
		}
		if e.unknown > 0 {
			statements = append(statements, statement(addUsage, text(namespace), e.hour, e.unknownCurrency, int64(0), e.unknown))
		}
	}
	_, err = tx.Exec(ctx, statements...)
	return err
}

// scanEnded scans the usage of an ended call. A successful call with unknown usage is settled at the reserved amount.
func scanEnded(r Row) (endedReservation, error) {
	var e endedReservation
	var reservedTokens int64
	var status string
	var tokens, cost sql.NullInt64
	if err := r.Scan(&e.key, &e.hour, &reservedTokens, &e.unknown, &e.unknownCurrency, &status, &tokens, &cost, &e.currency); err != nil {
		return e, err
	}
	if ledger.Status(status) == ledger.StatusSuccess {
		e.tokens = reservedTokens
	}
	if tokens.Valid {
		e.tokens = clampAmount(tokens.Int64)
	}
	if cost.Valid {
		e.costMicros = clampAmount(cost.Int64)
	}
	if cost.Valid || ledger.Status(status) != ledger.StatusSuccess {
		e.unknown = 0
	}
	return e, nil
}

func clampAmount(n int64) int64 { return min(max(n, 0), maxCallAmount) }
