// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/internal/replicas"
)

// replicas reports which replica holds how many shards, and what is wrong with them. The first finding is about the shards. It reports nothing
// if one operator owns the whole ledger, because there are no such Leases.
func (t Target) replicas(ctx context.Context) []Finding {
	leases, err := t.replicaLeases(ctx)
	switch {
	case apierrors.IsForbidden(err):
		return []Finding{found("replicas", Unknown, "you may not list the Leases in the namespace %s, which say what each replica of the operator holds", t.OperatorNamespace)}
	case err != nil:
		return []Finding{found("replicas", Unknown, "cannot list the Leases in the namespace %s: %v", t.OperatorNamespace, err)}
	case len(leases) == 0:
		return nil
	}
	installation := replicas.Inspect(leases, time.Now())
	return append([]Finding{t.shards(installation)}, t.members(installation)...)
}

// replicaLeases lists the Leases of replicas that share the work.
func (t Target) replicaLeases(ctx context.Context) ([]coordinationv1.Lease, error) {
	var list coordinationv1.LeaseList
	err := t.API.List(ctx, &list, client.InNamespace(t.OperatorNamespace), client.HasLabels{replicas.LeaseLabel})
	return list.Items, err
}

// shards reports whether every shard has an owner.
func (t Target) shards(i replicas.Installation) Finding {
	logs := fmt.Sprintf("Look at the pods and their logs: kubectl get pods -n %s; kubectl logs -n %s -l app.kubernetes.io/component=operator --prefix", t.OperatorNamespace, t.OperatorNamespace)
	switch {
	case i.Live() == 0:
		return found("replicas", Failed, "no replica of the operator renews its Lease in the namespace %s", t.OperatorNamespace).advise("%s", logs)
	case len(i.Unowned) > 0:
		return found("replicas", Failed, "%d of %d shards have no owner, and their agents make no progress: %s", len(i.Unowned), i.Shards, numbers(i.Unowned)).advise("%s", logs)
	case i.Uneven():
		return found("replicas", Warning, "the %d shards are not spread evenly: %s", i.Shards, held(i)).
			advise("Shards move for some seconds after replicas come or go. If it stays like this, look at the log of the replica that holds too many.")
	}
	return found("replicas", OK, "%d replicas share %d shards: %s", i.Live(), i.Shards, held(i))
}

// members reports replicas that have a problem of their own.
func (t Target) members(i replicas.Installation) []Finding {
	var findings []Finding
	for _, r := range i.Replicas {
		switch {
		case r.Stale:
			findings = append(findings, found("replicas", Warning, "the replica %s has not renewed its Lease for %s: it has died, or cannot reach the API server", r.Name, r.Silent.Round(time.Second)).
				advise("Other replicas have taken over its shards, and delete its Lease after a while."))
		case r.Unhealthy:
			findings = append(findings, found("replicas", Warning, "the replica %s cannot reach the ledger", r.Name).
				advise("Check that PostgreSQL answers and accepts connections from its node. Replicas that can reach it take over the shards."))
		}
	}
	return findings
}

// held lists the live replicas with the number of their shards.
func held(i replicas.Installation) string {
	var parts []string
	for _, r := range i.Replicas {
		if r.Stale {
			continue
		}
		part := fmt.Sprintf("%s %d", r.Name, r.Held)
		if r.Stopping {
			part += " (stopping)"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// numbers lists the first few of some shards.
func numbers(shards []int) string {
	const most = 10
	var parts []string
	for shard := range slices.Values(shards[:min(len(shards), most)]) {
		parts = append(parts, fmt.Sprint(shard))
	}
	if len(shards) > most {
		parts = append(parts, "...")
	}
	return strings.Join(parts, ", ")
}
