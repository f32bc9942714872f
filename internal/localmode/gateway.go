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

// openGateway listens where the gateway of the last start listened, so that the addresses in people's programs stay valid. If that port is
// taken, it uses a free one.
func (l *Local) openGateway(ctx context.Context) error {
	file := filepath.Join(l.Dir, "gateway-address")
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
		return fmt.Errorf("open a port: %w", err)
	}
	l.gateway = listener
	l.onStop(func() error {
		_ = listener.Close() // the gateway has closed it, unless it never started
		return nil
	})
	if err := os.WriteFile(file, []byte(listener.Addr().String()+"\n"), 0o600); err != nil {
		return fmt.Errorf("write the address: %w", err)
	}
	return nil
}

// GatewayURL returns the address of the gateway.
func (l *Local) GatewayURL() string { return "http://" + l.gateway.Addr().String() }
