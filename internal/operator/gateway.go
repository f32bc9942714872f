// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"

	"github.com/nestor-dev/nestor/internal/gateway"
	"github.com/nestor-dev/nestor/internal/gateway/a2a"
	"github.com/nestor-dev/nestor/internal/gateway/agui"
	"github.com/nestor-dev/nestor/internal/gateway/hooks"
	"github.com/nestor-dev/nestor/internal/gateway/mcp"
	"github.com/nestor-dev/nestor/internal/gateway/openai"
	"github.com/nestor-dev/nestor/internal/gateway/run"
	"github.com/nestor-dev/nestor/internal/metrics"
	"github.com/nestor-dev/nestor/internal/push"
	"github.com/nestor-dev/nestor/internal/streams"
	"github.com/nestor-dev/nestor/internal/webhook"
)

// Gateway configures the gateway, which serves runs over other protocols.
type Gateway struct {
	// Address is the address to listen on; empty and "0" turn it off.
	Address string
	// Listener is used instead of Address, if it is not nil.
	Listener net.Listener
	// CertFile and KeyFile are its certificate. If empty, the operator's own certificate is used, which is also valid for Service.
	CertFile, KeyFile string
	// Service is the name of the gateway's Service.
	Service string
	// Insecure serves without TLS, on a loopback address only.
	Insecure bool
	// Streams limits the requests in flight.
	Streams streams.Limits
	// PushNetworks are the networks beside the internet where receivers of push notifications may be.
	PushNetworks []netip.Prefix
}

// serveGateway adds the gateway, which does not wait for leadership. It acts only with the permissions of its callers, except for webhooks, whose
// senders have none.
func (o *Operator) serveGateway(limiter *streams.Limiter) error {
	configured := o.options.Gateway
	if configured.Listener == nil && off(configured.Address) {
		return nil
	}
	requests := metrics.NewGateway()
	if err := o.register(requests); err != nil {
		return err
	}
	handler := gateway.New(gateway.Options{
		Callers: run.NewConnector(o.manager.GetConfig(), o.options.Controllers.OperatorNamespace), Streams: limiter, OnRequest: requests.Observe,
		Doors: []gateway.Door{
			openai.New(), mcp.New(slog.New(logr.ToSlogHandler(o.manager.GetLogger().WithName("mcp"))), o.options.Page.URL), agui.New(),
			a2a.New(push.Registrar{Keyring: o.pushKeys, Reach: o.pushReach()}),
			hooks.New(webhook.New(o.triggers())),
		},
	})
	served := gateway.Server{Address: configured.Address, Listener: configured.Listener, Handler: handler}
	if !configured.Insecure {
		certificate, err := o.gatewayCertificate()
		if err != nil {
			return err
		}
		served.TLS = &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: certificate.get}
	}
	if err := o.manager.Add(served); err != nil {
		return fmt.Errorf("add the gateway: %w", err)
	}
	return nil
}

// gatewayCertificate returns the source of the gateway's certificate.
func (o *Operator) gatewayCertificate() (*parsedCertificate, error) {
	configured := o.options.Gateway
	if configured.CertFile != "" {
		files, err := dynamiccertificates.NewDynamicServingContentFromFiles("gateway", configured.CertFile, configured.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("read the certificate of the gateway: %w", err)
		}
		if err := o.manager.Add(certificateFiles{files}); err != nil {
			return nil, fmt.Errorf("add the certificate of the gateway: %w", err)
		}
		return &parsedCertificate{source: files.CurrentCertKeyContent}, nil
	}
	if o.options.History.Certificate.Secret == "" {
		return nil, errors.New("the gateway needs a certificate: files, or the Secret of the history API's certificate")
	}
	keeper, err := o.certificateKeeper()
	if err != nil {
		return nil, err
	}
	return &parsedCertificate{source: keeper.CurrentCertKeyContent}, nil
}

// gatewayHost returns the host name of the gateway in the cluster.
func (o *Operator) gatewayHost() string {
	return cmp.Or(o.options.Gateway.Service, defaultGateway) + "." + o.options.Controllers.OperatorNamespace + ".svc"
}

// parsedCertificate parses a certificate again when it has changed.
type parsedCertificate struct {
	source func() (certificate, key []byte)

	mu      sync.Mutex
	pem     []byte
	current *tls.Certificate
}

func (p *parsedCertificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	certificate, key := p.source()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != nil && bytes.Equal(certificate, p.pem) {
		return p.current, nil
	}
	if len(certificate) == 0 {
		return nil, errors.New("the gateway has no certificate yet")
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("read the certificate of the gateway: %w", err)
	}
	p.pem, p.current = certificate, &pair
	return p.current, nil
}
