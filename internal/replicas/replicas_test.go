// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// slow is a timing with which nothing is renewed during a test.
var slow = Timing{LeaseDuration: 60 * time.Second, RenewDeadline: 50 * time.Second, RetryPeriod: 20 * time.Second}

func TestShardsAreSpreadWhenReplicasComeAndGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 32)
	a := w.start("a")
	w.awaitEven(a)
	b := w.start("b")
	w.awaitEven(a, b)
	c := w.start("c")
	w.awaitEven(a, b, c)
	for _, r := range []*replica{a, b, c} {
		w.await(time.Minute, func() error { return r.agrees(a, b, c) })
	}
	a.end()
	w.awaitEven(b, c)
	b.end()
	w.awaitEven(c)
	if _, expired := w.count(); expired > 0 {
		t.Errorf("%d shards were taken over by expiry", expired)
	}
	t.Logf("longest time without an owner in a hand-over: %s", w.longestGap())
	if gap := w.longestGap(); gap > short.LeaseDuration {
		t.Errorf("a hand-over took %s", gap)
	}
	stats := c.Stats()
	if stats.Held != 32 || stats.Received < 32 || stats.TakenOver+stats.Lost > 0 || a.Stats().HandedOver < 32 || a.Stats().Held > 0 {
		t.Errorf("a: %+v, c: %+v", a.Stats(), stats)
	}
	c.end()
	list, err := w.leases.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, lease := range list.Items {
		if holder(&lease) != "" || lease.Labels[leaseLabel] != shardLease {
			t.Errorf("%s is left, held by %q", lease.Name, holder(&lease))
		}
	}
}

// agrees returns an error if a replica does not see these members, each with its shards.
func (r *replica) agrees(members ...*replica) error {
	seen := map[Member]int{}
	for shard := range r.world.shards {
		if m, ok := r.Holder(shard); ok {
			seen[m]++
		}
	}
	for _, m := range members {
		if n := m.Stats().Held; seen[m.Self()] != n {
			return fmt.Errorf("%s sees %d shards of %v, not %d", r.self.Name, seen[m.Self()], m.Self(), n)
		}
		if !slices.Contains(r.Members(), m.Self()) || m.Self().Address == "" || m.Self().Fingerprint == "" {
			return fmt.Errorf("%s sees %v", r.self.Name, r.Members())
		}
	}
	if len(r.Members()) != len(members) || r.changes.Load() == 0 {
		return fmt.Errorf("%s sees %v, changes: %d", r.self.Name, r.Members(), r.changes.Load())
	}
	return nil
}

func TestAKilledReplicaIsReplacedWhenItsLeasesExpire(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 12)
	a, b, c := w.start("a"), w.start("b"), w.start("c")
	w.awaitEven(a, b, c)
	begin := time.Now()
	a.network.set(hangs) // for the others the same as a killed process
	w.awaitEven(b, c)
	took := time.Since(begin)
	t.Logf("took over after %s", took)
	if took > short.LeaseDuration+time.Second {
		t.Errorf("took over after %s, with a lease duration of %s", took, short.LeaseDuration)
	}
	if _, expired := w.count(); expired < 4 || b.Stats().TakenOver+c.Stats().TakenOver < 4 {
		t.Errorf("%d terms began after an expiry; %+v, %+v", expired, b.Stats(), c.Stats())
	}
	if lost := a.Stats().Lost; lost < 4 {
		t.Errorf("the killed replica lost %d shards", lost)
	}
}

func TestACutReplicaStopsBeforeOthersBegin(t *testing.T) {
	for name, m := range map[string]mode{"requests fail": fails, "requests hang": hangs, "responses are lost": losesResponse} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 8)
			a, b := w.start("a"), w.start("b")
			for range 2 {
				w.awaitEven(a, b)
				a.network.set(m)
				w.awaitEven(b)
				a.network.set(works)
			}
			w.awaitEven(a, b)
		})
	}
}

