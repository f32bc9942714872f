// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package outbound

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Options configure which endpoints may be reached.
type Options struct {
	// AllowLoopback allows endpoints on this machine, for local mode and tests.
	AllowLoopback bool
	// PublicOnly allows only addresses of the internet and those in Private, which CheckAddress must allow too.
	PublicOnly bool
	Private    []netip.Prefix

	resolver *net.Resolver
	proxy    func(*http.Request) (*url.URL, error)
}

// Check returns a *NotAllowedError for an address that must not be reached.
func (o Options) Check(address netip.Addr) error {
	plain := address.Unmap().WithZone("")
	listed := slices.ContainsFunc(o.Private, func(network netip.Prefix) bool { return network.Contains(plain) })
	if !o.PublicOnly || listed || o.AllowLoopback && plain.IsLoopback() {
		return CheckAddress(address, o.AllowLoopback)
	}
	return CheckPublic(address)
}

// maxHeaderBytes bounds the headers of a response.
const maxHeaderBytes = 64 << 10

// New returns a transport that connects only to allowed addresses. The client must reject redirects.
//
// A proxy from the environment connects instead of the operator, so its own address is not checked, and the
// endpoint's only as given in the URL: rejecting what the name resolves to is up to the proxy.
func New(options Options) *http.Transport {
	g := &guard{options: options}
	if g.options.proxy == nil {
		g.options.proxy = http.ProxyFromEnvironment
	}
	g.checked = net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second, Resolver: options.resolver, Control: g.control}
	g.unchecked = net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second, Resolver: options.resolver}
	return &http.Transport{
		Proxy:                  g.findProxy,
		DialContext:            g.dial,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           512,
		MaxIdleConnsPerHost:    256,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
}

// guard checks where a transport connects to.
type guard struct {
	options            Options
	checked, unchecked net.Dialer

	mu      sync.Mutex
	proxies map[string]bool // host:port of the proxies that were used
}

// control checks the resolved address before the connection is made.
func (g *guard) control(_, address string, _ syscall.RawConn) error {
	resolved, err := netip.ParseAddrPort(address)
	if err != nil {
		return &NotAllowedError{Address: address, Reason: "no IP address"}
	}
	return g.options.Check(resolved.Addr())
}

// findProxy checks the host in the URL of a request and returns the proxy to use, if any.
func (g *guard) findProxy(request *http.Request) (*url.URL, error) {
	host := request.URL.Hostname()
	if address, err := netip.ParseAddr(host); err == nil {
		if err := g.options.Check(address); err != nil {
			return nil, err
		}
	}
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	if !g.options.AllowLoopback && (name == "localhost" || strings.HasSuffix(name, ".localhost")) {
		return nil, &NotAllowedError{Address: host, Reason: "a loopback address"}
	}
	proxy, err := g.options.proxy(request)
	if err != nil {
		return nil, fmt.Errorf("find the proxy: %w", err)
	}
	if proxy != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.proxies == nil {
			g.proxies = map[string]bool{}
		}
		g.proxies[hostPort(proxy)] = true
	}
	return proxy, nil
}

func (g *guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	g.mu.Lock()
	toProxy := g.proxies[address]
	g.mu.Unlock()
	if toProxy {
		return g.unchecked.DialContext(ctx, network, address)
	}
	return g.checked.DialContext(ctx, network, address)
}

// hostPort returns the address that a transport dials for a URL.
func hostPort(u *url.URL) string {
	if u.Port() != "" {
		return net.JoinHostPort(u.Hostname(), u.Port())
	}
	ports := map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}
	return net.JoinHostPort(u.Hostname(), ports[u.Scheme])
}
