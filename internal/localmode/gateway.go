// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package localmode

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// listenAgain listens where it listened at the last start, so that the addresses in people's programs and browsers stay valid; file keeps the
// address. If that port is taken, it uses a free one.
func (l *Local) listenAgain(ctx context.Context, file string) (net.Listener, error) {
	file = filepath.Join(l.Dir, file)
	kept, _ := os.ReadFile(file) // missing at the first start
	address := strings.TrimSpace(string(kept))
	if host, _, err := net.SplitHostPort(address); err != nil || host != "127.0.0.1" {
		address = "127.0.0.1:0"
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		listener, err = new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, fmt.Errorf("open a port: %w", err)
	}
	l.onStop(func() error {
		_ = listener.Close() // its server has closed it, unless it never started
		return nil
	})
	if err := os.WriteFile(file, []byte(listener.Addr().String()+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("write the address: %w", err)
	}
	return listener, nil
}

func (l *Local) openGateway(ctx context.Context) (err error) {
	l.gateway, err = l.listenAgain(ctx, "gateway-address")
	return err
}

// GatewayURL returns the address of the gateway.
func (l *Local) GatewayURL() string { return "http://" + l.gateway.Addr().String() }
