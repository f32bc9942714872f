// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
	"github.com/nestor-dev/nestor/internal/tool/workspace"
	"github.com/nestor-dev/nestor/internal/tool/workspace/pod"
	"github.com/nestor-dev/nestor/internal/version"
)

// Options say how workspaces are run.
type Options struct {
	// Client creates and deletes objects, and reads Nestor's kinds and workspace pods from its cache; Live reads Secrets and
	// claims from the API server.
	Client client.Client
	Live   client.Reader
	// Image is that of workspace pods; without it the operator runs none.
	Image string
	// Operator says which pods may connect to a workspace's.
	Operator pod.Peer
	// Egress is what every workspace pod may connect to, besides the server of its repository.
	Egress []networkingv1.NetworkPolicyEgressRule
	// MaxSize bounds the files of a pod that are not on a claim; zero is DefaultMaxSize.
	MaxSize resource.Quantity
	// Resolve finds the addresses of a git server; nil asks the name servers of this machine.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// LocalRoots are the directories of this machine in which workspaces of the source directory may be; none allows none.
	LocalRoots []string
	// Scratch is where the home directories of local workspaces' commands are made; empty is the system's place for such.
	Scratch string
	// StartTimeout is how long a call waits for its workspace; 0 is two minutes.
	StartTimeout time.Duration
	// HTTP reaches the pods; nil is a transport of the package's own.
	HTTP http.RoundTripper
	// Retry lets the runs of a namespace that lack something look again. It is called after a while for what cannot be
	// watched; nil leaves it.
	Retry func(namespace string)
	// Now tells the time; nil is time.Now.
	Now func() time.Time
}

// DefaultMaxSize is how large the files of a workspace pod may be at most, unless the operator is started with another size.
const DefaultMaxSize = "20Gi"

// startTimeout is long enough to pull an image and clone a repository of the usual size.
const startTimeout = 2 * time.Minute

// Workspaces gives agents the tools of their workspaces.
type Workspaces struct {
	Finder

	options         Options
	writers, reader []*tool.Tool
	pods            *pods
	directories     *directories

	mu      sync.Mutex
	retries map[string]bool
}

// New prepares workspaces. Close ends those that run in this process.
func New(o Options) (*Workspaces, error) {
	if o.StartTimeout == 0 {
		o.StartTimeout = startTimeout
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxSize.IsZero() {
		o.MaxSize = resource.MustParse(DefaultMaxSize)
	}
	if o.Resolve == nil {
		o.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	roots, err := realPaths(o.LocalRoots)
	if err != nil {
		return nil, err
	}
	o.LocalRoots = roots
	w := &Workspaces{Finder: Finder{Reader: o.Client}, options: o, pods: newPods(o), directories: newDirectories(o), retries: map[string]bool{}}
	if w.writers, err = tools(false, o.StartTimeout); err != nil {
		return nil, err
	}
	w.reader, err = tools(true, o.StartTimeout)
	return w, err
}

// Close ends what runs in this process. Pods stay: the operator that comes next uses them.
func (w *Workspaces) Close(ctx context.Context) error {
	w.directories.close()
	return errors.Join(w.directories.pool.Close(ctx), w.pods.pool.Close(ctx))
}

// Resume lets every pod count as used now: another operator may have used it in the meantime.
func (w *Workspaces) Resume() { w.pods.uses.resume() }

// tools makes the tools of a workspace that is not known yet; Tools binds them to one.
func tools(readOnly bool, wait time.Duration) ([]*tool.Tool, error) {
	specs, err := workspace.Specs(readOnly)
	if err != nil {
		return nil, err
	}
	limits := workspace.DefaultLimits()
	made := make([]*tool.Tool, 0, len(specs))
	for _, spec := range specs {
		// The workspace ends a call that takes too long by itself and says what became of it. This is for when it cannot.
		spec.Timeout = wait + limits.SearchTime + slack
		if spec.Name == "bash" {
			spec.Timeout = wait + limits.MaxShellTime + slack
		}
		t, err := tool.New(spec, nowhere)
		if err != nil {
			return nil, fmt.Errorf("make the tool %s: %w", spec.Name, err)
		}
		made = append(made, t)
	}
	return made, nil
}

// slack is how much longer than its limit a call may take to come back.
const slack = 30 * time.Second

func nowhere(context.Context, tool.Call) (tool.Output, error) {
	return tool.Output{}, errors.New("there is no workspace")
}

// Tools returns the tools of a place; nil has none. Nothing runs until one is called.
func (w *Workspaces) Tools(p *Place) (tool.Set, error) {
	if p == nil {
		return tool.Set{}, nil
	}
	offered := w.writers
	if p.readOnly() {
		offered = w.reader
	}
	bound := make([]*tool.Tool, 0, len(offered))
	for _, t := range offered {
		bound = append(bound, t.With(func(ctx context.Context, call tool.Call) (tool.Output, error) {
			return w.call(ctx, *p, t.Spec(), call)
		}))
	}
	return tool.NewSet(bound...)
}

// Offers says whether a tool is one of a workspace's.
func (w *Workspaces) Offers(name string) bool {
	return slices.ContainsFunc(w.writers, func(t *tool.Tool) bool { return t.Name() == name })
}

// ToolsOf returns the tools of the workspace of an agent that runs.
func (w *Workspaces) ToolsOf(ctx context.Context, a ledger.Agent) (tool.Set, error) {
	place, err := w.OfAgent(ctx, a)
	if err != nil {
		return tool.Set{}, err
	}
	return w.Tools(place)
}

// newPool keeps sessions with workspaces. Their servers are known to run, so that pauses between attempts are short.
func newPool(transport http.RoundTripper, changed func(mcp.Key)) *mcp.Pool {
	return mcp.NewPool(mcp.Options{Version: version.String(), HTTP: transport, Changed: changed, ConnectTimeout: 10 * time.Second,
		Wait: func(ctx context.Context, attempt int) error {
			timer := time.NewTimer(min(time.Duration(attempt)*250*time.Millisecond, 5*time.Second))
			defer timer.Stop()
			select {
			case <-timer.C:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}})
}
