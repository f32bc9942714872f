// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package login

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/nestor-dev/nestor/internal/login/request"
	"github.com/nestor-dev/nestor/internal/outbound"
	"github.com/nestor-dev/nestor/internal/shorten"
)

const (
	// attemptTime is how long a person may take to consent.
	attemptTime = 10 * time.Minute
	// requestTimeout limits a request to an authorization server.
	requestTimeout = 20 * time.Second
	// maxResponse bounds a response of an authorization server.
	maxResponse = 1 << 20
	// expiryMargin is how long before its end something is replaced.
	expiryMargin = 30 * time.Second
	// maxCode bounds an error code that is shown.
	maxCode = 60
)

// Service logs people in to tool servers.
type Service struct {
	Store *Store
	// HTTP sends the requests to tool servers and authorization servers, and must restrict their addresses.
	HTTP http.RoundTripper
	// PageURL is where people reach the web page; empty if there is none, and then no one can log in.
	PageURL string
	Now     func() time.Time
}

// New returns a service whose responses are bounded.
func New(store *Store, transport http.RoundTripper, pageURL string) *Service {
	return &Service{Store: store, HTTP: boundedTransport{transport}, PageURL: strings.TrimSuffix(pageURL, "/"), Now: time.Now}
}

// Server is a ToolServer with auth.userOAuth.
type Server struct {
	Namespace, Name, UID string
	URL                  string
	// SSE reports that the server has the older transport, whose first request is a GET.
	SSE bool
	// ClientID is that of the configured client; empty means that the operator registers one.
	ClientID string
	// ClientSecret reads its secret; nil if it has none.
	ClientSecret func(context.Context) (string, error)
	// Scopes are the requested scopes; empty means those that the server names.
	Scopes []string
	// Headers are sent with requests to the server; nil means none.
	Headers func(context.Context) (http.Header, error)
}

func (s Server) owner(person string) owner {
	return owner{namespace: s.Namespace, server: s.Name, uid: s.UID, person: person}
}

// resource returns the URL that identifies the server, without query and fragment.
func (s Server) resource() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return s.URL
	}
	u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = "", false, "", ""
	return u.String()
}

// Link returns the address of the page where people log in to a server. It has no secret: a person who opens it logs
// in as themselves.
func (s *Service) Link(namespace, name string) string {
	return s.PageURL + request.Path + "/" + url.PathEscape(namespace) + "/" + url.PathEscape(name)
}

func (s *Service) redirectURL() string { return s.PageURL + request.CallbackPath }

// Begin starts an attempt of a person, and returns the address to which the person's browser goes.
func (s *Service) Begin(ctx context.Context, server Server, person string) (string, error) {
	if s.PageURL == "" {
		return "", failed("The operator does not know the address of the web page: set its flag --web-url, which the chart does with gateway.web.url.")
	}
	if person == "" {
		return "", failed("Sign in to the page first.")
	}
	found, err := s.discover(ctx, server)
	if err != nil {
		return "", err
	}
	used, err := s.clientOf(ctx, server, found)
	if err != nil {
		return "", err
	}
	began := attempt{
		State: newState(server), Verifier: oauth2.GenerateVerifier(), Expires: s.Now().Add(attemptTime),
		IssuerNamed: found.issuer.AuthorizationResponseIssParameterSupported, Client: used,
	}
	err = s.Store.change(ctx, server.owner(person), func(r *record) error {
		r.Attempt = &began
		return nil
	})
	if err != nil {
		return "", err
	}
	config := oauth2.Config{
		ClientID: used.ID, RedirectURL: s.redirectURL(), Scopes: found.scopes, Endpoint: oauth2.Endpoint{AuthURL: found.issuer.AuthorizationEndpoint},
	}
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(began.Verifier), oauth2.SetAuthURLParam("resource", used.Resource)}
	for _, scope := range found.scopes {
		if scope == offlineAccess { // OpenID Connect Core, section 11: it is granted only with a question
			options = append(options, oauth2.SetAuthURLParam("prompt", "consent"))
		}
	}
	return config.AuthCodeURL(began.State, options...), nil
}

// newState returns a state that names the server, so that the answer can be assigned, with a secret.
func newState(server Server) string {
	return base64.RawURLEncoding.EncodeToString([]byte(server.Namespace+"/"+server.Name)) + "." + rand.Text()
}

