// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	fakeevents "k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/controller/workspace"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/connect"
	"github.com/nestor-dev/nestor/internal/localcluster"
	server "github.com/nestor-dev/nestor/internal/tool/workspace"
	"github.com/nestor-dev/nestor/internal/tool/workspace/changes"
	"github.com/nestor-dev/nestor/internal/tool/workspace/pod"
	"github.com/nestor-dev/nestor/test/patience"
)

var (
	ctx          context.Context
	api          client.Client
	workspaces   *workspace.Workspaces
	reconciler   *workspace.Reconciler
	shortTimeout *workspace.Workspaces
	restarted    workspace.Options // options of an operator that starts later
	clock        *fakeClock
	network      *podNetwork
	store        ledger.Ledger
	events       *fakeevents.FakeRecorder
	serial       int
)

func TestWorkspaces(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Workspaces")
}

var _ = BeforeSuite(func() {
	SetDefaultEventuallyTimeout(patience.Limit())
	SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	var cancel context.CancelFunc
	ctx, cancel = context.WithCancel(context.Background())
	local, err := localcluster.Start(ctx, localcluster.Options{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(local.Stop()).To(Succeed()) })

	scheme := runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(v1beta1.AddToScheme(scheme)).To(Succeed())
	api, err = client.New(local.Config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	ctrl.SetLogger(GinkgoLogr)
	mgr, err := ctrl.NewManager(local.Config, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, Cache: workspace.Cache(cache.Options{}),
	})
	Expect(err).NotTo(HaveOccurred())

	clock = &fakeClock{now: time.Now()}
	network = &podNetwork{servers: map[string]*httptest.Server{}}
	DeferCleanup(network.close)
	store, err = connect.Open(ctx, "sqlite:"+filepath.Join(GinkgoT().TempDir(), "ledger.db"))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(store.Close()).To(Succeed()) })
	events = fakeevents.NewFakeRecorder(100)
	options := workspace.Options{
		Ledger: store, Events: events,
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Image: "example.com/nestor-workspace:test", HTTP: network, Now: clock.Now,
		Resolve:  lookUp,
		Operator: pod.Peer{Namespace: "nestor-system", Labels: map[string]string{"app.kubernetes.io/name": "nestor-operator"}},
	}
	workspaces, err = workspace.New(options)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(workspaces.Close(context.Background())).To(Succeed()) })
	restarted = options
	options.StartTimeout = 300 * time.Millisecond
	shortTimeout, err = workspace.New(options)
	Expect(err).NotTo(HaveOccurred())
	reconciler = &workspace.Reconciler{Client: mgr.GetClient(), Workspaces: workspaces, Changed: cluster.NewQueue(), WhileActive: func(r reconcile.Reconciler) reconcile.Reconciler { return r }}
	Expect(reconciler.SetupWithManager(mgr)).To(Succeed())
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(ctx) }()
	DeferCleanup(func() {
		cancel()
		Eventually(stopped).Should(Receive(Succeed()))
	})
	Expect(mgr.GetCache().WaitForCacheSync(ctx)).To(BeTrue())
})

// A spec may advance the clock. The next one starts with the current time, because the API server uses the real time.
var _ = BeforeEach(func() { clock.set(time.Now()) })

// fakeClock only moves when advanced.
type fakeClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

