// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package ports finds free ports for programs under test.
package ports

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
)

// The system does not give these ports to outgoing connections, one of which could take the port before the program that gets the address
// listens on it. Each process begins at another one.
const lowest, count = 20_000, 12_000

var (
	first = rand.Int64N(count)
	tried atomic.Int64
)

// Free returns an address of this machine with a free port, and none twice: the program that gets the first may not listen yet.
func Free(ctx context.Context) (string, error) {
	const attempts = 50
	for range attempts {
		address := fmt.Sprintf("127.0.0.1:%d", lowest+(first+tried.Add(1))%count)
		if listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address); err == nil {
			return address, listener.Close()
		}
	}
	return "", fmt.Errorf("none of %d ports is free", attempts)
}