// Others saw a renewal long before its response arrived, so the holder must count from its request.
func TestAReplicaWithLateResponsesStopsBeforeOthersBegin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 16)
	a, b := w.start("a"), w.start("b")
	w.awaitEven(a, b)
	a.network.late.Store(int64(400 * time.Millisecond))
	w.await(time.Minute, func() error { return a.network.wrote(100) })
	a.network.set(hangs)
	w.awaitEven(b)
}

func TestAnOutageOfTheAPIServerMovesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 8)
	a, b := w.start("a"), w.start("b")
	w.awaitEven(a, b)
	before := w.holders()
	moved := a.Stats().Received + b.Stats().Received
	a.network.set(fails)
	b.network.set(fails)
	w.await(time.Minute, func() error { return empty(w.owned()) })
	w.await(time.Minute, func() error { // longer than all Leases
		if a.blind() && b.blind() {
			return nil
		}
		return errors.New("not yet blind")
	})
	a.network.set(works)
	w.await(time.Minute, func() error { // has taken back its own, not those of the other
		if owned := w.owned(); owned["a"] < 4 {
			return fmt.Errorf("%v", owned)
		}
		return nil
	})
	b.network.set(works)
	w.awaitEven(a, b)
	if after := w.holders(); !slices.Equal(before, after) {
		t.Errorf("held by %v, then by %v", before, after)
	}
	if now := a.Stats().Received + b.Stats().Received; now != moved {
		t.Errorf("%d shards were handed over", now-moved)
	}
}

func (r *replica) blind() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.view.blind(time.Now())
}

func empty(owned map[string]int) error {
	if len(owned) > 0 {
		return fmt.Errorf("%v", owned)
	}
	return nil
}

// holders returns the holders of all shards as the API server has them.
func (w *world) holders() []string {
	var holders []string
	for shard := range w.shards {
		lease, err := w.leases.Get(w.Context(), shardName(shard), metav1.GetOptions{})
		if err != nil {
			w.Fatal(err)
		}
		holders = append(holders, holder(lease))
	}
	return holders
}

func TestDeletedLeasesAreCreatedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 8)
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
}

// A holder that sees the deletion does not wait for its next renewal.
func TestDeletedLeasesAreCreatedAgainAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
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
}

func TestAnotherHolderEndsATerm(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
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

func TestAMemberThatComesAndGoesMovesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 8)
	a := w.startWith("a", slow) // so that the phantom is no member that stays, on a slow machine too
	w.awaitEven(a)
	for range 10 {
		w.phantom(active)
		a.sees(2)
		w.removePhantom()
		a.sees(1)
	}
	if stats := a.Stats(); stats.Held != 8 || stats.HandedOver > 0 {
		t.Errorf("%+v", stats)
	}
}

func TestAMemberThatDiesWithItsFirstLeaseGivesTheShardsBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 8)
	a := w.start("a")
	w.awaitEven(a)
	w.phantom(active)
	w.await(time.Minute, func() error {
		if held := a.Stats().Held; held != 4 {
			return fmt.Errorf("holds %d", held)
		}
		return nil
	})
	w.awaitEven(a)
	if stats := a.Stats(); stats.HandedOver != 4 || stats.Lost > 0 {
		t.Errorf("%+v", stats)
	}
}

func TestAnUnhealthyMemberLosesItsShardsAndGetsThemBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 8)
	a, b := w.start("a"), w.start("b")
	w.awaitEven(a, b)
	a.sick.Store(true)
	w.awaitEven(b)
	if _, expired := w.count(); expired > 0 || a.Stats().Lost > 0 {
		t.Errorf("%d shards expired; %+v", expired, a.Stats())
	}
	a.sick.Store(false)
	w.awaitEven(a, b)
}

func TestNothingMovesIfNobodyIsHealthy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 8)
	timing := Timing{LeaseDuration: 5 * time.Second, RenewDeadline: 4 * time.Second, RetryPeriod: time.Second}
	a, b := w.startWith("a", timing), w.startWith("b", timing)
	w.awaitEven(a, b)
	before, _ := w.count()
	for _, sick := range []bool{true, false} {
		state := map[bool]string{true: unhealthy, false: active}[sick]
		a.sick.Store(sick)
		b.sick.Store(sick)
		for _, r := range []*replica{a, b} {
			w.await(time.Minute, func() error { return r.seesForLong(state) })
		}
	}
	w.awaitEven(a, b)
	if after, _ := w.count(); after != before {
		t.Errorf("%d shards moved", after-before)
	}
}

