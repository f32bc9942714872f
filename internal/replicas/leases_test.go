// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestDeletedLeasesAreCreatedAgain(t *testing.T) {
	simulate(t, 8, func(t *testing.T, w *world) {
		a, b := w.start("a"), w.start("b")
		w.awaitEven(a, b)
		before, _ := w.count()
		holders := w.holders()
		list, err := w.leases.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, lease := range list.Items {
			if err := w.leases.Delete(t.Context(), lease.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		w.await(time.Minute, func() error {
			for _, old := range list.Items {
				lease, err := w.leases.Get(t.Context(), old.Name, metav1.GetOptions{})
				if err != nil {
					return err
				}
				if renewed := lease.Spec.RenewTime; lease.UID == old.UID || !renewed.After(lease.CreationTimestamp.Add(2*time.Second)) {
					return fmt.Errorf("%s is not renewed", lease.Name)
				}
			}
			return nil
		})
		w.awaitEven(a, b)
		if after, _ := w.count(); after != before || !slices.Equal(holders, w.holders()) {
			t.Errorf("%d terms began; held by %v, then by %v", after-before, holders, w.holders())
		}
	})
}

// A holder that sees the deletion does not wait for its next renewal.
func TestDeletedLeasesAreCreatedAgainAtOnce(t *testing.T) {
	simulate(t, 2, func(t *testing.T, w *world) {
		a := w.startWith("a", slow)
		w.awaitEven(a)
		for _, name := range []string{shardName(1), a.lease} {
			if err := w.leases.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			w.await(slow.RetryPeriod/2, func() error {
				_, err := w.leases.Get(t.Context(), name, metav1.GetOptions{})
				return err
			})
		}
		if stats := a.Stats(); stats.Held != 2 || stats.Lost > 0 {
			t.Errorf("%+v", stats)
		}
	})
}

func TestAnotherHolderEndsATerm(t *testing.T) {
	simulate(t, 2, func(t *testing.T, w *world) {
		a := w.startWith("a", Timing{LeaseDuration: 60 * time.Second, RenewDeadline: 50 * time.Second, RetryPeriod: 400 * time.Millisecond})
		w.awaitEven(a)
		somebody, second := "somebody", int32(1)
		w.update(shardName(0), func(lease *coordinationv1.Lease) {
			lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = &somebody, &second
		})
		w.await(25*time.Second, func() error { // at the next renewal, not at its deadline
			if stats := a.Stats(); stats.Lost != 1 {
				return fmt.Errorf("%+v", stats)
			}
			return nil
		})
		w.awaitEven(a)
		if _, expired := w.count(); expired != 1 {
			t.Errorf("%d terms began after an expiry", expired)
		}
	})
}

func (w *world) update(name string, change func(*coordinationv1.Lease)) {
	w.await(time.Minute, func() error {
		lease, err := w.leases.Get(w.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(lease)
		_, err = w.leases.Update(w.Context(), lease, metav1.UpdateOptions{})
		return err
	})
}

// phantom is a member Lease without a replica.
func (w *world) phantom(state string) {
	name, now := "phantom_1", metav1.NowMicro()
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: memberPrefix + "phantom", Labels: map[string]string{leaseLabel: memberLease}, Annotations: map[string]string{stateAnnotation: state}},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &name, RenewTime: &now},
	}
	if _, err := w.leases.Create(w.Context(), lease, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
}

func (w *world) removePhantom() {
	if err := w.leases.Delete(w.Context(), memberPrefix+"phantom", metav1.DeleteOptions{}); err != nil {
		w.Fatal(err)
	}
}

// sees waits until a replica sees n members.
func (r *replica) sees(n int) {
	r.world.await(time.Minute, func() error {
		if members := r.Members(); len(members) != n {
			return fmt.Errorf("%s sees %v", r.self.Name, members)
		}
		return nil
	})
}

func TestTheLeaseIsHeldUntilOwnReturns(t *testing.T) {
	simulate(t, 4, func(t *testing.T, w *world) {
		a := w.start("a")
		w.awaitEven(a)
		drain := make(chan struct{})
		a.drain.Store(&drain)
		b := w.start("b")
		begin := time.Now()
		a.stop()
		w.await(time.Minute, func() error { return a.publishes(stopping) })
		w.await(time.Minute, func() error {
			if time.Since(begin) < 2*short.LeaseDuration {
				return errors.New("the hand-over must be longer than a Lease")
			}
			return nil
		})
		if stats := b.Stats(); stats.Held > 0 {
			t.Errorf("holds %d shards that another one works on", stats.Held)
		}
		if m, ok := b.Holder(0); !ok || m != a.Self() {
			t.Errorf("%v holds shard 0 (%v)", m, ok)
		}
		close(drain)
		w.awaitEven(b)
		if _, expired := w.count(); expired > 0 {
			t.Errorf("%d shards expired", expired)
		}
	})
}

func TestALeaseThatIsLostDuringAHandOverIsReported(t *testing.T) {
	simulate(t, 4, func(t *testing.T, w *world) {
		a := w.start("a")
		w.awaitEven(a)
		drain := make(chan struct{}) // never closed: Own returns because Term.Lost is closed
		a.drain.Store(&drain)
		b := w.start("b")
		a.stop()
		w.await(time.Minute, func() error { return a.publishes(stopping) })
		w.await(time.Minute, func() error { return empty(w.owned()) })
		a.network.set(hangs)
		w.awaitEven(b)
		<-a.stopped
		if lost := a.Stats().Lost; lost != 4 {
			t.Errorf("lost %d", lost)
		}
	})
}

func TestAnOwnerThatGivesUpIsCalledAgainLater(t *testing.T) {
	simulate(t, 1, func(t *testing.T, w *world) {
		a := w.start("a")
		w.awaitEven(a)
		begin := time.Now()
		a.giveUp.Store(true)
		w.update(shardName(0), func(lease *coordinationv1.Lease) { // ends the term that runs
			somebody := "somebody"
			lease.Spec.HolderIdentity = &somebody
		})
		w.await(time.Minute, func() error {
			if began, _ := w.count(); began < 6 {
				return fmt.Errorf("%d terms", began)
			}
			return nil
		})
		if least := 4 * short.RetryPeriod * 9 / 10; time.Since(begin) < least {
			t.Errorf("called 5 times in %s", time.Since(begin))
		}
		a.giveUp.Store(false)
		w.awaitEven(a)
	})
}

func TestLeasesOfDeadMembersAreDeleted(t *testing.T) {
	simulate(t, 2, func(t *testing.T, w *world) {
		timing := Timing{LeaseDuration: time.Second, RenewDeadline: 700 * time.Millisecond, RetryPeriod: 200 * time.Millisecond}
		w.phantom(active)
		w.startWith("a", timing)
		w.startWith("b", timing)
		w.await(time.Minute, func() error {
			lease, err := w.leases.Get(t.Context(), memberPrefix+"phantom", metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("%v: %w", lease.Name, err)
		})
	})
}
