// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/nestor-dev/nestor/internal/gateway/run"
	"github.com/nestor-dev/nestor/internal/streams"
)

// Options configure a gateway.
type Options struct {
	// Callers connects callers to the API server.
	Callers *run.Connector
	// Streams limits the requests in flight, in total and for each caller.
	Streams *streams.Limiter
	// Doors are the protocols.
	Doors []Door
	// OnRequest is called after each request, for metrics; it may be nil.
	OnRequest func(door string, code int, took time.Duration)
}

// Door serves runs over one protocol.
type Door interface {
	// Name is the name of the protocol, in labels and metrics.
	Name() string
	// Routes adds the paths of the door.
	Routes(mux *Mux)
	// WriteError writes an error in the form of the protocol.
	WriteError(w http.ResponseWriter, err error)
}

// Handler handles a request of a caller.
type Handler func(w http.ResponseWriter, r *http.Request, caller *run.Caller)

// New returns the handler of all doors.
func New(options Options) http.Handler {
	if options.Streams == nil {
		options.Streams = streams.NewLimiter(streams.Limits{})
	}
	if options.OnRequest == nil {
		options.OnRequest = func(string, int, time.Duration) {}
	}
	routes := http.NewServeMux()
	for _, door := range options.Doors {
		door.Routes(&Mux{routes: routes, door: door, options: options})
	}
	routes.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		WriteJSON(w, http.StatusOK, map[string]any{"gateway": "nestor", "doors": names(options.Doors)})
	})
	routes.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		WriteJSON(w, http.StatusNotFound, map[string]string{"error": "nothing is served at " + r.URL.Path + ": see docs/concepts/gateway.md"})
	})
	return withDeadlines(protect(routes))
}

func names(doors []Door) []string {
	list := make([]string, len(doors))
	for i, door := range doors {
		list[i] = door.Name()
	}
	return list
}

// Server serves a gateway until it is stopped. It is a manager.Runnable that runs in every replica.
type Server struct {
	// Address is the address to listen on, unless there is a Listener.
	Address  string
	Listener net.Listener
	// TLS is the certificate; nil serves without TLS, which is for loopback addresses only.
	TLS     *tls.Config
	Handler http.Handler
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (Server) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (s Server) Start(ctx context.Context) error {
	listener := s.Listener
	if listener == nil {
		var err error
		if listener, err = new(net.ListenConfig).Listen(ctx, "tcp", s.Address); err != nil {
			return fmt.Errorf("serve the gateway: %w", err)
		}
	}
	if address, ok := listener.Addr().(*net.TCPAddr); s.TLS == nil && (!ok || !address.IP.IsLoopback()) {
		_ = listener.Close()
		return fmt.Errorf("serve the gateway: %s is not a loopback address, and callers send their tokens: give it a certificate", listener.Addr())
	}
	if s.TLS != nil {
		listener = tls.NewListener(listener, s.TLS)
	}
	server := &http.Server{
		Handler: s.Handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx }, // streams end at once
	}
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(listener) }()
	select {
	case err := <-stopped:
		return fmt.Errorf("serve the gateway: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		return errors.Join(fmt.Errorf("stop serving the gateway: %w", err), server.Close())
	}
	return nil
}
