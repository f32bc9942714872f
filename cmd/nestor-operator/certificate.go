// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"

	historyv1beta1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/operator"
)

// defaultCertificateSecret is the Secret for a certificate that the operator creates.
const defaultCertificateSecret = "nestor-history-cert"

func registerCertificate(c *operator.Certificate, set *flag.FlagSet) {
	registered := historyv1beta1.GroupVersion.Version + "." + historyv1beta1.GroupVersion.Group
	set.StringVar(&c.Secret, "history-cert-secret", "", "`name` of the Secret in the operator's namespace for the certificate of the history API, which the operator creates and renews (default "+defaultCertificateSecret+", unless there are files)")
	set.StringVar(&c.Service, "history-service", "nestor-history", "`name` of the Service of the history API: the certificate is for NAME.NAMESPACE.svc")
	set.StringVar(&c.APIService, "history-apiservice", registered, "`name` of the APIService whose caBundle is kept up to date with the certificate in the Secret")
	set.StringVar(&c.File, "history-cert-file", "", "`file` with the certificate of the history API, instead of a Secret; you must then set the APIService's caBundle yourself")
	set.StringVar(&c.KeyFile, "history-key-file", "", "`file` with its key")
}

// completeCertificate rejects contradictory flags, and sets the default.
func completeCertificate(c *operator.Certificate) error {
	if (c.File == "") != (c.KeyFile == "") {
		return errors.New("--history-cert-file and --history-key-file go together: set both, or none")
	}
	if c.File != "" && c.Secret != "" {
		return errors.New("--history-cert-secret is for a certificate that the operator creates, --history-cert-file for your own: set one of them")
	}
	if c.Service == "" || c.APIService == "" {
		return errors.New("--history-service and --history-apiservice need a name: omit them to use the defaults")
	}
	if c.File == "" && c.Secret == "" {
		c.Secret = defaultCertificateSecret
	}
	return nil
}
