// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

func TestTransportDoesNotConnectToLoopback(t *testing.T) {
	served := newServer(t)
	_, port, _ := net.SplitHostPort(served.Listener.Addr().String())
	for _, host := range []string{"127.0.0.1", "localhost", "LOCALHOST.", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]", "x.localhost"} {
		err := get(New(Options{}), "http://"+host+":"+port)
		if !errors.As(err, new(*NotAllowedError)) {
			t.Errorf("%s: %v, want a refusal", host, err)
		}
	}
	if served.hits.Load() > 0 {
		t.Error("the server was reached")
	}
	if err := get(New(Options{AllowLoopback: true}), served.URL); err != nil || served.hits.Load() != 1 {
		t.Errorf("where it is allowed: %v", err)
	}
}

// TestResolvedAddressIsChecked: a name that resolves to an allowed address first and to another one later is
// checked for each connection.
func TestResolvedAddressIsChecked(t *testing.T) {
	served := newServer(t)
	_, port, _ := net.SplitHostPort(served.Listener.Addr().String())
	for _, address := range [][4]byte{{127, 0, 0, 1}, {169, 254, 169, 254}} {
		err := get(New(Options{resolver: resolver(t, address)}), "http://tools.example.com:"+port)
		if !errors.As(err, new(*NotAllowedError)) {
			t.Errorf("%v: %v, want a refusal", address, err)
		}
	}
	if err := get(New(Options{resolver: resolver(t, [4]byte{127, 0, 0, 1}), AllowLoopback: true}), "http://tools.example.com:"+port); err != nil {
		t.Errorf("control: %v", err)
	}
}

func TestProxyKeepsAddressCheck(t *testing.T) {
	proxy := newServer(t)
	address, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport := New(Options{proxy: http.ProxyURL(address)})
	if err := get(transport, "http://models.example.com/v1"); err != nil || proxy.hits.Load() != 1 {
		t.Fatalf("through the proxy: %v", err)
	}
	for _, host := range []string{"169.254.169.254", "127.0.0.1", "localhost", "[::1]"} {
		if err := get(transport, "http://"+host+"/"); !errors.As(err, new(*NotAllowedError)) {
			t.Errorf("%s: %v, want a refusal", host, err)
		}
	}
	if proxy.hits.Load() != 1 {
		t.Error("the proxy was asked for a forbidden address")
	}
}

func TestHeadersAreBounded(t *testing.T) {
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 100 {
			w.Header().Add("X-Long", strings.Repeat("a", 1024))
		}
	}))
	defer served.Close()
	if err := get(New(Options{AllowLoopback: true}), served.URL); err == nil {
		t.Error("100 KiB of headers were read")
	}
}

type server struct {
	*httptest.Server
	hits atomic.Int32
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { s.hits.Add(1) }))
	t.Cleanup(s.Close)
	return s
}

func get(transport *http.Transport, address string) error {
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Get(address)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

func resolver(t *testing.T, address [4]byte) *net.Resolver {
	t.Helper()
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go answer(theirs, address)
		return packets{ours}, nil
	}}
}

// packets makes a pipe look like UDP, where a message is one packet.
type packets struct{ net.Conn }

func (packets) ReadFrom([]byte) (int, net.Addr, error) { return 0, nil, errors.ErrUnsupported }
func (packets) WriteTo([]byte, net.Addr) (int, error)  { return 0, errors.ErrUnsupported }

func answer(c net.Conn, address [4]byte) {
	defer func() { _ = c.Close() }() // a pipe
	query := make([]byte, 1500)
	for {
		n, err := c.Read(query)
		if err != nil {
			return
		}
		// The header has 12 bytes; the question is a name terminated by zero, its type and its class.
		end := 12 + bytes.IndexByte(query[12:n], 0) + 5
		isA := binary.BigEndian.Uint16(query[end-4:]) == 1
		reply := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, query[12:end]...)
		if isA {
			reply[7] = 1
			reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
			reply = append(reply, address[:]...)
		}
		if _, err := c.Write(reply); err != nil {
			return
		}
	}
}
