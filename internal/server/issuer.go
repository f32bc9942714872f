// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/nestor-dev/nestor/internal/shorten"
)

// issuerTimeout limits a request to the issuer.
const issuerTimeout = 10 * time.Second

// maxIssuerError bounds what an error of the issuer adds to a message.
const maxIssuerError = 300

// issuer is the OpenID Connect issuer at which people sign in.
type issuer struct {
	options OIDC
	client  *http.Client

	provider atomic.Pointer[oidc.Provider] // nil until the issuer has answered
}

func newIssuer(options OIDC) (*issuer, error) {
	client := &http.Client{Timeout: issuerTimeout}
	if options.CAFile == "" {
		return &issuer{options: options, client: client}, nil
	}
	bundle, err := os.ReadFile(options.CAFile)
	if err != nil {
		return nil, fmt.Errorf("read the issuer's certificate authorities: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(bundle) {
		return nil, fmt.Errorf("%s contains no certificates in PEM", options.CAFile)
	}
	client.Transport = &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, IdleConnTimeout: time.Minute,
	}
	return &issuer{options: options, client: client}, nil
}

// errNotDiscovered means that nothing is known about a session: the issuer has not answered this replica yet.
var errNotDiscovered = errors.New("read the configuration of the issuer")

// discover returns the issuer's endpoints and keys. They are read on the first use: an issuer that is down does not stop the page. People do
// not wait for each other's requests, so that each of them has an answer within the timeout.
func (i *issuer) discover(ctx context.Context) (*oidc.Provider, error) {
	if provider := i.provider.Load(); provider != nil {
		return provider, nil
	}
	// The provider keeps the client of this context, not its deadline.
	provider, err := oidc.NewProvider(i.with(ctx), i.options.Issuer)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotDiscovered, err)
	}
	i.provider.Store(provider)
	return provider, nil
}

func (i *issuer) with(ctx context.Context) context.Context { return oidc.ClientContext(ctx, i.client) }

// config returns the configuration of the OAuth client. The secret is read on each use, so that it can be rotated.
func (i *issuer) config(ctx context.Context) (*oauth2.Config, *oidc.Provider, error) {
	provider, err := i.discover(ctx)
	if err != nil {
		return nil, nil, err
	}
	config := &oauth2.Config{ClientID: i.options.ClientID, Endpoint: provider.Endpoint(), RedirectURL: i.options.PageURL + callbackPath, Scopes: i.options.Scopes}
	if i.options.ClientSecretFile != "" {
		secret, err := os.ReadFile(i.options.ClientSecretFile)
		if err != nil {
			return nil, nil, fmt.Errorf("read the client secret: %w", err)
		}
		config.ClientSecret = strings.TrimSpace(string(secret))
	}
	return config, provider, nil
}

// signInURL returns where a person signs in. After a sign-out the issuer asks for credentials even if it has a session of the person.
func (i *issuer) signInURL(ctx context.Context, a attempt) (string, error) {
	config, _, err := i.config(ctx)
	if err != nil {
		return "", err
	}
	options := []oauth2.AuthCodeOption{oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)}
	if a.SignedOut {
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"))
	}
	return config.AuthCodeURL(a.State, options...), nil
}

// exchange returns the tokens for an authorization code of an attempt.
func (i *issuer) exchange(ctx context.Context, code string, a attempt) (issued, error) {
	config, provider, err := i.config(ctx)
	if err != nil {
		return issued{}, err
	}
	token, err := config.Exchange(i.with(ctx), code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return issued{}, fmt.Errorf("exchange the code: %w", err)
	}
	got, verified, err := i.verify(ctx, provider, token)
	if err != nil {
		return issued{}, err
	}
	if !equalSecrets(verified.Nonce, a.Nonce) {
		return issued{}, errors.New("the ID token is the answer to another sign-in")
	}
	return got, nil
}

// refresh returns new tokens of the same person.
func (i *issuer) refresh(ctx context.Context, old issued) (issued, error) {
	config, provider, err := i.config(ctx)
	if err != nil {
		return issued{}, err
	}
	token, err := config.TokenSource(i.with(ctx), &oauth2.Token{RefreshToken: old.RefreshToken}).Token()
	if err != nil {
		return issued{}, fmt.Errorf("refresh the ID token: %w", err)
	}
	got, _, err := i.verify(ctx, provider, token)
	if err != nil {
		return issued{}, err
	}
	if got.Subject != old.Subject {
		return issued{}, errors.New("the refreshed ID token is for another person")
	}
	return got, nil
}

// verify returns the ID token of a response, if it is valid and for this client.
func (i *issuer) verify(ctx context.Context, provider *oidc.Provider, token *oauth2.Token) (issued, *oidc.IDToken, error) {
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return issued{}, nil, errors.New("the issuer's answer has no ID token: the scope openid is needed, also for a refresh")
	}
	verified, err := provider.Verifier(&oidc.Config{ClientID: i.options.ClientID}).Verify(ctx, raw)
	if err != nil {
		return issued{}, nil, err
	}
	return issued{IDToken: raw, RefreshToken: token.RefreshToken, Expires: verified.Expiry, Subject: verified.Subject}, verified, nil
}

// revoke makes a refresh token useless, if the issuer can do that.
func (i *issuer) revoke(ctx context.Context, refreshToken string) error {
	config, provider, err := i.config(ctx)
	if err != nil {
		return err
	}
	var offers struct {
		Revocation string `json:"revocation_endpoint"`
	}
	if err := provider.Claims(&offers); err != nil || offers.Revocation == "" {
		return err
	}
	form := url.Values{"token": {refreshToken}, "token_type_hint": {"refresh_token"}}
	if config.ClientSecret == "" {
		form.Set("client_id", config.ClientID)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, offers.Revocation, strings.NewReader(form.Encode()))
	if err != nil {
		return fmt.Errorf("revoke the refresh token: %w", err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if config.ClientSecret != "" {
		request.SetBasicAuth(url.QueryEscape(config.ClientID), url.QueryEscape(config.ClientSecret))
	}
	response, err := i.client.Do(request)
	if err != nil {
		return fmt.Errorf("revoke the refresh token: %w", err)
	}
	return response.Body.Close()
}

// isTemporary reports whether the issuer did not answer, or could not, so that a session may continue later.
func isTemporary(err error) bool {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) {
		return refused.Response.StatusCode >= http.StatusInternalServerError || refused.Response.StatusCode == http.StatusTooManyRequests
	}
	var unreachable *url.Error
	return errors.As(err, &unreachable) || errors.Is(err, errNotDiscovered)
}

// refusal returns what an error of the issuer says to the person. It contains no tokens: the library puts the answer of a failed exchange into
// its error, so only the registered fields are shown.
func refusal(err error) string {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) {
		return issuerError(cmp.Or(refused.ErrorCode, refused.Response.Status), refused.ErrorDescription)
	}
	return shorten.UntrustedLine(err.Error(), maxIssuerError)
}

// issuerError returns the message of an error code with its description.
func issuerError(code, description string) string {
	if description != "" {
		code += ": " + description
	}
	return shorten.UntrustedLine(code, maxIssuerError)
}
