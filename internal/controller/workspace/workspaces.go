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
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
	"github.com/nestor-dev/nestor/internal/tool/workspace"
	"github.com/nestor-dev/nestor/internal/tool/workspace/pod"
	"github.com/nestor-dev/nestor/internal/tool/workspace/toolspec"
	"github.com/nestor-dev/nestor/internal/version"
)

// Options configure workspaces.
type Options struct {
	// Client creates and deletes objects, and reads Nestor's kinds and workspace pods from its cache; Live reads Secrets
	// and claims from the API server.
	Client client.Client
	Live   client.Reader
	// Image is the image of workspace pods; without it the operator runs none.
	Image string
	// Operator selects the pods that may connect to workspaces.
	Operator pod.Peer
	// Egress lists what every workspace pod may connect to, besides the server of its repository.
	Egress []networkingv1.NetworkPolicyEgressRule
	// PrivateGitServers may have private addresses, or be Services of other namespaces.
	PrivateGitServers Servers
	// MaxSize bounds the files of a pod that are not on a claim; zero means DefaultMaxSize.
	MaxSize resource.Quantity
	// Allow has the runtimes and nodes that workspaces may ask for.
	Allow Placements
	// Resolve resolves a git server; nil uses the DNS of this machine.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// LocalRoots are the directories of this machine that may contain workspaces of the source directory; empty
	// allows none.
	LocalRoots []string
	// OwnDirectory returns the directory that an owner uses instead of the one in its spec; nil uses the one in the spec.
	OwnDirectory func(path string, owner client.Object) (string, error)
	// Scratch is the directory for the home directories of local workspaces' commands; empty means the system's
	// temporary directory.
	Scratch string
	// StartTimeout is how long a call waits for its workspace; 0 means two minutes.
	StartTimeout time.Duration
	// HTTP sends the requests to pods; nil means a new transport.
	HTTP http.RoundTripper
	// Retry retries the pending runs of a namespace. It is called after a while for what cannot be watched; it may be
	// nil.
	Retry func(namespace string)
	// Ledger keeps the changes of pods that are stopped; nil keeps none. Events receives the warning that changes were not
	// kept; it may be nil.
	Ledger ledger.Workspaces
	Events recorder.EventRecorder
	// Now returns the current time; nil means time.Now.
	Now func() time.Time
}

// DefaultMaxSize is the default maximum size of the files of a workspace pod.
const DefaultMaxSize = "20Gi"

// startTimeout is enough to pull an image and clone a typical repository.
const startTimeout = 2 * time.Minute

// Workspaces provides agents with the tools of their workspaces.
type Workspaces struct {
	Finder

	options         Options
	writers, reader []*tool.Tool
	// publishers are the tools that publish changes, by whether a push needs an approval.
	publishers  map[v1beta1.PushApproval][]*tool.Tool
	pods        *pods
	directories *directories
	delayed     *cluster.Delayed
}

// New returns workspaces. Close ends those that run in this process.
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
	w := &Workspaces{Finder: Finder{Reader: cluster.Reader{Cache: o.Client, API: o.Live}}, options: o, pods: newPods(o), directories: newDirectories(o), delayed: &cluster.Delayed{Retry: o.Retry, Interval: retryInterval}}
	if w.writers, err = tools(false, o.StartTimeout); err != nil {
		return nil, err
	}
	if w.reader, err = tools(true, o.StartTimeout); err != nil {
		return nil, err
	}
	w.publishers, err = publishers(o.StartTimeout)
	return w, err
}

// Close ends what runs in this process. Pods stay for the next operator.
func (w *Workspaces) Close(ctx context.Context) error {
	w.directories.close()
	return errors.Join(w.directories.pool.Close(ctx), w.pods.pool.Close(ctx))
}

// Resume marks every pod as used now, because another operator may have used it meanwhile.
func (w *Workspaces) Resume() { w.pods.uses.resume() }

// tools returns unbound tools of a workspace; Tools binds them.
func tools(readOnly bool, wait time.Duration) ([]*tool.Tool, error) {
	specs, err := toolspec.Specs(readOnly)
	if err != nil {
		return nil, err
	}
	limits := workspace.DefaultLimits()
	made := make([]*tool.Tool, 0, len(specs))
	for _, spec := range specs {
		// The workspace itself ends a call that takes too long and reports it. This timeout is for when it cannot.
		spec.Timeout, spec.SharedFiles = wait+limits.SearchTime+timeoutMargin, true
		if spec.Name == "bash" {
			spec.Timeout = wait + limits.MaxShellTime + timeoutMargin
		}
		t, err := tool.New(spec, unbound)
		if err != nil {
			return nil, fmt.Errorf("create the tool %s: %w", spec.Name, err)
		}
		made = append(made, t)
	}
	return made, nil
}

// timeoutMargin is how much longer than its limit a call may take to return.
const timeoutMargin = 30 * time.Second

func unbound(context.Context, tool.Invocation) (tool.Output, error) {
	return tool.Output{}, errors.New("there is no workspace")
}

// Tools returns the tools of a location, or none for nil. Nothing runs until one is called.
func (w *Workspaces) Tools(p *Location) (tool.Set, error) {
	if p == nil {
		return tool.Set{}, nil
	}
	offered := w.writers
	if p.readOnly() {
		offered = w.reader
	}
	bound := w.publishTools(*p)
	for _, t := range offered {
		bound = append(bound, t.With(func(ctx context.Context, call tool.Invocation) (tool.Output, error) {
			return w.call(ctx, *p, t.Spec(), call)
		}))
	}
	return tool.NewSet(bound...)
}

// Offers reports whether a tool belongs to workspaces.
func (w *Workspaces) Offers(name string) bool {
	return name == toolspec.ReviewTool || name == toolspec.PublishTool || slices.ContainsFunc(w.writers, func(t *tool.Tool) bool { return t.Name() == name })
}

func (w *Workspaces) ToolsOf(ctx context.Context, a ledger.Agent) (tool.Set, error) {
	location, err := w.OfAgent(ctx, a)
	if err != nil {
		return tool.Set{}, err
	}
	return w.Tools(location)
}

// newPool returns a pool of sessions with workspaces. Their servers are known to run, so pauses between attempts are
// short.
func newPool(transport http.RoundTripper, changed func(mcp.Key)) *mcp.Pool {
	return mcp.NewPool(mcp.Options{Version: version.String(), HTTP: transport, Changed: changed, ConnectTimeout: 10 * time.Second,
		Wait: func(ctx context.Context, attempt int) error {
			return mcp.Pause(ctx, min(time.Duration(attempt)*250*time.Millisecond, 5*time.Second))
		}})
}
