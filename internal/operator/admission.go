// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"fmt"

	"github.com/nestor-dev/nestor/internal/admission/endpoint"
	"github.com/nestor-dev/nestor/internal/listen"
	"github.com/nestor-dev/nestor/internal/servingcert"
)

// webhookName is the name of the webhook in its configuration.
const webhookName = "admission.nestor.dev"

// Admission configures the validating webhook.
type Admission struct {
	// Address is the address for the API server; empty and "0" turn the webhook off.
	Address string
	// Configuration is the name of the ValidatingWebhookConfiguration whose caBundle is updated from the Secret.
	Configuration string
}

// serveAdmission adds the validating webhook, with the certificate of the history API. It does not wait for leadership: every replica can
// judge.
func (o *Operator) serveAdmission() error {
	if off(o.options.Admission.Address) {
		return nil
	}
	certificate, err := o.servingCertificate()
	if err != nil {
		return err
	}
	served := listen.Server{
		Name: "admission", Address: o.options.Admission.Address, TLS: servingcert.TLS(certificate),
		Handler: endpoint.New(o.manager.GetScheme(), endpoint.Cluster{Finder: o.controllers.Finder}),
	}
	if err := o.manager.Add(served); err != nil {
		return fmt.Errorf("add the webhook: %w", err)
	}
	return nil
}
