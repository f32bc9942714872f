// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package login

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/nestor-dev/nestor/internal/outbound"
	"github.com/nestor-dev/nestor/internal/shorten"
)

const (
	// maxAnswer bounds what is read of an answer to an unauthenticated request.
	maxAnswer = 64 << 10
	// maxProblem bounds the text about a failed discovery.
	maxProblem = 300
	// challengeMethod is the code challenge method of PKCE that is used.
	challengeMethod = "S256"
	offlineAccess   = "offline_access"
)

// probe is a request that needs no session. Its answer is not used, only the challenge of a refusal.
const probe = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// discovery is what a server and its authorization server publish.
type discovery struct {
	// resource is the resource that tokens are for.
	resource string
	scopes   []string
	issuer   *oauthex.AuthServerMeta
}

// discover finds the authorization server of a tool server.
func (s *Service) discover(ctx context.Context, server Server) (discovery, error) {
	challenge, err := s.challenge(ctx, server)
	if err != nil {
		return discovery{}, failed("The tool server %s cannot be reached: %s", server.Name, shorten.UntrustedLine(cause(err), maxProblem))
	}
	metadata, err := s.resourceMetadata(ctx, server, challenge["resource_metadata"])
	if err != nil {
		return discovery{}, failed("The tool server %s does not publish its metadata (RFC 9728), so people cannot log in: %s", server.Name,
			shorten.UntrustedLine(cause(err), maxProblem))
	}
	if len(metadata.AuthorizationServers) == 0 {
		return discovery{}, failed("The metadata of the tool server %s names no authorization server.", server.Name)
	}
	issuer, err := auth.GetAuthServerMetadata(ctx, metadata.AuthorizationServers[0], s.client())
	if err == nil && issuer == nil {
		err = errors.New("it does not publish its metadata (RFC 8414)")
	}
	if err != nil {
		return discovery{}, failed("The authorization server of the tool server %s cannot be used: %s", server.Name, shorten.UntrustedLine(cause(err), maxProblem))
	}
	if !slices.Contains(issuer.CodeChallengeMethodsSupported, challengeMethod) || issuer.AuthorizationEndpoint == "" || issuer.TokenEndpoint == "" {
		return discovery{}, failed("The authorization server %s does not support authorization codes with PKCE (%s).", hostOf(issuer.Issuer), challengeMethod)
	}
	found := discovery{resource: metadata.Resource, issuer: issuer, scopes: server.Scopes}
	if len(found.scopes) == 0 {
		found.scopes = strings.Fields(challenge["scope"])
	}
	if len(found.scopes) == 0 {
		found.scopes = metadata.ScopesSupported
	}
	if slices.Contains(issuer.ScopesSupported, offlineAccess) && !slices.Contains(found.scopes, offlineAccess) {
		found.scopes = append(slices.Clip(found.scopes), offlineAccess)
	}
	return found, nil
}

// challenge returns the parameters of the challenge with which the server refuses a request without a token. A server
// that refuses nothing has none.
func (s *Service) challenge(ctx context.Context, server Server) (map[string]string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, bytes.NewReader([]byte(probe)))
	if server.SSE {
		request, err = http.NewRequestWithContext(ctx, http.MethodGet, server.URL, http.NoBody)
	}
	if err != nil {
		return nil, err
	}
	if server.Headers != nil {
		headers, err := server.Headers(ctx)
		if err != nil {
			return nil, err
		}
		for name, values := range headers {
			request.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	response, err := s.HTTP.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusUnauthorized {
		return nil, nil
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer)) // the connection can be used again
	challenges, err := oauthex.ParseWWWAuthenticate(response.Header.Values("WWW-Authenticate"))
	if err != nil {
		return nil, nil // the well-known addresses remain
	}
	for _, c := range challenges {
		if c.Scheme == "bearer" {
			return c.Params, nil
		}
	}
	return nil, nil
}

// resourceMetadata reads the metadata of a server, which must be about its URL: from the address in the challenge, or
// from the well-known ones.
func (s *Service) resourceMetadata(ctx context.Context, server Server, named string) (*oauthex.ProtectedResourceMetadata, error) {
	type place struct{ address, resource string }
	resource := server.resource()
	u, err := url.Parse(resource)
	if err != nil {
		return nil, errors.New("the URL is not valid")
	}
	const wellKnown = "/.well-known/oauth-protected-resource"
	root := (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
	places := []place{{root + wellKnown + u.EscapedPath(), resource}, {root + wellKnown, root}}
	if named != "" {
		// A server may publish metadata for its whole host.
		places = []place{{named, resource}, {named, root}}
	}
	var problems []error
	for _, p := range places {
		metadata, err := oauthex.GetProtectedResourceMetadata(ctx, p.address, p.resource, s.client())
		if err == nil {
			return metadata, nil
		}
		problems = append(problems, err)
	}
	return nil, problems[0]
}

// client returns a client that follows no redirects.
func (s *Service) client() *http.Client {
	return &http.Client{
		Transport: s.HTTP, Timeout: requestTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// cause returns the text of an error without the addresses that clients put before it.
func cause(err error) string {
	var forbidden *outbound.NotAllowedError
	if errors.As(err, &forbidden) {
		return forbidden.Error()
	}
	var request *url.Error
	if errors.As(err, &request) {
		return hostOf(request.URL) + ": " + request.Err.Error()
	}
	return err.Error()
}

func hostOf(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Host
	}
	return "(no host)"
}

// Error is an error for the person who logs in. It contains no secret.
type Error struct{ message string }

func (e *Error) Error() string { return e.message }

func failed(format string, arguments ...any) error { return &Error{fmt.Sprintf(format, arguments...)} }
