// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"context"
	"net"
	"net/http"

	"golang.org/x/sync/semaphore"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/health"
	"github.com/nestor-dev/nestor/internal/listen"
	"github.com/nestor-dev/nestor/internal/login/request"
	"github.com/nestor-dev/nestor/internal/streams"
)

// Options configure the page.
type Options struct {
	// Identity determines the identity with which requests act.
	Identity Identity
	// Namespace is the initial namespace of the page; empty means default.
	Namespace string
	// OperatorNamespace is the namespace of the operator; empty means nestor-system.
	OperatorNamespace string
	// Hosts are the accepted values of the Host header; empty accepts all.
	Hosts []string
	// Streams counts and limits the streams of the page; nil means no limit.
	Streams *streams.Limiter
	// Workspace is the workspace that the page proposes for new chats; nil means none.
	Workspace *v1beta1.Workspace
	// GatewayURL is where programs reach the gateway; empty if that is not known.
	GatewayURL string
	// Ideas are first messages that the page proposes; empty means its own.
	Ideas []string
	// Logins logs people in to tool servers; nil if people cannot log in here.
	Logins func(context.Context, request.Request) (request.Result, error)
}

// New returns the handler of the page and its API.
func New(options Options) http.Handler { return newSite(options, defaultRetryPolicy()) }

func newSite(options Options, retry retryPolicy) http.Handler {
	if options.Namespace == "" {
		options.Namespace = "default"
	}
	if options.Streams == nil {
		options.Streams = streams.NewLimiter(streams.Limits{})
	}
	s := &site{identity: options.Identity, namespace: options.Namespace, streams: options.Streams, workspace: options.Workspace, gatewayURL: options.GatewayURL, ideas: options.Ideas, logins: options.Logins, retry: retry,
		operatorNamespace: cmp.Or(options.OperatorNamespace, health.DefaultOperatorNamespace), trials: semaphore.NewWeighted(maxTrials)}
	mux := http.NewServeMux()
	options.Identity.Routes(mux)
	mux.Handle("GET /api/whoami", s.signedIn(s.whoami))
	mux.Handle("GET /api/catalog", s.signedIn(s.catalog))
	mux.Handle("GET /api/state", s.signedIn(s.state))
	mux.Handle("GET /api/schedule", s.signedIn(s.schedule))
	mux.Handle("POST /api/namespaces/{namespace}/secrets", s.signedIn(s.createSecret))
	mux.Handle("GET /api/namespaces/{namespace}/events", s.signedIn(s.events))
	mux.Handle("POST /api/namespaces/{namespace}/roles/{name}/prompt", s.signedIn(s.prompt))
	mux.Handle("POST /api/namespaces/{namespace}/roles/{name}/try", s.signedIn(s.try))
	mux.Handle("GET /api/namespaces/{namespace}/roles/{name}/revisions", s.signedIn(s.listRevisions))
	mux.Handle("GET /api/namespaces/{namespace}/roles/{name}/revisions/diff", s.signedIn(s.diffRevisions))
	mux.Handle("POST /api/namespaces/{namespace}/roles/{name}/promote", s.signedIn(s.promote))
	mux.Handle("GET /api/namespaces/{namespace}/comparison", s.signedIn(s.compare))
	mux.Handle("GET /api/namespaces/{namespace}/policies", s.signedIn(s.policies))
	mux.Handle("POST /api/namespaces/{namespace}/policies/{name}/try", s.signedIn(s.tryPolicy))
	mux.Handle("GET /api/stream", s.signedIn(s.stream))
	s.routeLogins(mux)
	s.routeKubernetes(mux)
	mux.HandleFunc("/api/", notFound)
	mux.HandleFunc("/k8s/", notFound)
	mux.Handle("/", newPage())
	return checkOrigin(options.Hosts, mux)
}

// site is the page's API.
type site struct {
	identity  Identity
	namespace string
	streams   *streams.Limiter
	workspace *v1beta1.Workspace
	ideas     []string
	logins    func(context.Context, request.Request) (request.Result, error)

	gatewayURL string
	retry      retryPolicy

	operatorNamespace string
	heartbeat         health.Observer
	states            stateCache
	trials            *semaphore.Weighted
}

// Serve serves the page until ctx ends.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	return listen.Server{Name: "the page", Listener: listener, BehindProxy: true, Handler: handler}.Start(ctx)
}
