// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/nestor-dev/nestor/internal/health"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// leaseStore is an API server for one Lease, with resource versions.
type leaseStore struct {
	coordination.LeaseInterface
	mu     sync.Mutex
	lease  *coordinationv1.Lease
	writes int
}

var leaseResource = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

func (s *leaseStore) Get(context.Context, string, metav1.GetOptions) (*coordinationv1.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease == nil {
		return nil, apierrors.NewNotFound(leaseResource, health.LeaseName)
	}
	return s.lease.DeepCopy(), nil
}

func (s *leaseStore) Create(_ context.Context, lease *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease != nil {
		return nil, apierrors.NewAlreadyExists(leaseResource, lease.Name)
	}
	return s.store(lease), nil
}

func (s *leaseStore) Update(_ context.Context, lease *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease == nil || s.lease.ResourceVersion != lease.ResourceVersion {
		return nil, apierrors.NewConflict(leaseResource, lease.Name, errors.New("changed"))
	}
	return s.store(lease), nil
}

func (s *leaseStore) store(lease *coordinationv1.Lease) *coordinationv1.Lease {
	s.writes++
	s.lease = lease.DeepCopy()
	s.lease.ResourceVersion = strconv.Itoa(s.writes)
	return s.lease.DeepCopy()
}

// replica is an operator whose ledger can fail.
type replica struct {
	mu  sync.Mutex
	err error
}

func (r *replica) breakLedger(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

// start renews the heartbeat until the returned function is called.
func (r *replica) start(t *testing.T, store *leaseStore, name string) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	beat := &heartbeat{leases: store, identity: name, log: logr.Discard(), ledger: func(context.Context) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.err
	}, replicas: func(context.Context) (string, error) { return `{"shards":1}`, nil }}
	done := make(chan error, 1)
	go func() { done <- beat.Start(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// observe reads the heartbeat as a page does, and reports whether it continues.
func observe(store *leaseStore, observer *health.Observer) bool {
	lease, err := store.Get(context.Background(), health.LeaseName, metav1.GetOptions{})
	return err == nil && observer.Observe(lease, time.Now()) <= health.Patience
}

func TestHeartbeatEndsWithTheOperator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, observer := &leaseStore{}, &health.Observer{}
		stop := (&replica{}).start(t, store, "one")
		for range 20 {
			<-time.After(3 * time.Second)
			if !observe(store, observer) {
				t.Fatal("the heartbeat of a running operator looks dead")
			}
		}
		stop()
		died := time.Now()
		for observe(store, observer) {
			<-time.After(time.Second)
		}
		if took := time.Since(died); took > 8*time.Second {
			t.Errorf("it took %s to notice that the operator has died", took)
		}
		defer (&replica{}).start(t, store, "two")()
		<-time.After(3 * time.Second)
		if !observe(store, observer) {
			t.Error("the heartbeat of the next operator is not seen")
		}
	})
}

func TestHeartbeatReportsTheLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, r := &leaseStore{}, &replica{}
		defer r.start(t, store, "one")()
		for _, tc := range []struct {
			err  error
			want string
		}{
			{nil, ""},
			{errors.New("dial postgres:secret@10.0.0.1"), string(ledger.ReasonUnavailable)},
			{&ledger.Error{Reason: ledger.ReasonFull}, string(ledger.ReasonFull)},
			{nil, ""},
		} {
			r.breakLedger(tc.err)
			<-time.After(2 * health.Period)
			lease, err := store.Get(t.Context(), health.LeaseName, metav1.GetOptions{})
			if err != nil || lease.Annotations[health.AnnotationLedger] != tc.want || (lease.Annotations[health.AnnotationLedgerAdvice] == "") != (tc.want == "") {
				t.Errorf("with %v the heartbeat says %v (%v)", tc.err, lease.Annotations, err)
			}
		}
	})
}

func TestReplicasShareTheHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, observer := &leaseStore{}, &health.Observer{}
		replicas := make([]replica, 5)
		for i := range replicas {
			defer replicas[i].start(t, store, "replica-"+strconv.Itoa(i))()
			<-time.After(100 * time.Millisecond)
		}
		<-time.After(time.Minute)
		if store.writes > 40 {
			t.Errorf("%d writes in a minute", store.writes)
		}
		// One that cannot reach the ledger does not report it for the others.
		replicas[0].breakLedger(errors.New("down"))
		for range 20 {
			<-time.After(3 * time.Second)
			if lease, err := store.Get(t.Context(), health.LeaseName, metav1.GetOptions{}); err != nil || lease.Annotations[health.AnnotationLedger] != "" || !observe(store, observer) {
				t.Fatalf("the heartbeat says %v (%v)", lease.Annotations, err)
			}
		}
		for i := range replicas {
			replicas[i].breakLedger(errors.New("down"))
		}
		<-time.After(3 * health.Period)
		for range 10 {
			<-time.After(3 * time.Second)
			if lease, err := store.Get(t.Context(), health.LeaseName, metav1.GetOptions{}); err != nil || lease.Annotations[health.AnnotationLedger] == "" || !observe(store, observer) {
				t.Fatalf("the heartbeat says %v (%v)", lease.Annotations, err)
			}
		}
	})
}
