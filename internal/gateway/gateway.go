// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
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
	Doors   []Door
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

// Handler serves a request of a caller. The door writes the error that it returns, so there must be none once the
// response has begun.
type Handler func(w http.ResponseWriter, r *http.Request, caller *run.Caller) error

func New(options Options) http.Handler {
	if options.Streams == nil {
		options.Streams = streams.NewLimiter(streams.Limits{})
	}
	if options.OnRequest == nil {
		options.OnRequest = func(string, int, time.Duration) {}
	}
	routes := http.NewServeMux()
	names := make([]string, len(options.Doors))
	for i, door := range options.Doors {
		door.Routes(&Mux{routes: routes, door: door, options: options})
		names[i] = door.Name()
	}
	routes.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		WriteJSON(w, http.StatusOK, map[string]any{"gateway": "nestor", "doors": names})
	})
	routes.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		WriteJSON(w, http.StatusNotFound, map[string]string{"error": "nothing is served at " + r.URL.Path + ": see docs/concepts/gateway.md"})
	})
	return protect(routes)
}
