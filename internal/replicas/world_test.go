// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/nestor-dev/nestor/internal/localcluster"
	"github.com/nestor-dev/nestor/test/patience"
)

// short is the timing of the tests.
var short = Timing{LeaseDuration: 2 * time.Second, RenewDeadline: 1500 * time.Millisecond, RetryPeriod: 400 * time.Millisecond}

var startCluster = sync.OnceValues(func() (*localcluster.Cluster, error) {
	return localcluster.Start(context.Background(), localcluster.Options{})
})

var clusterStarted atomic.Bool

func TestMain(m *testing.M) {
	code := m.Run()
	if left := replicasLeft(); left != "" {
		fmt.Fprintf(os.Stderr, "goroutines outlive Start:\n%s\n", left)
		code = 1
	}
	if clusterStarted.Load() {
		if cluster, err := startCluster(); err == nil {
			_ = cluster.Stop()
		}
	}
	os.Exit(code)
}

// replicasLeft returns a goroutine of this package that still runs after all Start calls have returned.
func replicasLeft() (left string) {
	patience.Until(func() bool {
		left = ""
		stacks := make([]byte, 1<<22)
		for stack := range strings.SplitSeq(string(stacks[:goruntime.Stack(stacks, true)]), "\n\n") {
			if strings.Contains(stack, "internal/replicas.(*") || strings.Contains(stack, "leaderelection.(*") {
				left = stack
			}
		}
		return left == ""
	})
	return left
}

// world is a namespace with replicas, which checks at every call of Own that the shard has no other owner.
type world struct {
	*testing.T
	config *rest.Config
	leases coordinationv1client.LeaseInterface
	name   string
	timing Timing
	shards int
	owner  *metav1.OwnerReference

	mu      sync.Mutex
	owners  map[int][]*owner // calls of Own that have not returned
	ended   map[int]time.Time
	gaps    []time.Duration // between the end of a hand-over's Own and the begin of the next
	began   int             // calls of Own
	expired int             // those of which after an expiry
}

type owner struct {
	replica *replica
	ctx     context.Context
	term    Term
}

// simulate runs a test in a bubble with a clock of its own, in which only what the test does makes a renewal late.
func simulate(t *testing.T, shards int, test func(*testing.T, *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		config := &rest.Config{Host: "http://leases.test", Transport: newLeaseServer()}
		config.ContentType = runtime.ContentTypeJSON
		test(t, newWorld(t, config, "replicas", shards))
	})
}

func newWorld(t *testing.T, config *rest.Config, namespace string, shards int) *world {
	t.Helper()
	w := &world{T: t, config: config, name: namespace, timing: short, shards: shards, owners: map[int][]*owner{}, ended: map[int]time.Time{}}
	w.leases = w.client(config)
	return w
}

// clusterConfig returns how to reach a real control plane.
func clusterConfig(t *testing.T) *rest.Config {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a control plane")
	}
	clusterStarted.Store(true)
	cluster, err := startCluster()
	if err != nil {
		t.Fatal(err)
	}
	return cluster.Config
}

func (w *world) client(config *rest.Config) coordinationv1client.LeaseInterface {
	config = rest.CopyConfig(config)
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		w.Fatal(err)
	}
	return client.CoordinationV1().Leases(w.name)
}

// replica is one of a world, with a network that can be cut.
type replica struct {
	*Replicas
	world   *world
	network *network
	sick    atomic.Bool
	drain   atomic.Pointer[chan struct{}] // if set, Own waits for it after a hand-over began
	giveUp  atomic.Bool                   // Own returns at once
	changes atomic.Int64
	stop    context.CancelFunc
	stopped chan struct{}
}

func (w *world) start(name string) *replica {
	w.Helper()
	return w.startWith(name, w.timing)
}

func (w *world) startWith(name string, timing Timing) *replica {
	w.Helper()
	r := &replica{world: w, network: newNetwork(), stopped: make(chan struct{})}
	config := rest.CopyConfig(w.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { r.network.next = next; return r.network })
	log := funcr.New(func(prefix, args string) { w.Logf("%s %s %s", time.Now().Format("05.000"), prefix, args) }, funcr.Options{})
	r.Replicas = New(Options{
		Leases: w.client(config), Name: name, Address: name + ":1", Fingerprint: "key of " + name, Shards: w.shards, Timing: timing,
		Own: r.own, Owner: w.owner, Healthy: func() bool { return !r.sick.Load() }, Log: log.WithName(name),
	})
	r.OnChange(func() { r.changes.Add(1) })
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	go func() {
		defer close(r.stopped)
		if err := r.Start(ctx); err != nil {
			w.Errorf("start %s: %v", name, err)
		}
	}()
	w.Cleanup(r.end)
	return r
}

// end stops a replica and waits for that.
func (r *replica) end() {
	r.stop()
	<-r.stopped
}

func (r *replica) own(ctx context.Context, term Term) {
	me := &owner{r, ctx, term}
	r.world.begin(me)
	defer r.world.end(me)
	if r.giveUp.Load() {
		return
	}
	<-ctx.Done()
	if drain := r.drain.Load(); drain != nil && errors.Is(context.Cause(ctx), ErrHandOver) {
		select {
		case <-*drain:
		case <-term.Lost:
		}
	}
}

