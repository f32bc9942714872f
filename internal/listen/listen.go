// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package listen serves HTTP until it is stopped.
package listen

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Server serves a handler until it is stopped. It is a manager.Runnable that runs in every replica.
type Server struct {
	// Name names the service in errors.
	Name string
	// Address is the address to listen on, unless there is a Listener.
	Address  string
	Listener net.Listener
	// TLS is the certificate; nil serves without TLS, on loopback addresses only.
	TLS *tls.Config
	// BehindProxy permits other addresses without TLS: a proxy terminates it.
	BehindProxy bool
	Handler     http.Handler
}

func (Server) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable. When ctx ends, streams end at once; other requests get a grace period.
func (s Server) Start(ctx context.Context) error {
	listener := s.Listener
	if listener == nil {
		var err error
		if listener, err = new(net.ListenConfig).Listen(ctx, "tcp", s.Address); err != nil {
			return fmt.Errorf("serve %s: %w", s.Name, err)
		}
	}
	if address, ok := listener.Addr().(*net.TCPAddr); s.TLS == nil && !s.BehindProxy && (!ok || !address.IP.IsLoopback()) {
		_ = listener.Close()
		return fmt.Errorf("serve %s: %s is not a loopback address, and clients send their tokens: give it a certificate", s.Name, listener.Addr())
	}
	if s.TLS != nil {
		listener = tls.NewListener(listener, s.TLS)
	}
	server := &http.Server{
		Handler: WithDeadlines(s.Handler), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(listener) }()
	select {
	case err := <-stopped:
		return fmt.Errorf("serve %s: %w", s.Name, err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		return errors.Join(fmt.Errorf("stop serving %s: %w", s.Name, err), server.Close())
	}
	return nil
}
