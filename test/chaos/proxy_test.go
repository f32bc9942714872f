// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/test/patience"
)

// The ways in which a network is cut.
const (
	cutRefuse = "refuse" // connections are lost, and new ones are refused
	cutHang   = "hang"   // nothing arrives; what was sent arrives when the cut ends
	cutReset  = "reset"  // connections are lost, and new ones work
)

var cutKinds = []string{cutRefuse, cutHang, cutReset}

// proxy is the network between one replica and a server.
type proxy struct {
	listener net.Listener
	target   string

	mu          sync.Mutex
	refusing    bool
	hanging     chan struct{} // is closed when the hang ends; nil without one
	connections map[net.Conn]bool
}

func startProxy(ctx context.Context, target string) (*proxy, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: listener, target: target, connections: map[net.Conn]bool{}}
	go p.accept(context.WithoutCancel(ctx))
	return p, nil
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) close() {
	_ = p.listener.Close()
	p.cut(cutRefuse)
}

func (p *proxy) accept(ctx context.Context) {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.serve(ctx, client)
	}
}

// serve forwards a connection in both directions until one of them ends.
func (p *proxy) serve(ctx context.Context, client net.Conn) {
	if !p.add(client) {
		return
	}
	defer p.drop(client)
	p.waitForHang()
	server, err := new(net.Dialer).DialContext(ctx, "tcp", p.target)
	if err != nil || !p.add(server) {
		return
	}
	defer p.drop(server)
	done := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		go func() {
			_, _ = io.Copy(hangingWriter{p, way[1]}, way[0])
			done <- struct{}{}
		}()
	}
	<-done
}

// hangingWriter writes to a connection when the network does not hang.
type hangingWriter struct {
	proxy *proxy
	net.Conn
}

func (w hangingWriter) Write(data []byte) (int, error) {
	w.proxy.waitForHang()
	return w.Conn.Write(data)
}

func (p *proxy) waitForHang() {
	p.mu.Lock()
	hanging := p.hanging
	p.mu.Unlock()
	if hanging != nil {
		<-hanging
	}
}

// add registers a connection, and reports false if the network refuses it.
func (p *proxy) add(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refusing {
		reset(c)
		return false
	}
	p.connections[c] = true
	return true
}

func (p *proxy) drop(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.connections, c)
	_ = c.Close()
}

// reset ends a connection so that the other side gets an error.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

func (p *proxy) cut(kind string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if kind == cutHang {
		if p.hanging == nil {
			p.hanging = make(chan struct{})
		}
		return
	}
	p.refusing = p.refusing || kind == cutRefuse
	for c := range p.connections {
		reset(c)
	}
	p.endHang() // the connections that hang have ended
}

func (p *proxy) heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refusing = false
	p.endHang()
}

// endHang lets data pass again. mu is locked.
func (p *proxy) endHang() {
	if p.hanging != nil {
		close(p.hanging)
		p.hanging = nil
	}
}

func TestTheProxyCutsConnections(t *testing.T) {
	echo, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = echo.Close() }()
	go func() {
		for {
			c, err := echo.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c) }()
		}
	}()
	p, err := startProxy(t.Context(), echo.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	dial := func() net.Conn {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", p.address())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	ping := func(c net.Conn, patience time.Duration) error {
		if _, err := c.Write([]byte("x")); err != nil {
			return err
		}
		_ = c.SetReadDeadline(time.Now().Add(patience))
		_, err := io.ReadFull(c, make([]byte, 1))
		return err
	}
	c := dial()
	if err := ping(c, patience.Limit()); err != nil {
		t.Fatal(err)
	}
	p.cut(cutHang)
	if err := ping(c, 50*time.Millisecond); !isTimeout(err) {
		t.Errorf("a byte passed a network that hangs: %v", err)
	}
	p.heal()
	_ = c.SetReadDeadline(time.Now().Add(patience.Limit()))
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Errorf("what was sent during a hang is lost: %v", err)
	}
	p.cut(cutReset)
	if err := ping(c, patience.Limit()); err == nil || isTimeout(err) {
		t.Errorf("a connection was not reset: %v", err)
	}
	c = dial()
	if err := ping(c, patience.Limit()); err != nil {
		t.Errorf("a new connection after a reset: %v", err)
	}
	p.cut(cutRefuse)
	if err := ping(c, patience.Limit()); err == nil || isTimeout(err) {
		t.Errorf("a connection was not refused: %v", err)
	}
	// A new connection is reset while it is made, or after that.
	c, err = new(net.Dialer).DialContext(t.Context(), "tcp", p.address())
	if err == nil {
		err = ping(c, patience.Limit())
	}
	if err == nil || isTimeout(err) {
		t.Errorf("a new connection was not refused: %v", err)
	}
	p.heal()
	if err := ping(dial(), patience.Limit()); err != nil {
		t.Errorf("a new connection after a cut: %v", err)
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
