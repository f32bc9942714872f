// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/nestor-dev/nestor/internal/streams"
)

// Options say for whom the page is served.
type Options struct {
	// Identity says on whose behalf requests act.
	Identity Identity
	// Namespace is the one that the page shows first. Empty: default.
	Namespace string
	// Hosts are the values of the Host header that are answered. Empty: all of them.
	Hosts []string
	// Streams counts the streams of the page and bounds them. Nil: without bounds.
	Streams *streams.Limiter
}

// New returns the page and its API.
func New(options Options) http.Handler { return newSite(options, defaultPace()) }

func newSite(options Options, pace pace) http.Handler {
	if options.Namespace == "" {
		options.Namespace = "default"
	}
	if options.Streams == nil {
		options.Streams = streams.NewLimiter(streams.Limits{})
	}
	s := &site{identity: options.Identity, namespace: options.Namespace, streams: options.Streams, pace: pace}
	mux := http.NewServeMux()
	options.Identity.Routes(mux)
	mux.Handle("GET /api/whoami", s.signedIn(s.whoami))
	mux.Handle("GET /api/catalog", s.signedIn(s.catalog))
	mux.Handle("GET /api/stream", s.signedIn(s.stream))
	s.routeKubernetes(mux)
	mux.HandleFunc("/api/", notOffered)
	mux.HandleFunc("/k8s/", notOffered)
	mux.Handle("/", newPage())
	return guard(options.Hosts, mux)
}

// site is the page's API.
type site struct {
	identity  Identity
	namespace string
	streams   *streams.Limiter
	pace      pace
}

// Serve serves handler until ctx ends. Streams end with it; other requests get a moment to finish.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(listener) }()
	select {
	case err := <-stopped:
		return fmt.Errorf("serve the page: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		return errors.Join(fmt.Errorf("stop serving the page: %w", err), server.Close())
	}
	return nil
}
