// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package public

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/nestor-dev/nestor/internal/intake"
	"github.com/nestor-dev/nestor/internal/listen"
	"github.com/nestor-dev/nestor/internal/metrics/serving"
	"github.com/nestor-dev/nestor/internal/server"
	"github.com/nestor-dev/nestor/internal/servingcert"
	"github.com/nestor-dev/nestor/internal/streams"
)

// Options configure the process.
type Options struct {
	// Config is the configuration of the API server's client.
	Config            *rest.Config
	OperatorNamespace string
	Gateway           Gateway
	Page              Page
	// Metrics serves the metrics; the zero value does not.
	Metrics metricsserver.Options
	// ProbeAddress serves the health probes; "0" turns them off.
	ProbeAddress string
}

// Gateway configures the doors.
type Gateway struct {
	// Address is the address to listen on; "0" turns them off.
	Address string
	// URL is where programs reach them; empty if that is not known.
	URL string
	// CertFile and KeyFile are the certificate; without them there is no TLS, on a loopback address only.
	CertFile, KeyFile string
	// Streams limits the requests in flight.
	Streams streams.Limits
	// Operator is the receiver of webhooks and registrations.
	Operator intake.Operator
}

// Page configures the web page to which people sign in with their own tokens.
type Page struct {
	// Address is the address to listen on; "0" turns it off.
	Address string
	// URL is where people reach the page, or empty if that is not known.
	URL string
	// OIDC is where people sign in, if it has an issuer; tokens are accepted in any case.
	OIDC server.OIDC
	// Streams limits the pages that are open at the same time.
	Streams streams.Limits
}

// Run serves the doors and the page until ctx ends.
func Run(ctx context.Context, options Options) error {
	mgr, err := ctrl.NewManager(options.Config, ctrl.Options{Metrics: options.Metrics, HealthProbeBindAddress: options.ProbeAddress})
	if err != nil {
		return fmt.Errorf("connect to the cluster: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("add the health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("add the readiness check: %w", err)
	}
	requests, pages := streams.NewLimiter(options.Gateway.Streams), streams.NewLimiter(options.Page.Streams)
	stats := map[string]func() streams.Stats{"gateway": requests.Stats, "web": pages.Stats}
	if err := ctrlmetrics.Registry.Register(serving.Streams{Stats: stats}); err != nil {
		return fmt.Errorf("register the metrics of streams: %w", err)
	}
	if err := addDoors(mgr, options, requests); err != nil {
		return err
	}
	if err := addPage(mgr, options, pages); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func addDoors(mgr ctrl.Manager, options Options, requests *streams.Limiter) error {
	configured := options.Gateway
	if configured.Address == "0" {
		return nil
	}
	operator, err := intake.NewClient(configured.Operator)
	if err != nil {
		return err
	}
	counted := serving.NewGateway()
	if err := ctrlmetrics.Registry.Register(counted); err != nil {
		return fmt.Errorf("register the metrics of requests: %w", err)
	}
	doors := Doors{
		Cluster: options.Config, OperatorNamespace: options.OperatorNamespace, Operator: operator, PageURL: options.Page.URL,
		Requests: requests, OnRequest: counted.Observe, Log: mgr.GetLogger(),
	}
	served := listen.Server{Name: "the gateway", Address: configured.Address, Handler: doors.Handler()}
	if configured.CertFile != "" {
		certificate, err := servingcert.NewFiles(configured.CertFile, configured.KeyFile)
		if err != nil {
			return err
		}
		if err := mgr.Add(certificate); err != nil {
			return fmt.Errorf("add the gateway's certificate: %w", err)
		}
		served.TLS = servingcert.TLS(certificate)
	}
	if err := mgr.Add(served); err != nil {
		return fmt.Errorf("add the gateway: %w", err)
	}
	return nil
}

func addPage(mgr ctrl.Manager, options Options, pages *streams.Limiter) error {
	if options.Page.Address == "0" {
		return nil
	}
	operator, err := intake.NewClient(options.Gateway.Operator)
	if err != nil {
		return err
	}
	identity := server.Tokens(options.Config, true)
	if oidc := options.Page.OIDC; oidc.Issuer != "" {
		var err error
		if identity, err = server.SignInWithOIDC(options.Config, true, oidc); err != nil {
			return err
		}
	}
	handler := server.New(server.Options{Identity: identity, Streams: pages, OperatorNamespace: options.OperatorNamespace, GatewayURL: options.Gateway.URL, Logins: operator.Login})
	if err := mgr.Add(listen.Server{Name: "the web page", Address: options.Page.Address, BehindProxy: true, Handler: handler}); err != nil {
		return fmt.Errorf("add the web page: %w", err)
	}
	return nil
}
