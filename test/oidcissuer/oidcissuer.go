// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package oidcissuer runs an OpenID Connect issuer, oidc-provider from npm, at which tests sign in.
package oidcissuer

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"

	certutil "k8s.io/client-go/util/cert"

	"github.com/nestor-dev/nestor/test/npm"
)

// The client of the issuer, and the group of alice as the API server names it.
const (
	ClientID     = "nestor"
	ClientSecret = "the secret of the client"
	Group        = prefix + "team-a"

	prefix = "oidc:"
)

// Issuer is a running issuer.
type Issuer struct {
	URL string
	// CAFile has the authority of its certificate.
	CAFile string
	// AuthenticationConfig is a file that lets an API server trust the issuer, as in docs/tasks/oidc.md.
	AuthenticationConfig string
}

// Start starts an issuer with files in a directory. The test is skipped without its packages, or fails in CI.
func Start(ctx context.Context, t npm.T, dir string) (i *Issuer, stop func()) {
	t.Helper()
	i = &Issuer{CAFile: filepath.Join(dir, "issuer.crt"), AuthenticationConfig: filepath.Join(dir, "authentication.json")}
	certificate, key, err := certutil.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	keyFile := filepath.Join(dir, "issuer.key")
	if err := errors.Join(err, os.WriteFile(i.CAFile, certificate, 0o600), os.WriteFile(keyFile, key, 0o600)); err != nil {
		t.Fatalf("create the issuer's certificate: %v", err)
	}
	program := npm.Program{Dir: "oidc-provider", Script: "issuer.mjs", Args: []string{i.CAFile, keyFile}}
	server, stop := program.Start(ctx, t)
	i.URL = strings.Replace(server.URL, "http:", "https:", 1)
	if err := i.writeAuthenticationConfig(string(certificate)); err != nil {
		stop()
		t.Fatalf("write the API server's configuration: %v", err)
	}
	return i, stop
}

func (i *Issuer) writeAuthenticationConfig(authority string) error {
	type object = map[string]any
	text, err := json.Marshal(object{
		"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration",
		"jwt": []object{{
			"issuer": object{"url": i.URL, "audiences": []string{ClientID}, "certificateAuthority": authority},
			"claimMappings": object{
				"username": object{"claim": "email", "prefix": prefix},
				"groups":   object{"claim": "groups", "prefix": prefix},
			},
		}},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(i.AuthenticationConfig, text, 0o600)
}
