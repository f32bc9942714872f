// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"cmp"
	"fmt"
	"net/netip"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/kubernetes"

	"github.com/nestor-dev/nestor/internal/intake/endpoint"
	"github.com/nestor-dev/nestor/internal/listen"
	"github.com/nestor-dev/nestor/internal/push"
	"github.com/nestor-dev/nestor/internal/servingcert"
	"github.com/nestor-dev/nestor/internal/webhook"
)

// Gateway configures what the operator does for the gateway, which is a program of its own.
type Gateway struct {
	// Address is the address of the endpoint to which the gateway sends webhooks and registrations; empty and "0" turn it off.
	Address string
	// Insecure serves the endpoint without TLS, on a loopback address only.
	Insecure bool
	// Endpoint is the name of the endpoint's Service, for which its certificate is also valid.
	Endpoint string
	// InProcess means that the gateway runs in this process and uses [Operator.Intake].
	InProcess bool
	// Service is the name of the gateway's Service.
	Service string
	// ServiceAccount is the name of the gateway's service account in the operator's namespace, which alone may use the endpoint.
	ServiceAccount string
	// CertSecret is the name of the Secret for the gateway's certificate, which the operator creates and renews; empty means none.
	CertSecret string
	// PushNetworks are the networks beside the internet where receivers of notifications may be.
	PushNetworks []netip.Prefix
	// PageURL is where people reach the web page, to which notifications link; empty if there is none.
	PageURL string
}

// Intake takes what the gateway cannot do with the token of a caller.
type Intake struct {
	*webhook.Receiver
	push.Registrar
	Logins
}

// Intake returns the intake, for a gateway in the same process.
func (o *Operator) Intake() Intake {
	return Intake{webhook.New(o.triggers()), push.Registrar{Keyring: o.pushKeys, Reach: o.pushReach()}, Logins{o.controllers.Logins, o.controllers.Finder}}
}

// serveIntake adds the endpoint for the gateway, which does not wait for leadership, and the keeper of the gateway's certificate.
func (o *Operator) serveIntake() error {
	configured := o.options.Gateway
	if off(configured.Address) {
		return nil
	}
	intake := o.Intake()
	handler, err := endpoint.New(endpoint.Options{
		Cluster: o.manager.GetConfig(), Deliver: intake.Deliver, Push: intake.Registrar, Login: intake.Login,
		Gateway: serviceaccount.MakeUsername(o.options.Controllers.OperatorNamespace, configured.ServiceAccount),
	})
	if err != nil {
		return err
	}
	served := listen.Server{Name: "the endpoint for the gateway", Address: configured.Address, Handler: handler}
	if !configured.Insecure {
		certificate, err := o.servingCertificate()
		if err != nil {
			return err
		}
		served.TLS = servingcert.TLS(certificate)
	}
	if err := o.manager.Add(served); err != nil {
		return fmt.Errorf("add the endpoint for the gateway: %w", err)
	}
	return o.keepGatewayCertificate()
}

// keepGatewayCertificate creates and renews the certificate that the gateway's pods mount. It has an authority of its own: the gateway is public
// and must not have a key of the operator.
func (o *Operator) keepGatewayCertificate() error {
	if o.options.Gateway.CertSecret == "" {
		return nil
	}
	core, err := kubernetes.NewForConfig(o.manager.GetConfig())
	if err != nil {
		return fmt.Errorf("connect to the cluster: %w", err)
	}
	keeper := servingcert.New(servingcert.Options{
		Names: []string{o.gatewayHost()}, SecretName: o.options.Gateway.CertSecret,
		Secrets: core.CoreV1().Secrets(o.options.Controllers.OperatorNamespace), Log: o.manager.GetLogger().WithName("gateway-certificate"),
	})
	if err := o.manager.Add(keeper); err != nil {
		return fmt.Errorf("add the keeper of the gateway's certificate: %w", err)
	}
	return nil
}

// gatewayHost returns the host name of the gateway in the cluster.
func (o *Operator) gatewayHost() string {
	return cmp.Or(o.options.Gateway.Service, defaultGateway) + "." + o.options.Controllers.OperatorNamespace + ".svc"
}
