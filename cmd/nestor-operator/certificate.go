// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"

	historyv1beta1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/operator"
)

func registerCertificate(c *operator.Certificate, set *flag.FlagSet) {
	set.StringVar(&c.Secret, "history-cert-secret", "", "`name` of the Secret in the operator's namespace for the certificate of the history API, which the operator creates and renews (default NAME-history-cert, unless there are files)")
	set.StringVar(&c.File, "history-cert-file", "", "`file` with the certificate of the history API, instead of a Secret; you must then set the APIService's caBundle yourself")
	set.StringVar(&c.KeyFile, "history-key-file", "", "`file` with its key")
}

// completeCertificate rejects contradictory flags, and sets the names of an installation.
func completeCertificate(c *operator.Certificate, name string) error {
	if (c.File == "") != (c.KeyFile == "") {
		return errors.New("--history-cert-file and --history-key-file go together: set both, or none")
	}
	if c.File != "" && c.Secret != "" {
		return errors.New("--history-cert-secret is for a certificate that the operator creates, --history-cert-file for your own: set one of them")
	}
	c.Service = name + "-history"
	c.APIService = historyv1beta1.GroupVersion.Version + "." + historyv1beta1.GroupVersion.Group
	if c.File == "" && c.Secret == "" {
		c.Secret = c.Service + "-cert"
	}
	return nil
}
