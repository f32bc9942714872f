// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// loopbackServer is one HTTP server on the loopback interface, with a path for each directory. It starts with the first
// one.
type loopbackServer struct {
	mu       sync.Mutex
	server   *http.Server
	address  string
	handlers map[string]http.Handler
}

// add serves a directory and returns its address.
func (f *loopbackServer) add(name string, handler http.Handler) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.server == nil {
		listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not block
		if err != nil {
			return "", fmt.Errorf("find a port for workspaces: %w", err)
		}
		f.server = &http.Server{Handler: f, ReadHeaderTimeout: 10 * time.Second}
		f.address, f.handlers = listener.Addr().String(), map[string]http.Handler{}
		go func(server *http.Server) { _ = server.Serve(listener) }(f.server) // ended by close
	}
	f.handlers[name] = http.StripPrefix("/"+name, handler)
	return "http://" + f.address + "/" + name + "/", nil
}

func (f *loopbackServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	f.mu.Lock()
	handler, ok := f.handlers[name]
	f.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	handler.ServeHTTP(w, r)
}

func (f *loopbackServer) remove(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.handlers, name)
}

func (f *loopbackServer) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.server != nil {
		_ = f.server.Close()
		f.server = nil
	}
}
