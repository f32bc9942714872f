// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"

	"github.com/nestor-dev/nestor/test/forward"
)

// The delays of watch events: one of a hundred is long, and the others are short. Most of both are far below their limit:
// a watch keeps its order, so a long delay also delays the events after it.
const (
	shortDelay = 200 * time.Millisecond
	longDelay  = 2 * time.Second
	longOneIn  = 100
	shortSkew  = 8 // half of the short delays are below 1 ms, and one in twelve is above 100 ms
	longSkew   = 4 // half of the long delays are below 320 ms, and one in seven is above 1.2 s
)

// delays is a proxy of the API server that delays the events of watches at random, each watch on its own. The operator
// then reads older versions of some kinds than of others, as it does on a busy machine.
type delays struct {
	seed     uint64
	listener net.Listener
	server   *http.Server
	// certificate is that of the proxy. Clients send no token without TLS.
	certificate []byte
}

// WatchSeedVariable is the environment variable with the seed of the delays.
const WatchSeedVariable = "WATCH_SEED"

func (s *Stack) startDelays() error {
	s.WatchSeed = cmp.Or(s.options.WatchSeed, rand.Uint64()) //nolint:gosec // not for secrets
	if text := os.Getenv(WatchSeedVariable); text != "" && s.options.WatchSeed == 0 {
		var err error
		if s.WatchSeed, err = strconv.ParseUint(text, 10, 64); err != nil {
			return fmt.Errorf("%s: %w", WatchSeedVariable, err)
		}
	}
	target, err := url.Parse(s.Cluster.Config.Host)
	if err != nil {
		return fmt.Errorf("read the address of the API server: %w", err)
	}
	// With HTTP/2 all requests would share one connection, which the API server ends after a forged token.
	config := rest.AnonymousClientConfig(s.Cluster.Config)
	config.NextProtos = []string{"http/1.1"}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	d := &delays{seed: s.WatchSeed}
	if d.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil { //nolint:noctx // it returns at once
		return fmt.Errorf("listen as the API server: %w", err)
	}
	certificate, key, err := certutil.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		return fmt.Errorf("create a certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return fmt.Errorf("read a certificate: %w", err)
	}
	d.certificate = certificate
	d.server = &http.Server{
		ReadHeaderTimeout: time.Minute,
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13},
		TLSNextProto:      map[string]func(*http.Server, *tls.Conn, http.Handler){}, // no HTTP/2
		Handler: forward.Handler(&httputil.ReverseProxy{
			Transport: transport, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
			ModifyResponse: d.delay,
			// An operator that is killed leaves requests behind.
			ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		}),
	}
	go func() { _ = d.server.ServeTLS(d.listener, "", "") }() // it ends with Close
	s.delays = d
	fmt.Fprintf(s.log, "The events of watches are delayed: %s=%d\n", WatchSeedVariable, s.WatchSeed)
	return nil
}

func (d *delays) address() string { return "https://" + d.listener.Addr().String() }

// Close ends the proxy.
func (d *delays) Close() error {
	if err := d.server.Close(); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("stop the proxy of the API server: %w", err)
	}
	return nil
}

// delay delays the body of a response with the events of a watch.
func (d *delays) delay(response *http.Response) error {
	watches, _ := strconv.ParseBool(response.Request.URL.Query().Get("watch"))
	if !watches || response.StatusCode != http.StatusOK {
		return nil
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(response.Request.URL.Path)) // it does not fail
	body := &delayedBody{upstream: response.Body, parts: make(chan part, 1024), done: make(chan struct{})}
	go body.read(rand.New(rand.NewPCG(d.seed, sum.Sum64()))) //nolint:gosec // not for secrets
	response.Body = body
	return nil
}

// delayedBody is the body of a response whose parts are returned some time after they arrive, in order.
type delayedBody struct {
	upstream io.ReadCloser
	parts    chan part
	rest     part
	done     chan struct{}
	once     sync.Once
}

// part is what one read of the upstream body returned, and when it may be returned.
type part struct {
	bytes []byte
	err   error
	due   time.Time
}

func (b *delayedBody) read(random *rand.Rand) {
	var due time.Time
	for {
		buffer := make([]byte, 64<<10)
		n, err := b.upstream.Read(buffer)
		if next := time.Now().Add(drawDelay(random)); next.After(due) {
			due = next
		}
		select {
		case b.parts <- part{bytes: buffer[:n], err: err, due: due}:
		case <-b.done:
			return
		}
		if err != nil {
			return
		}
	}
}

func drawDelay(random *rand.Rand) time.Duration {
	if random.IntN(longOneIn) == 0 {
		return shortDelay + time.Duration(math.Pow(random.Float64(), longSkew)*float64(longDelay-shortDelay))
	}
	return time.Duration(math.Pow(random.Float64(), shortSkew) * float64(shortDelay))
}

// Read implements io.Reader.
func (b *delayedBody) Read(p []byte) (int, error) {
	for len(b.rest.bytes) == 0 {
		if b.rest.err != nil {
			return 0, b.rest.err
		}
		select {
		case b.rest = <-b.parts:
		case <-b.done:
			return 0, http.ErrBodyReadAfterClose
		}
		wait := time.NewTimer(time.Until(b.rest.due))
		select {
		case <-wait.C:
		case <-b.done:
			wait.Stop()
			return 0, http.ErrBodyReadAfterClose
		}
	}
	n := copy(p, b.rest.bytes)
	b.rest.bytes = b.rest.bytes[n:]
	return n, nil
}

// Close implements io.Closer.
func (b *delayedBody) Close() error {
	b.once.Do(func() { close(b.done) })
	return b.upstream.Close()
}
