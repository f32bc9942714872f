// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/test/forward"
)

// interval is how often the pods are listed.
const interval = 50 * time.Millisecond

// Node runs pods.
type Node struct {
	api     client.Client
	program string
	dir     string
	proxy   *httptest.Server
	end     context.CancelFunc
	ended   chan struct{}

	mu        sync.Mutex
	routes    map[string]string
	running   map[types.UID]*pod
	addresses map[string]string // host:port of a Service to the address of a process
	intercept Interceptor
}

// Interceptor receives each request of the operator to a pod. It forwards the request, or not.
type Interceptor func(rw http.ResponseWriter, r *http.Request, forward http.HandlerFunc)

// New returns a node whose network exists, and that runs no pods yet.
func New() (*Node, error) {
	dir, err := os.MkdirTemp("", "nestor-node-")
	if err != nil {
		return nil, fmt.Errorf("create the node's directory: %w", err)
	}
	n := &Node{dir: dir, ended: make(chan struct{}), routes: map[string]string{}, running: map[types.UID]*pod{}, addresses: map[string]string{}}
	n.proxy = httptest.NewServer(http.HandlerFunc(n.serve))
	return n, nil
}

// Env is the environment of an operator that reaches the pods of the node. Loopback addresses are reached directly.
func (n *Node) Env() []string {
	return []string{"HTTP_PROXY=" + n.proxy.URL, "http_proxy=" + n.proxy.URL, "NO_PROXY=", "no_proxy="}
}

// Route makes containers connect to another URL instead of one that begins with a prefix, as a network would.
func (n *Node) Route(prefix, to string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.routes[prefix] = to
}

// Intercept sets the interceptor of requests to pods; nil ends that.
func (n *Node) Intercept(i Interceptor) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.intercept = i
}

// Run runs the pods of all namespaces with a program until the node is stopped.
func (n *Node) Run(api client.Client, program string) {
	n.api, n.program = api, program
	ctx, cancel := context.WithCancel(context.Background())
	n.end = cancel
	go func() {
		defer close(n.ended)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			n.sync(ctx)
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
}

// Stop ends all pods and the network.
func (n *Node) Stop() error {
	if n.end != nil {
		n.end()
		<-n.ended
	}
	for _, p := range n.running {
		p.kill()
	}
	n.proxy.CloseClientConnections()
	n.proxy.Close()
	return os.RemoveAll(n.dir)
}

// Files returns the directory with the files of a running pod of a workspace, or "".
func (n *Node) Files(name types.NamespacedName) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.running {
		if p.name == name {
			return p.volume(filesVolume)
		}
	}
	return ""
}

// sync starts new pods, and ends those that were deleted. A failed request is repeated with the next one.
func (n *Node) sync(ctx context.Context) {
	var list corev1.PodList
	if n.api.List(ctx, &list) != nil {
		return
	}
	exists := map[types.UID]bool{}
	for i := range list.Items {
		found := &list.Items[i]
		exists[found.UID] = found.DeletionTimestamp == nil
		if found.DeletionTimestamp == nil {
			n.advance(ctx, found)
		}
	}
	for uid, p := range n.running {
		if !exists[uid] {
			n.remove(uid, p)
		}
	}
	for i := range list.Items {
		// The API server waits for the node before it deletes a pod that was scheduled.
		if found := &list.Items[i]; found.DeletionTimestamp != nil {
			_ = n.api.Delete(ctx, found, client.GracePeriodSeconds(0), client.Preconditions{UID: &found.UID})
		}
	}
}

// advance runs a pod, and reports that it is ready.
func (n *Node) advance(ctx context.Context, found *corev1.Pod) {
	p, ok := n.running[found.UID]
	if !ok {
		p = newPod(found, filepath.Join(n.dir, string(found.UID)))
		n.mu.Lock()
		n.running[found.UID] = p
		n.mu.Unlock()
		go p.run(ctx, n)
	}
	status := p.current()
	if status.Phase == "" || (status.Phase == found.Status.Phase && len(found.Status.Conditions) == len(status.Conditions)) {
		return
	}
	if p.address() != "" {
		n.mu.Lock()
		n.addresses[fmt.Sprintf("%s.%s.svc", found.Name, found.Namespace)] = p.address()
		n.mu.Unlock()
	}
	found.Status.Phase, found.Status.Conditions, found.Status.InitContainerStatuses = status.Phase, status.Conditions, status.InitContainerStatuses
	_ = n.api.Status().Update(ctx, found)
}

func (n *Node) remove(uid types.UID, p *pod) {
	p.kill()
	n.mu.Lock()
	defer n.mu.Unlock()
	host := fmt.Sprintf("%s.%s.svc", p.name.Name, p.name.Namespace)
	if n.addresses[host] == p.address() {
		delete(n.addresses, host)
	}
	delete(n.running, uid)
}

// route returns a URL as containers see it.
func (n *Node) route(from string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	for prefix, to := range n.routes {
		if rest, ok := strings.CutPrefix(from, prefix); ok {
			return to + rest
		}
	}
	return from
}

// serve is the operator's proxy.
func (n *Node) serve(rw http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	address, intercept := n.addresses[r.URL.Hostname()], n.intercept
	n.mu.Unlock()
	if address == "" {
		http.Error(rw, "no route to "+r.URL.Host, http.StatusBadGateway)
		return
	}
	route := forward.Handler(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(&url.URL{Scheme: "http", Host: address})
		p.Out.Host = address
	}})
	if intercept == nil {
		route.ServeHTTP(rw, r)
		return
	}
	intercept(rw, r, route.ServeHTTP)
}
