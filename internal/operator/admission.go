// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"fmt"
	"net"

	"github.com/nestor-dev/nestor/internal/listen"
	"github.com/nestor-dev/nestor/internal/servingcert"
	"github.com/nestor-dev/nestor/internal/validation/catalog"
	"github.com/nestor-dev/nestor/internal/validation/endpoint"
)

const webhookName = "admission.nestor.dev"

// Admission configures the validating webhook.
type Admission struct {
	// Address is the address for the API server; empty and "0" turn the webhook off, unless there is a Listener.
	Address string
	// Listener is for an operator that registers the webhook with the certificate that the history API creates at each start.
	Listener net.Listener
	// Configuration is the name of the ValidatingWebhookConfiguration whose caBundle is updated from the Secret.
	Configuration string
}

// serveAdmission adds the validating webhook, with the certificate of the history API. It does not wait for leadership: every replica can
// judge.
func (o *Operator) serveAdmission() error {
	options := o.options.Admission
	var certificate servingcert.Source
	switch {
	case options.Listener != nil:
		certificate = o.History.Certificate()
	case off(options.Address):
		return nil
	default:
		var err error
		if certificate, err = o.servingCertificate(); err != nil {
			return err
		}
	}
	served := listen.Server{
		Name: "admission", Address: options.Address, Listener: options.Listener, TLS: servingcert.TLS(certificate),
		Handler: endpoint.New(o.manager.GetScheme(), catalog.Live{Finder: o.controllers.Finder}),
	}
	if err := o.manager.Add(served); err != nil {
		return fmt.Errorf("add the webhook: %w", err)
	}
	return nil
}
