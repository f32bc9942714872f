// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package login

import (
	"context"
	"errors"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/nestor-dev/nestor/internal/shorten"
)

// The methods with which a client proves its identity at a token endpoint.
const (
	methodBasic = "client_secret_basic"
	methodPost  = "client_secret_post"
	methodNone  = "none"
)

// client is what requests to an authorization server need. It is stored with each attempt and login, which continue
// with it although a later discovery finds something else.
type client struct {
	Issuer        string `json:"issuer"`
	TokenURL      string `json:"tokenURL"`
	RevocationURL string `json:"revocationURL,omitempty"`
	ID            string `json:"id"`
	Method        string `json:"method,omitempty"`
	// Secret is that of a registered client. That of a configured client is read for each use.
	Secret     string `json:"secret,omitempty"`
	Configured bool   `json:"configured,omitempty"`
	// Server is the URL of the tool server, and Resource what tokens are for.
	Server   string `json:"server"`
	Resource string `json:"resource"`
}

// registration is the operator's client at an authorization server.
type registration struct {
	Issuer      string    `json:"issuer"`
	RedirectURL string    `json:"redirectURL"`
	ID          string    `json:"id"`
	Secret      string    `json:"secret,omitempty"`
	Method      string    `json:"method,omitempty"`
	Expires     time.Time `json:"expires,omitzero"`
}

// clientOf returns the client for a server: the configured one, or one that the operator has registered or registers.
func (s *Service) clientOf(ctx context.Context, server Server, found discovery) (client, error) {
	c := client{
		Issuer: found.issuer.Issuer, TokenURL: found.issuer.TokenEndpoint, RevocationURL: found.issuer.RevocationEndpoint,
		Server: server.resource(), Resource: found.resource,
	}
	if server.ClientID != "" {
		c.ID, c.Configured, c.Method = server.ClientID, true, methodNone
		if server.ClientSecret != nil {
			c.Method = secretMethod(found.issuer.TokenEndpointAuthMethodsSupported)
		}
		return c, nil
	}
	r, err := s.registered(ctx, server, found)
	c.ID, c.Secret, c.Method = r.ID, r.Secret, r.Method
	return c, err
}

// secretMethod returns how a client with a secret sends it.
func secretMethod(supported []string) string {
	if len(supported) > 0 && !slices.Contains(supported, methodBasic) && slices.Contains(supported, methodPost) {
		return methodPost
	}
	return methodBasic
}

// registered returns the operator's registration, which all people share.
func (s *Service) registered(ctx context.Context, server Server, found discovery) (registration, error) {
	of := server.owner("")
	stored, err := s.Store.read(ctx, of)
	if err != nil {
		return registration{}, err
	}
	current := func(r *registration) bool {
		return r != nil && r.Issuer == found.issuer.Issuer && r.RedirectURL == s.redirectURL() && (r.Expires.IsZero() || s.Now().Before(r.Expires))
	}
	if current(stored.Registration) {
		return *stored.Registration, nil
	}
	added, err := s.register(ctx, server, found.issuer)
	if err != nil {
		return registration{}, err
	}
	err = s.Store.change(ctx, of, func(r *record) error {
		if current(r.Registration) { // another replica was first
			added = *r.Registration
		}
		r.Registration = &added
		return nil
	})
	return added, err
}

func (s *Service) register(ctx context.Context, server Server, issuer *oauthex.AuthServerMeta) (registration, error) {
	if issuer.RegistrationEndpoint == "" {
		return registration{}, failed("The authorization server %s does not register clients. Register one there with the redirect URL %s, and set auth.userOAuth.clientID of the ToolServer %s.",
			hostOf(issuer.Issuer), s.redirectURL(), server.Name)
	}
	method := methodBasic
	if supported := issuer.TokenEndpointAuthMethodsSupported; len(supported) > 0 && !slices.Contains(supported, methodBasic) {
		method = methodNone
		if slices.Contains(supported, methodPost) {
			method = methodPost
		}
	}
	answer, err := oauthex.RegisterClient(ctx, issuer.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		ClientName: "Nestor", RedirectURIs: []string{s.redirectURL()}, GrantTypes: []string{"authorization_code", "refresh_token"},
		ResponseTypes: []string{"code"}, TokenEndpointAuthMethod: method, ApplicationType: applicationType(s.PageURL),
	}, s.client())
	var refused *oauthex.ClientRegistrationError
	if errors.As(err, &refused) {
		return registration{}, failed("The authorization server %s does not register the operator as a client (%s). Register one there, and set auth.userOAuth.clientID of the ToolServer %s.",
			hostOf(issuer.Issuer), shorten.UntrustedLine(refused.ErrorCode, maxCode), server.Name)
	}
	if err != nil { // its text may repeat what the server sent
		return registration{}, failed("The authorization server %s does not register the operator as a client. Register one there, and set auth.userOAuth.clientID of the ToolServer %s.",
			hostOf(issuer.Issuer), server.Name)
	}
	r := registration{Issuer: issuer.Issuer, RedirectURL: s.redirectURL(), ID: answer.ClientID, Secret: answer.ClientSecret, Method: answer.TokenEndpointAuthMethod}
	if r.Method == "" {
		r.Method = method
	}
	if !answer.ClientSecretExpiresAt.IsZero() {
		r.Expires = answer.ClientSecretExpiresAt.Add(-expiryMargin)
	}
	return r, nil
}

// applicationType returns native for a page on this machine, as RFC 8252 has it, and web otherwise.
func applicationType(page string) string {
	u, err := url.Parse(page)
	if err != nil {
		return "web"
	}
	if address := net.ParseIP(u.Hostname()); u.Hostname() == "localhost" || address != nil && address.IsLoopback() {
		return "native"
	}
	return "web"
}

// config returns the settings of requests to the token endpoint.
func (s *Service) config(ctx context.Context, server Server, c client) (*oauth2.Config, error) {
	config := &oauth2.Config{ClientID: c.ID, ClientSecret: c.Secret, RedirectURL: s.redirectURL(), Endpoint: oauth2.Endpoint{TokenURL: c.TokenURL, AuthStyle: oauth2.AuthStyleInParams}}
	if c.Method == methodBasic {
		config.Endpoint.AuthStyle = oauth2.AuthStyleInHeader
	}
	if !c.Configured || c.Method == methodNone {
		return config, nil
	}
	if server.ClientSecret == nil {
		return nil, loginRequired()
	}
	secret, err := server.ClientSecret(ctx)
	config.ClientSecret = strings.TrimSpace(secret)
	return config, err
}