func (w *world) begin(me *owner) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, other := range w.owners[me.term.Shard] {
		select {
		case <-other.term.Lost:
		default:
			w.Errorf("%s owns shard %d while %s does (its context: %v)", me.replica.self.Name, me.term.Shard, other.replica.self.Name, context.Cause(other.ctx))
		}
		if other.ctx.Err() == nil {
			w.Errorf("%s owns shard %d before the context of %s ended", me.replica.self.Name, me.term.Shard, other.replica.self.Name)
		}
	}
	if at, ok := w.ended[me.term.Shard]; ok && !me.term.Expired {
		w.gaps = append(w.gaps, time.Since(at))
	}
	w.began++
	if me.term.Expired {
		w.expired++
	}
	w.owners[me.term.Shard] = append(w.owners[me.term.Shard], me)
}

func (w *world) end(me *owner) {
	w.mu.Lock()
	defer w.mu.Unlock()
	cause := context.Cause(me.ctx)
	if !errors.Is(cause, ErrHandOver) && !errors.Is(cause, ErrLeaseLost) && !me.replica.giveUp.Load() {
		w.Errorf("the context of %s for shard %d ended with %v", me.replica.self.Name, me.term.Shard, cause)
	}
	w.owners[me.term.Shard] = slices.DeleteFunc(w.owners[me.term.Shard], func(o *owner) bool { return o == me })
	delete(w.ended, me.term.Shard)
	if errors.Is(cause, ErrHandOver) {
		w.ended[me.term.Shard] = time.Now()
	}
}

// count returns the calls of Own so far, and those after an expiry.
func (w *world) count() (began, expired int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.began, w.expired
}

// longestGap returns the longest time that a shard had no owner in a hand-over.
func (w *world) longestGap() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.gaps) == 0 {
		return 0
	}
	return slices.Max(w.gaps)
}

// owned returns how many shards each replica owns now.
func (w *world) owned() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	owned := map[string]int{}
	for _, owners := range w.owners {
		for _, o := range owners {
			if o.ctx.Err() == nil {
				owned[o.replica.self.Name]++
			}
		}
	}
	return owned
}

// awaitEven waits until exactly these replicas own all shards, evenly.
func (w *world) awaitEven(replicas ...*replica) {
	w.Helper()
	w.await(2*time.Minute, func() error {
		owned, sum := w.owned(), 0
		for _, r := range replicas {
			n := owned[r.self.Name]
			if n != w.shards/len(replicas) && n != (w.shards+len(replicas)-1)/len(replicas) {
				return fmt.Errorf("%v", owned)
			}
			sum += n
		}
		if sum != w.shards || len(owned) > len(replicas) {
			return fmt.Errorf("%v", owned)
		}
		return nil
	})
}

// await waits until check returns nil.
func (w *world) await(limit time.Duration, check func() error) {
	w.Helper()
	var last error
	err := wait.PollUntilContextTimeout(w.Context(), 5*time.Millisecond, limit, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		w.Fatalf("%v: %v", err, last)
	}
}

// network is the way from a replica to the API server.
type network struct {
	next   http.RoundTripper
	late   atomic.Int64 // how long responses to writes take
	mu     sync.Mutex
	mode   mode
	opened chan struct{} // closed when the network works
	sent   []time.Time   // the writes
}

type mode int

const (
	works         mode = iota
	fails              // requests fail at once
	hangs              // nothing gets through, in neither direction
	losesResponse      // requests get through, responses do not
)

func newNetwork() *network {
	n := &network{opened: make(chan struct{})}
	close(n.opened)
	return n
}

func (n *network) set(m mode) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mode == works && m != works {
		n.opened = make(chan struct{})
	}
	if n.mode != works && m == works {
		close(n.opened)
	}
	n.mode = m
}

func (n *network) state() (mode, chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.mode, n.opened
}

// RoundTrip implements http.RoundTripper.
func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	m, _ := n.state()
	switch m {
	case fails:
		return nil, errors.New("connection refused by the test")
	case hangs:
		if err := n.pass(r.Context()); err != nil {
			return nil, err
		}
	}
	if r.Method != http.MethodGet {
		n.mu.Lock()
		n.sent = append(n.sent, time.Now())
		n.mu.Unlock()
	}
	response, err := n.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if err := n.arrive(r); err != nil {
		response.Body.Close()
		return nil, err
	}
	response.Body = &body{response.Body, n, r.Context()}
	return response, nil
}

// arrive waits until a response arrives.
func (n *network) arrive(r *http.Request) error {
	if late := time.Duration(n.late.Load()); late > 0 && r.Method != http.MethodGet {
		timer := time.NewTimer(late)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return r.Context().Err()
		}
	}
	return n.pass(r.Context())
}

// pass waits until the network works.
func (n *network) pass(ctx context.Context) error {
	_, opened := n.state()
	select {
	case <-opened:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// body is that of a response, for example a watch, which stands still while the network is cut.
type body struct {
	io.ReadCloser
	network *network
	ctx     context.Context
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if m, _ := b.network.state(); m == fails {
		return 0, errors.New("connection reset by the test")
	}
	if err := b.network.pass(b.ctx); err != nil {
		return 0, err
	}
	return n, err
}