// ServerOf returns the server that a state names. The state is not verified.
func ServerOf(state string) (namespace, name string, ok bool) {
	encoded, _, _ := strings.Cut(state, ".")
	text, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return "", "", false
	}
	return strings.Cut(string(text), "/")
}

// Finish ends an attempt with the answer that a person's browser brought. Only the person who began the attempt can
// end it, and only once.
func (s *Service) Finish(ctx context.Context, server Server, person string, answer request.Answer) error {
	began, err := s.takeAttempt(ctx, server, person, answer.State)
	if err != nil {
		return err
	}
	switch {
	case s.Now().After(began.Expires):
		return failed("This login took longer than %s. Open the link again.", attemptTime)
	case began.Client.Server != server.resource():
		return failed("The URL of the tool server %s has changed meanwhile. Open the link again.", server.Name)
	case answer.Issuer != "" && answer.Issuer != began.Client.Issuer, answer.Issuer == "" && began.IssuerNamed:
		return failed("The answer is not from the authorization server %s, where this login began. Open the link again.", hostOf(began.Client.Issuer))
	case answer.Error != "":
		return failed("The authorization server %s did not log you in: %s.", hostOf(began.Client.Issuer), shorten.UntrustedLine(answer.Error, maxCode))
	case answer.Code == "":
		return failed("The answer of the authorization server %s has no code. Open the link again.", hostOf(began.Client.Issuer))
	}
	issued, err := s.exchange(ctx, server, began, answer.Code)
	if err != nil {
		return err
	}
	return s.Store.change(ctx, server.owner(person), func(r *record) error {
		r.Login = &issued
		return nil
	})
}

// takeAttempt removes the attempt of a person with this state.
func (s *Service) takeAttempt(ctx context.Context, server Server, person, state string) (attempt, error) {
	var taken attempt
	if person == "" || state == "" {
		return taken, errNotBegun
	}
	err := s.Store.change(ctx, server.owner(person), func(r *record) error {
		if r.Attempt == nil || subtle.ConstantTimeCompare([]byte(r.Attempt.State), []byte(state)) != 1 {
			return errNotBegun
		}
		taken, r.Attempt = *r.Attempt, nil
		return nil
	})
	return taken, err
}

var errNotBegun = failed("You did not begin this login, or have ended it already. Open the link of the question as the person who is asked.")

// exchange exchanges a code for tokens.
func (s *Service) exchange(ctx context.Context, server Server, began attempt, code string) (credentials, error) {
	config, err := s.config(ctx, server, began.Client)
	if err != nil {
		return credentials{}, err
	}
	token, err := config.Exchange(s.withClient(ctx), code, oauth2.VerifierOption(began.Verifier), oauth2.SetAuthURLParam("resource", began.Client.Resource))
	if code := errorCode(err); code == "invalid_client" && !began.Client.Configured {
		_ = s.forget(ctx, server, began.Client) // the next attempt fails in the same way and tries again
	}
	if err != nil {
		return credentials{}, failed("The authorization server %s gave no token%s. Open the link again.", hostOf(began.Client.Issuer), reason(err))
	}
	issued := credentials{ID: rand.Text(), Client: began.Client}
	if err := issued.take(token, s.Now()); err != nil {
		return credentials{}, failed("The authorization server %s gave a token that cannot be used: %s.", hostOf(began.Client.Issuer), err)
	}
	return issued, nil
}

// take replaces the tokens. An answer without a refresh token keeps the old one.
func (c *credentials) take(token *oauth2.Token, now time.Time) error {
	if !strings.EqualFold(token.Type(), "Bearer") {
		return errors.New("its type is not Bearer")
	}
	for _, b := range []byte(token.AccessToken) {
		if b <= ' ' || b > '~' {
			return errors.New("it does not fit into a header")
		}
	}
	c.Access, c.Expires, c.RefreshBy = token.AccessToken, time.Time{}, time.Time{}
	if !token.Expiry.IsZero() {
		c.Expires = now.Add(time.Until(token.Expiry))
	}
	if token.RefreshToken != "" {
		c.Refresh = token.RefreshToken
	}
	return nil
}