func TestAHealthyReplicaThatJoinsTakesEverythingFromUnhealthyOnes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 8)
	a, b := w.start("a"), w.start("b")
	w.awaitEven(a, b)
	a.sick.Store(true)
	b.sick.Store(true)
	c := w.start("c")
	w.awaitEven(c)
	a.sick.Store(false)
	b.sick.Store(false)
	w.awaitEven(a, b, c)
}

// seesForLong returns an error unless all members have been in a state for so long that it must have had its effect.
func (r *replica) seesForLong(state string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.view.members {
		if m.state != state || time.Since(m.stated) < 2*r.view.grace() {
			return fmt.Errorf("%s is %s since %s", m.Name, m.state, m.stated)
		}
	}
	return nil
}

func (r *replica) publishes(state string) error {
	lease, err := r.world.leases.Get(r.world.Context(), r.lease, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if got := lease.Annotations[stateAnnotation]; got != state {
		return fmt.Errorf("%s is %s", r.self.Name, got)
	}
	return nil
}

func TestTheLeaseIsHeldUntilOwnReturns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4)
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
}

func TestALeaseThatIsLostDuringAHandOverIsReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4)
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
}

func TestAnOwnerThatGivesUpIsCalledAgainLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
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
}

func TestLeasesOfDeadMembersAreDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
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
}

// A replica writes once in a RetryPeriod for each shard that it holds and once for itself, and not everything at once.
func TestWrites(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 32)
	a := w.start("a")
	w.awaitEven(a)
	w.await(time.Minute, func() error { return a.network.wrote(33 * 3) })
	a.network.mu.Lock()
	a.network.sent = nil
	a.network.mu.Unlock()
	begin := time.Now()
	w.await(time.Minute, func() error { return a.network.wrote(33 * 10) })
	a.network.mu.Lock()
	defer a.network.mu.Unlock()
	periods := float64(time.Since(begin)) / float64(short.RetryPeriod)
	rate := float64(len(a.network.sent)) / periods
	t.Logf("%.1f writes in a RetryPeriod", rate)
	if rate > 33*1.1 {
		t.Errorf("%.1f writes in a RetryPeriod", rate)
	}
	var near []int // for each write, how many follow in a tenth of a RetryPeriod
	for i, at := range a.network.sent {
		after := slices.IndexFunc(a.network.sent[i:], func(next time.Time) bool { return next.Sub(at) > short.RetryPeriod/10 })
		if after > 0 {
			near = append(near, after)
		}
	}
	slices.Sort(near)
	median := near[len(near)/2] // a machine that stands still for a moment makes some writes late
	t.Logf("%d writes in a tenth of it", median)
	if median > 16 {
		t.Errorf("%d of 33 writes in a tenth of a RetryPeriod", median)
	}
}

func (n *network) wrote(count int) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.sent) < count {
		return fmt.Errorf("%d writes", len(n.sent))
	}
	return nil
}

func TestTimingIsChecked(t *testing.T) {
	for _, timing := range []Timing{
		{LeaseDuration: 1500 * time.Millisecond, RenewDeadline: time.Second, RetryPeriod: 100 * time.Millisecond},
		{LeaseDuration: 2 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: time.Second},
		{LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 2 * time.Second},
		{LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second},
	} {
		if err := New(Options{Timing: timing}).Start(t.Context()); err == nil {
			t.Errorf("%+v is accepted", timing)
		}
	}
	if err := New(Options{}).options.Timing.validate(); err != nil {
		t.Error(err)
	}
}

func TestStartReturnsWithoutTheAPIServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4)
	a := w.start("a")
	w.awaitEven(a)
	a.network.set(hangs)
	ctx, cancel := context.WithTimeout(t.Context(), short.RenewDeadline+3*short.RetryPeriod+10*time.Second)
	defer cancel()
	a.stop()
	select {
	case <-a.stopped:
	case <-ctx.Done():
		t.Error("does not return")
	}
}
