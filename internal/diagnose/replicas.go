// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/internal/health"
)

// replicas reports which replica holds how many shards, and their problems, according to the heartbeat. The first
// finding is about the shards. It reports nothing if one operator owns the whole ledger, or if there is no
// heartbeat, which is reported elsewhere.
func (t Target) replicas(ctx context.Context) []Finding {
	name := types.NamespacedName{Namespace: t.OperatorNamespace, Name: health.LeaseName}
	var lease coordinationv1.Lease
	err := t.API.Get(ctx, name, &lease)
	text := lease.Annotations[health.AnnotationReplicas]
	switch {
	case apierrors.IsForbidden(err):
		return []Finding{finding("replicas", Unknown, "you may not read the heartbeat %s, which says what each replica of the operator holds", name)}
	case err != nil, text == "":
		return nil
	}
	var installation health.Installation
	if err := json.Unmarshal([]byte(text), &installation); err != nil {
		return []Finding{finding("replicas", Unknown, "the heartbeat %s has a report on the replicas that this version cannot read: %v", name, err)}
	}
	if installation.Shards == 1 && installation.Live() == 1 && len(installation.Unowned) == 0 {
		return nil
	}
	return append([]Finding{t.shards(installation)}, t.members(installation)...)
}

// shards reports whether every shard has an owner.
func (t Target) shards(i health.Installation) Finding {
	logs := fmt.Sprintf("Check the pods and their logs: kubectl get pods -n %s; kubectl logs -n %s -l app.kubernetes.io/component=operator --prefix", t.OperatorNamespace, t.OperatorNamespace)
	switch {
	case i.Live() == 0:
		return finding("replicas", Failed, "no replica of the operator renews its row in the ledger").advise("%s", logs)
	case len(i.Unowned) > 0:
		return finding("replicas", Failed, "%d of %d shards have no owner, and their agents make no progress: %s", len(i.Unowned), i.Shards, numbers(i.Unowned)).advise("%s", logs)
	case i.Uneven():
		return finding("replicas", Warning, "the %d shards are not spread evenly: %s", i.Shards, held(i)).
			advise("Shards move for some seconds after replicas come or go. If it stays like this, check the log of the replica that holds too many.")
	}
	return finding("replicas", OK, "%d replicas share %d shards: %s", i.Live(), i.Shards, held(i))
}

// members reports replicas that have a problem of their own.
func (t Target) members(i health.Installation) []Finding {
	var findings []Finding
	for _, r := range i.Replicas {
		switch {
		case r.Expired > 0:
			findings = append(findings, finding("replicas", Warning, "the replica %s has not renewed its row in the ledger, which expired %s ago: it has died, or cannot reach the ledger", r.Name, r.Expired.Round(time.Second)).
				advise("Other replicas have taken over its shards, and delete its row after a while."))
		case r.State == health.ReplicaUnhealthy:
			findings = append(findings, finding("replicas", Warning, "the replica %s cannot reach the API server", r.Name).
				advise("Check the network of its node. Replicas that can reach the API server take over the shards."))
		}
	}
	return findings
}

// held lists the live replicas with the number of their shards.
func held(i health.Installation) string {
	var parts []string
	for _, r := range i.Replicas {
		if r.Expired > 0 {
			continue
		}
		part := fmt.Sprintf("%s %d", r.Name, r.Held)
		if r.State == health.ReplicaStopping {
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
