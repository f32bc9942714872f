// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"

	"github.com/go-logr/logr"

	"github.com/nestor-dev/nestor/internal/history/live"
)

const (
	// agentPath is the path of an agent's stream, before its UID.
	agentPath = "/v1/agents/"
	// maxConcurrentStreams is the number of streams of a connection; a client waits before it opens more.
	maxConcurrentStreams = 10_000
)

// newServer returns the server for other replicas, which ends its streams when ctx ends.
func (r *Relay) newServer(ctx context.Context) *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+agentPath+"{uid}", r.serveAgent)
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	heartbeat := r.options.Heartbeat
	return &http.Server{
		Handler: mux, Protocols: protocols, TLSConfig: r.options.Identity.serverConfig(r.options.Replicas),
		ReadHeaderTimeout: heartbeat, MaxHeaderBytes: 8 << 10, // the timeout applies to the handshake, too
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxConcurrentStreams, SendPingTimeout: heartbeat, PingTimeout: heartbeat, WriteByteTimeout: 2 * heartbeat,
		},
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    slog.NewLogLogger(logr.ToSlogHandler(r.options.Log), slog.LevelDebug),
	}
}

// serveAgent streams the updates of an agent that this process runs, as JSON. The first one is what there is at the start, perhaps nothing.
func (r *Relay) serveAgent(w http.ResponseWriter, request *http.Request) {
	changed := r.options.Replicas.Changed()
	from := peer(request.TLS)
	if !isMember(r.options.Replicas, from) { // it was one when it connected
		http.Error(w, errNotAReplica.Error(), http.StatusForbidden)
		return
	}
	release, err := r.options.Streams.Open(from)
	if err != nil {
		http.Error(w, err.Error(), http.StatusTooManyRequests)
		return
	}
	defer release()
	reader := r.options.Local.Follow(request.PathValue("uid"))
	defer reader.Close()
	w.Header().Set("Content-Type", "application/x-ndjson")
	send := sender(w)
	for err := send(reader.Read()); err == nil; {
		select {
		case <-reader.Updates():
			err = send(reader.Read())
		case <-changed:
			changed = r.options.Replicas.Changed()
			if !isMember(r.options.Replicas, from) {
				return
			}
		case <-request.Context().Done():
			return
		}
	}
}

// sender returns a function that sends updates at once.
func sender(w http.ResponseWriter) func(live.Update) error {
	out, control := json.NewEncoder(w), http.NewResponseController(w)
	return func(update live.Update) error {
		if err := out.Encode(update); err != nil {
			return err
		}
		return control.Flush()
	}
}