// forget removes the operator's registration, which the authorization server does not accept any more.
func (s *Service) forget(ctx context.Context, server Server, c client) error {
	return s.Store.change(ctx, server.owner(""), func(r *record) error {
		if r.Registration != nil && r.Registration.ID == c.ID {
			r.Registration = nil
		}
		return nil
	})
}

// Logout removes the login of a person, and revokes its tokens if the authorization server can do that. The login is
// removed even if the revocation fails.
func (s *Service) Logout(ctx context.Context, server Server, person string) error {
	var removed *credentials
	err := s.Store.change(ctx, server.owner(person), func(r *record) error {
		removed = r.Login
		*r = record{}
		return nil
	})
	if err != nil || removed == nil || removed.Client.RevocationURL == "" {
		return err
	}
	if s.revoke(ctx, server, *removed) != nil {
		return failed("You are logged out here, but the authorization server %s did not revoke your tokens. Remove the access there.", hostOf(removed.Client.Issuer))
	}
	return nil
}

// revoke revokes tokens (RFC 7009). Revoking a refresh token revokes the access tokens that it gave, too.
func (s *Service) revoke(ctx context.Context, server Server, c credentials) error {
	config, err := s.config(ctx, server, c.Client)
	if err != nil {
		return err
	}
	tokens := map[string]string{"access_token": c.Access}
	if c.Refresh != "" {
		tokens["refresh_token"] = c.Refresh
	}
	var problems []error
	for hint, token := range tokens {
		form := url.Values{"token": {token}, "token_type_hint": {hint}}
		if config.Endpoint.AuthStyle == oauth2.AuthStyleInParams {
			form.Set("client_id", config.ClientID)
			if config.ClientSecret != "" {
				form.Set("client_secret", config.ClientSecret)
			}
		}
		problems = append(problems, s.postRevocation(ctx, c.Client.RevocationURL, config, form))
	}
	return errors.Join(problems...)
}

func (s *Service) postRevocation(ctx context.Context, address string, config *oauth2.Config, form url.Values) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if config.Endpoint.AuthStyle == oauth2.AuthStyleInHeader {
		request.SetBasicAuth(url.QueryEscape(config.ClientID), url.QueryEscape(config.ClientSecret))
	}
	response, err := s.client().Do(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close() // the status is enough
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}

// People returns the people who have logged in to a server, or have begun to.
func (s *Service) People(ctx context.Context, server Server) ([]string, error) {
	return s.Store.people(ctx, server.owner(""))
}

// LoginID identifies the current login of a person, or is empty if there is none. It changes with each login.
func (s *Service) LoginID(ctx context.Context, server Server, person string) (string, error) {
	r, err := s.Store.read(ctx, server.owner(person))
	if err != nil || !r.Login.usableFor(server) {
		return "", err
	}
	return r.Login.ID, nil
}

// usableFor reports whether there is a login at the server's URL: a token must not be sent to another one.
func (c *credentials) usableFor(server Server) bool {
	return c != nil && c.Client.Server == server.resource()
}

// withClient returns a context for package oauth2.
func (s *Service) withClient(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, s.client())
}

// knownCodes are the error codes of token endpoints that are shown. Other texts may repeat what was sent.
var knownCodes = map[string]bool{
	"invalid_client": true, "invalid_grant": true, "unauthorized_client": true, "unsupported_grant_type": true, "invalid_scope": true,
	"invalid_target": true, "invalid_request": true,
}

// errorCode returns the error code of a token endpoint, if it is known.
func errorCode(err error) string {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && knownCodes[refused.ErrorCode] {
		return refused.ErrorCode
	}
	return ""
}

// reason returns why a token endpoint gave no token, in a form that may be shown.
func reason(err error) string {
	var forbidden *outbound.NotAllowedError
	var refused *oauth2.RetrieveError
	switch {
	case errors.As(err, &forbidden):
		return ": " + forbidden.Error()
	case errorCode(err) != "":
		return " (" + errorCode(err) + ")"
	case errors.As(err, &refused) && refused.Response != nil:
		return " (" + http.StatusText(refused.Response.StatusCode) + ")"
	}
	return ""
}

// boundedTransport bounds the responses.
type boundedTransport struct{ next http.RoundTripper }

func (b boundedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	response.Body = outbound.LimitBody(response.Body, maxResponse)
	return response, nil
}
