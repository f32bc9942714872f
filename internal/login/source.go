// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package login

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"github.com/nestor-dev/nestor/internal/outbound/oauth"
)

const (
	// refreshTime is how long one replica may take to refresh tokens. The others wait.
	refreshTime = 30 * time.Second
	// refreshPoll is how often they look.
	refreshPoll = 250 * time.Millisecond
	// refusedEvery is the minimum time between two refreshes of refused tokens.
	refusedEvery = 30 * time.Second
)

// loginRequired returns the error for a person who has no usable login.
func loginRequired() error {
	return oauth.NewError(oauth.LoginRequired, "a person has to log in to the server first")
}

// IsLoginRequired reports whether a person has to log in.
func IsLoginRequired(err error) bool {
	var failed *oauth.Error
	return errors.As(err, &failed) && failed.Problem == oauth.LoginRequired
}

// Source provides the access token of a person at a server. Nothing of it is kept in memory: a logout has effect on
// the next request, at every replica. It is safe for concurrent use.
type Source struct {
	service *Service
	server  Server
	person  string

	mu        sync.Mutex
	refused   string // the token that the server refused
	refusedAt time.Time
}

// Source returns the source of a person's tokens.
func (s *Service) Source(server Server, person string) *Source {
	return &Source{service: s, server: server, person: person}
}

// Token returns a token that has not expired. Without one, the error is an *oauth.Error.
func (s *Source) Token(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, refreshTime)
	defer cancel()
	for {
		stored, err := s.service.Store.read(ctx, s.server.owner(s.person))
		switch {
		case err != nil:
			return "", err
		case !stored.Login.usableFor(s.server):
			return "", loginRequired()
		case s.usable(*stored.Login):
			return stored.Login.Access, nil
		case stored.Login.Refresh == "":
			return "", s.drop(ctx, stored.Login.ID)
		}
		token, err := s.refresh(ctx)
		if !errors.Is(err, errRefreshing) {
			return token, err
		}
		timer := time.NewTimer(refreshPoll)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return "", oauth.NewError(oauth.Unreachable, "the token of a person was not refreshed in time")
		}
	}
}

// usable reports whether a token has neither expired nor been refused.
func (s *Source) usable(c credentials) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.Access != s.refused && (c.Expires.IsZero() || s.service.Now().Before(c.Expires.Add(-expiryMargin)))
}

// Refused is called with a token that the server refused. It reports whether [Source.Token] can return another one, or
// explain why not.
func (s *Source) Refused(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token == s.refused {
		return true
	}
	if !s.refusedAt.IsZero() && s.service.Now().Before(s.refusedAt.Add(refusedEvery)) {
		return false // the server refuses every token
	}
	s.refused, s.refusedAt = token, s.service.Now()
	return true
}

var errRefreshing = errors.New("another replica refreshes the token")

// refresh replaces the tokens, unless another replica does.
func (s *Source) refresh(ctx context.Context) (string, error) {
	var old credentials
	err := s.service.Store.change(ctx, s.server.owner(s.person), func(r *record) error {
		now := s.service.Now()
		switch {
		case !r.Login.usableFor(s.server) || r.Login.Refresh == "":
			return loginRequired()
		case s.usable(*r.Login), now.Before(r.Login.RefreshBy):
			return errRefreshing
		}
		old = *r.Login
		claimed := old
		claimed.RefreshBy = now.Add(refreshTime)
		r.Login = &claimed
		return nil
	})
	if err != nil {
		return "", err
	}
	token, err := s.requestRefresh(ctx, old)
	if errorCode(err) == "invalid_grant" || errorCode(err) == "invalid_client" || IsLoginRequired(err) {
		return "", s.drop(ctx, old.ID)
	}
	fresh := old
	if err == nil {
		err = fresh.take(token, s.service.Now())
	}
	// If the request failed, the next one may try at once. It must be recorded although the caller has left.
	stored := s.service.Store.change(context.WithoutCancel(ctx), s.server.owner(s.person), func(r *record) error {
		if r.Login != nil && r.Login.ID == old.ID {
			r.Login = &fresh
		}
		return nil
	})
	switch {
	case stored != nil:
		return "", stored
	case err != nil:
		return "", oauth.NewError(oauth.Unreachable, "the authorization server "+hostOf(old.Client.Issuer)+" did not refresh the token of a person"+reason(err))
	}
	return fresh.Access, nil
}

// requestRefresh sends the refresh token. Package oauth2 cannot add the resource to its own requests for a refresh.
func (s *Source) requestRefresh(ctx context.Context, old credentials) (*oauth2.Token, error) {
	config, err := s.service.config(ctx, s.server, old.Client)
	if err != nil {
		return nil, err
	}
	return config.Exchange(s.service.withClient(context.WithoutCancel(ctx)), "", oauth2.SetAuthURLParam("grant_type", "refresh_token"),
		oauth2.SetAuthURLParam("refresh_token", old.Refresh), oauth2.SetAuthURLParam("resource", old.Client.Resource))
}

// drop removes a login that cannot be used any more, and returns the error for that.
func (s *Source) drop(ctx context.Context, id string) error {
	err := s.service.Store.change(context.WithoutCancel(ctx), s.server.owner(s.person), func(r *record) error {
		if r.Login != nil && r.Login.ID == id {
			r.Login = nil
		}
		return nil
	})
	if err != nil {
		return err
	}
	return loginRequired()
}

// AnySource provides the access token of any logged-in person, for listing the tools of a server. Sessions that use it
// make no calls.
type AnySource struct {
	service *Service
	server  Server

	mu   sync.Mutex
	last *Source
}

// AnySource returns the source for listing the tools of a server.
func (s *Service) AnySource(server Server) *AnySource {
	return &AnySource{service: s, server: server}
}

// Token returns the token of the person whose token was used last, or of the first one who has one.
func (a *AnySource) Token(ctx context.Context) (string, error) {
	a.mu.Lock()
	last := a.last
	a.mu.Unlock()
	if last != nil {
		token, err := last.Token(ctx)
		if err == nil || !IsLoginRequired(err) {
			return token, err
		}
	}
	people, err := a.service.People(ctx, a.server)
	if err != nil {
		return "", err
	}
	for _, person := range people {
		source := a.service.Source(a.server, person)
		token, err := source.Token(ctx)
		if IsLoginRequired(err) {
			continue
		}
		a.mu.Lock()
		a.last = source
		a.mu.Unlock()
		return token, err
	}
	return "", oauth.NewError(oauth.LoginRequired, "the server requires a login, and no one has logged in yet: open "+a.service.Link(a.server.Namespace, a.server.Name))
}

// Refused is that of the person whose token was used.
func (a *AnySource) Refused(token string) bool {
	a.mu.Lock()
	last := a.last
	a.mu.Unlock()
	return last != nil && last.Refused(token)
}
