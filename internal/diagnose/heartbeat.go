// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/internal/health"
)

// heartbeat reports whether the operator renews its heartbeat. It reports false if there is no heartbeat, or none that
// the user may read.
func (t Target) heartbeat(ctx context.Context) (f Finding, ok bool) {
	name := types.NamespacedName{Namespace: t.OperatorNamespace, Name: health.LeaseName}
	var lease coordinationv1.Lease
	if err := t.API.Get(ctx, name, &lease); err != nil {
		return Finding{}, false
	}
	first, began := lease.ResourceVersion, time.Now()
	// The clocks of two machines may differ, so only a change is a sure sign.
	for lease.ResourceVersion == first && time.Since(began) < health.Patience {
		if silent := silence(&lease); silent >= 0 && silent < health.Period {
			break
		}
		select {
		case <-ctx.Done():
			return finding("operator", Unknown, "the heartbeat of the operator could not be observed: %v", ctx.Err()), true
		case <-time.After(health.Period / 4):
		}
		if err := t.API.Get(ctx, name, &lease); err != nil {
			return finding("operator", Unknown, "the heartbeat of the operator cannot be read: %v", err), true
		}
	}
	if lease.ResourceVersion == first && (silence(&lease) < 0 || silence(&lease) >= health.Period) {
		return finding("operator", Failed, "the operator does not run: its heartbeat %s has not changed for %s", name, silence(&lease).Round(time.Second)).
			advise("Start the operator, or check its pods: kubectl get pods -n %s", t.OperatorNamespace), true
	}
	return finding("operator", OK, "the operator renews its heartbeat %s", name), true
}

// ledger reports that the ledger does not answer, according to the operator's heartbeat.
func (t Target) ledger(ctx context.Context) []Finding {
	var lease coordinationv1.Lease
	if err := t.API.Get(ctx, types.NamespacedName{Namespace: t.OperatorNamespace, Name: health.LeaseName}, &lease); err != nil {
		return nil
	}
	if reason := lease.Annotations[health.AnnotationLedger]; reason != "" {
		return []Finding{finding("ledger", Failed, "the operator cannot use the ledger: %s", reason).advise("%s", lease.Annotations[health.AnnotationLedgerAdvice])}
	}
	return nil
}

// silence is the age of the heartbeat by the clock of this machine.
func silence(lease *coordinationv1.Lease) time.Duration {
	if lease.Spec.RenewTime == nil {
		return time.Since(lease.CreationTimestamp.Time)
	}
	return time.Since(lease.Spec.RenewTime.Time)
}

// otherProviders checks the providers that chats and roles of the namespace use besides the one that new chats use, and
// returns their names.
func (t Target) otherProviders(ctx context.Context) (used []string, findings []Finding) {
	used, err := health.Namespace{API: t.API, Name: t.Namespace, OperatorNamespace: t.OperatorNamespace}.UsedProviders(ctx)
	if err != nil {
		return nil, nil // the check of the permissions reports it
	}
	for _, name := range used {
		if name == t.Provider {
			continue
		}
		other := t
		other.Provider = name
		for _, f := range other.provider(ctx) {
			if f.Status != OK {
				f.Message = fmt.Sprintf("%s (used by a chat or role of the namespace)", f.Message)
			}
			findings = append(findings, f)
		}
	}
	return used, findings
}
