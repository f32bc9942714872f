// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"net"
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	certutil "k8s.io/client-go/util/cert"
)

// selfSignedValidity is the validity of a self-signed certificate; each process creates a new one.
const selfSignedValidity = 10 * 365 * 24 * time.Hour

// Certificate is a certificate that is maintained elsewhere, for example by a servingcert.Keeper.
type Certificate interface {
	// CurrentCertKeyContent returns the certificate and its key in PEM. Clients cannot connect while both are empty.
	CurrentCertKeyContent() (certificate, key []byte)
	// OnChange registers a function that is called whenever the certificate changes.
	OnChange(listener func())
}

// certificateProvider adapts a Certificate to k8s.io/apiserver.
type certificateProvider struct{ Certificate }

func (certificateProvider) Name() string { return "history" }

func (k certificateProvider) AddListener(listener dynamiccertificates.Listener) {
	k.OnChange(listener.Enqueue)
}

// servingCertificate returns the serving certificate and, if it is self-signed, its CA bundle.
func servingCertificate(options Options) (dynamiccertificates.CertKeyContentProvider, []byte, error) {
	if options.Certificate != nil {
		return certificateProvider{options.Certificate}, nil, nil
	}
	if options.CertFile != "" || options.KeyFile != "" {
		files, err := dynamiccertificates.NewDynamicServingContentFromFiles("history", options.CertFile, options.KeyFile)
		if err != nil {
			return nil, nil, fmt.Errorf("read the certificate of the history API: %w", err)
		}
		return files, nil, nil
	}
	wanted := certutil.SelfSignedCertKeyOptions{Host: "localhost", AlternateIPs: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, MaxAge: selfSignedValidity}
	for _, host := range options.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			wanted.AlternateIPs = append(wanted.AlternateIPs, ip)
			continue
		}
		wanted.AlternateDNS = append(wanted.AlternateDNS, host)
	}
	certificate, key, err := certutil.GenerateSelfSignedCertKeyWithOptions(wanted)
	if err != nil {
		return nil, nil, fmt.Errorf("create a certificate for the history API: %w", err)
	}
	own, err := dynamiccertificates.NewStaticCertKeyContent("history", certificate, key)
	if err != nil {
		return nil, nil, fmt.Errorf("create a certificate for the history API: %w", err)
	}
	return own, certificate, nil
}
