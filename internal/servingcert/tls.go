// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

// Source has a certificate and its key in PEM, which may change; both are empty while there is none.
type Source interface {
	CurrentCertKeyContent() (certificate, key []byte)
}

// TLS returns the configuration of a server with the current certificate of a source.
func TLS(source Source) *tls.Config {
	parsed := &parsedCertificate{source: source}
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: parsed.get}
}

// parsedCertificate parses a certificate again when it has changed.
type parsedCertificate struct {
	source Source

	mu      sync.Mutex
	pem     []byte
	current *tls.Certificate
}

func (p *parsedCertificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	certificate, key := p.source.CurrentCertKeyContent()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != nil && bytes.Equal(certificate, p.pem) {
		return p.current, nil
	}
	if len(certificate) == 0 {
		return nil, errors.New("there is no serving certificate yet")
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("read the serving certificate: %w", err)
	}
	p.pem, p.current = certificate, &pair
	return p.current, nil
}

// Files is a certificate in files, which are read again when they change. It is a manager.Runnable that runs in every replica.
type Files struct {
	*dynamiccertificates.DynamicCertKeyPairContent
}

func NewFiles(certificate, key string) (Files, error) {
	files, err := dynamiccertificates.NewDynamicServingContentFromFiles("serving", certificate, key)
	if err != nil {
		return Files{}, fmt.Errorf("read the serving certificate: %w", err)
	}
	return Files{files}, nil
}

func (Files) NeedLeaderElection() bool { return false }

func (f Files) Start(ctx context.Context) error {
	f.Run(ctx, 1)
	return nil
}
