// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/nestor-dev/nestor/internal/health"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// ledgerTimeout is how long the ledger may take to answer.
const ledgerTimeout = 3 * time.Second

// heartbeat renews the heartbeat. All replicas of an installation share one Lease: a replica writes it only if no other
// one has, so the number of writes does not depend on the number of replicas.
type heartbeat struct {
	leases coordination.LeaseInterface
	// identity names this replica, and owner is the owner of the Lease, if any.
	identity string
	owner    *metav1.OwnerReference
	// ledger returns an error if the ledger does not answer.
	ledger func(context.Context) error
	// replicas returns the state of the replicas in the ledger, as JSON.
	replicas func(context.Context) (string, error)
	log      logr.Logger

	// written is the version of the Lease after the last write of this replica, seen the one it saw last, and silent how
	// often that one had not changed.
	written, seen string
	silent        int
	failing       bool
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: a replica that waits for leadership is alive, too, but
// does no work.
func (b *heartbeat) NeedLeaderElection() bool { return true }

// Start renews the heartbeat until ctx ends.
func (b *heartbeat) Start(ctx context.Context) error {
	ticker := time.NewTicker(health.Period)
	defer ticker.Stop()
	for {
		err := b.renew(ctx)
		if err != nil && ctx.Err() == nil && !b.failing {
			b.log.Error(err, "Cannot renew the heartbeat", "Lease", health.LeaseName)
		}
		b.failing = err != nil
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// renew writes the heartbeat, unless another replica does. One that cannot reach the ledger lets a replica that can
// write it.
func (b *heartbeat) renew(ctx context.Context) error {
	outage := b.outage(ctx)
	ctx, cancel := context.WithTimeout(ctx, health.Period)
	defer cancel()
	lease, err := b.leases.Get(ctx, health.LeaseName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: health.LeaseName}}
		b.describe(lease, outage)
		return b.done(b.leases.Create(ctx, lease, metav1.CreateOptions{}))
	}
	if err != nil {
		return err
	}
	if b.othersWrite(lease, outage != nil) {
		return nil
	}
	b.describe(lease, outage)
	if replicas, err := b.replicas(ctx); err == nil {
		lease.Annotations[health.AnnotationReplicas] = replicas
	}
	return b.done(b.leases.Update(ctx, lease, metav1.UpdateOptions{}))
}

// othersWrite reports whether another replica has renewed the heartbeat since the last look. The report of an outage is
// replaced at once by a replica that can reach the ledger.
func (b *heartbeat) othersWrite(lease *coordinationv1.Lease, outage bool) bool {
	changed := lease.ResourceVersion != b.seen && lease.ResourceVersion != b.written
	if b.seen = lease.ResourceVersion; changed {
		b.silent = 0
		return outage || lease.Annotations[health.AnnotationLedger] == ""
	}
	b.silent++
	return outage && lease.ResourceVersion != b.written && b.silent < 2
}

// done keeps the version of a written Lease. A conflict means that another replica has written it.
func (b *heartbeat) done(lease *coordinationv1.Lease, err error) error {
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return nil
	case err != nil:
		return err
	}
	b.written = lease.ResourceVersion
	return nil
}

// outage returns why the ledger does not answer, or nil.
func (b *heartbeat) outage(ctx context.Context) *ledger.Error {
	ctx, cancel := context.WithTimeout(ctx, ledgerTimeout)
	defer cancel()
	err := b.ledger(ctx)
	var failure *ledger.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &failure):
		return failure
	}
	return &ledger.Error{Reason: ledger.ReasonUnavailable, Err: err}
}

// describe writes the state into the heartbeat. The ledger's own error is not shown: it may contain addresses.
func (b *heartbeat) describe(lease *coordinationv1.Lease, outage *ledger.Error) {
	if lease.Annotations == nil {
		lease.Annotations = map[string]string{}
	}
	delete(lease.Annotations, health.AnnotationLedger)
	delete(lease.Annotations, health.AnnotationLedgerAdvice)
	if outage != nil {
		lease.Annotations[health.AnnotationLedger], lease.Annotations[health.AnnotationLedgerAdvice] = string(outage.Reason), outage.Reason.Advice()
	}
	if b.owner != nil {
		lease.OwnerReferences = []metav1.OwnerReference{*b.owner}
	}
	seconds, now := int32(health.Patience/time.Second), metav1.NowMicro()
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds, lease.Spec.RenewTime = &b.identity, &seconds, &now
}

// addHeartbeat adds the heartbeat to the manager. Its client is not limited as others are: a burst of writes must not
// look like an operator that does not run.
func (o *Operator) addHeartbeat(ctx context.Context) error {
	config := rest.CopyConfig(o.options.Config)
	config.QPS = -1
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("connect to the cluster: %w", err)
	}
	controllers := o.options.Controllers
	return o.manager.Add(&heartbeat{
		leases: core.CoordinationV1().Leases(controllers.OperatorNamespace), identity: cmp.Or(controllers.Replica.Name, controllers.Holder, "nestor-operator"), owner: o.leaseOwner().find(ctx),
		ledger: func(ctx context.Context) error { return probeLedger(ctx, controllers.Ledger) },
		replicas: func(ctx context.Context) (string, error) {
			return describeReplicas(ctx, controllers.Ledger, max(controllers.Shards, 1))
		},
		log: o.manager.GetLogger().WithName("heartbeat"),
	})
}