func (c *fakeClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// podNetwork imitates the network of a cluster: it routes a Service's name to a real workspace server of this
// process.
type podNetwork struct {
	mu      sync.Mutex
	servers map[string]*httptest.Server
	// intercept, if set, fails each tool call with an error. It may let the call reach the server before.
	refusals  map[string]int
	intercept func(r *http.Request, reach func()) error
}

// run starts a pod's server on a new directory, and returns the directory.
func (n *podNetwork) run(namespace, name, token string, waitForRestore bool) string {
	GinkgoHelper()
	root := filepath.Join(GinkgoT().TempDir(), name)
	Expect(os.MkdirAll(root, 0o755)).To(Succeed())
	state := GinkgoT().TempDir()
	options := server.Options{Root: root, Token: token, Changes: &changes.Tree{Root: root, State: state, Against: changes.Nothing}}
	if waitForRestore {
		options.Restored = filepath.Join(state, "restored")
	}
	served, err := server.New(options)
	Expect(err).NotTo(HaveOccurred())
	n.mu.Lock()
	defer n.mu.Unlock()
	host := fmt.Sprintf("%s.%s.svc:%d", name, namespace, pod.Port)
	if old, ok := n.servers[host]; ok {
		old.CloseClientConnections()
		old.Close()
	}
	n.servers[host] = httptest.NewServer(served.Handler())
	return root
}

// refuse refuses the next connections to a pod, as nodes do that have not learned its address yet.
func (n *podNetwork) refuse(name types.NamespacedName, connections int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refusals = map[string]int{fmt.Sprintf("%s.%s.svc:%d", name.Name, name.Namespace, pod.Port): connections}
}

func (n *podNetwork) answer(name types.NamespacedName, handler http.HandlerFunc) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.servers[fmt.Sprintf("%s.%s.svc:%d", name.Name, name.Namespace, pod.Port)] = httptest.NewServer(handler)
}

func (n *podNetwork) RoundTrip(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	found, ok := n.servers[r.URL.Host]
	cut := n.intercept
	if n.refusals[r.URL.Host] > 0 {
		n.refusals[r.URL.Host]--
		ok = false
	}
	n.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("no route to %s", r.URL.Host)
	}
	forward := func() (*http.Response, error) {
		r := r.Clone(r.Context())
		r.URL.Host = found.Listener.Addr().String()
		r.Host = "" // a loopback server rejects other names against DNS rebinding
		return http.DefaultTransport.RoundTrip(r)
	}
	if cut == nil || !isToolCall(r) {
		return forward()
	}
	err := cut(r, func() {
		if response, err := forward(); err == nil {
			_, _ = io.Copy(io.Discard, response.Body) // drop the answer
			_ = response.Body.Close()
		}
	})
	if errors.Is(err, errAnswer) {
		return forward()
	}
	return nil, err
}

// errAnswer makes a call return its answer after all.
var errAnswer = errors.New("answer")

func isToolCall(r *http.Request) bool {
	if r.Body == nil {
		return false
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return err == nil && bytes.Contains(body, []byte("tools/call"))
}

func (n *podNetwork) interceptCalls(cut func(r *http.Request, reach func()) error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.intercept = cut
}

func (n *podNetwork) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.servers {
		s.CloseClientConnections()
		s.Close()
	}
}

// moved is whether moving.example has its second address.
var moved atomic.Bool

// lookUp imitates the DNS of a cluster.
func lookUp(_ context.Context, host string) ([]netip.Addr, error) {
	switch host {
	case "nowhere.example":
		return nil, errors.New("no such host")
	case "metadata.example":
		return []netip.Addr{netip.MustParseAddr("169.254.169.254")}, nil
	case "mixed.example":
		return []netip.Addr{netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("10.0.0.9")}, nil
	case "translated.example":
		return []netip.Addr{netip.MustParseAddr("64:ff9b::a00:9")}, nil
	case "moving.example":
		if moved.Load() {
			return []netip.Addr{netip.MustParseAddr("192.0.2.8")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("192.0.2.7")}, nil
	case "intranet.example":
		return []netip.Addr{netip.MustParseAddr("10.0.0.9")}, nil
	case "many.example":
		var all []netip.Addr
		for i := range 33 {
			all = append(all, netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}))
		}
		return all, nil
	}
	return []netip.Addr{netip.MustParseAddr("2001:db8::7"), netip.MustParseAddr("192.0.2.7")}, nil
}

func newNamespace() string {
	GinkgoHelper()
	serial++
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("spec-%d", serial)}}
	Expect(api.Create(ctx, ns)).To(Succeed())
	return ns.Name
}
