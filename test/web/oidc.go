// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/internal/server"
	"github.com/nestor-dev/nestor/test/oidcissuer"
)

// startIssuer starts an issuer with files in a directory that stopIssuer removes.
func (s *stack) startIssuer(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "nestor-issuer-")
	if err != nil {
		return fmt.Errorf("create the issuer's directory: %w", err)
	}
	started, stop := oidcissuer.Start(ctx, required{}, dir)
	s.issuer = started
	s.stopIssuer = func() error {
		stop()
		return os.RemoveAll(dir)
	}
	return nil
}

// required makes what is missing an error of the program.
type required struct{}

func (required) Helper()                           {}
func (required) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (required) Skipf(format string, args ...any)  { panic(fmt.Sprintf(format, args...)) }

// issuerBinding grants the group of the issuer's alice the permissions of alice.
func issuerBinding() client.Object {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "alice", Name: "issuer"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "nestor-user"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: oidcissuer.Group}},
	}
}

// oidc serves a page with sign-in at the issuer.
func (s *stack) oidc() (map[string]string, error) {
	if s.issuer == nil {
		return nil, errors.New("there is no issuer: start with --issuer")
	}
	page := httptest.NewUnstartedServer(nil)
	url := "http://" + page.Listener.Addr().String()
	secret, keys := filepath.Join(s.dir(), "client-secret"), filepath.Join(s.dir(), "session-keys")
	err := errors.Join(
		os.WriteFile(secret, []byte(oidcissuer.ClientSecret), 0o600),
		os.WriteFile(keys, []byte(rand.Text()+rand.Text()), 0o600),
	)
	if err != nil {
		return nil, fmt.Errorf("write the client's files: %w", err)
	}
	identity, err := server.SignInWithOIDC(s.cluster.Config, false, server.OIDC{
		Issuer: s.issuer.URL, ClientID: oidcissuer.ClientID, ClientSecretFile: secret, KeysFile: keys, CAFile: s.issuer.CAFile,
		Scopes: []string{"openid", "email", "groups"}, PageURL: url, SessionLength: time.Hour,
	})
	if err != nil {
		return nil, err
	}
	page.Config = &http.Server{Handler: server.New(server.Options{Identity: identity, Namespace: "alice"}), ReadHeaderTimeout: time.Minute}
	page.Start()
	s.servers = append(s.servers, page)
	return map[string]string{"url": url}, nil
}
