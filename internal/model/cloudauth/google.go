// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cloudauth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/nestor-dev/nestor/internal/model"
)

const googleScope = "https://www.googleapis.com/auth/cloud-platform"

// ServiceAccount returns a source of access tokens for the key of a service account. Other files with credentials are
// refused: they can name files and addresses whose contents would be sent elsewhere.
func ServiceAccount(key func(context.Context) ([]byte, error), transport http.RoundTripper) func(context.Context) (string, error) {
	c := newCache[string]()
	return func(ctx context.Context) (string, error) {
		data, err := key(ctx)
		if err != nil {
			return "", err
		}
		return c.get(ctx, string(data), func(ctx context.Context) (string, time.Time, error) {
			config, err := google.JWTConfigFromJSON(data, googleScope)
			if err != nil {
				return "", time.Time{}, failed(model.NoKey, "the Secret of serviceAccountKeyRef does not contain the key of a service account")
			}
			client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			token, err := config.TokenSource(context.WithValue(ctx, oauth2.HTTPClient, client)).Token()
			if err != nil {
				return "", time.Time{}, tokenError(ctx, config.TokenURL, err)
			}
			return token.AccessToken, expiry(token), nil
		})
	}
}

// expiry returns when a token expires. One without an end is used for a while.
func expiry(token *oauth2.Token) time.Time {
	if token.Expiry.IsZero() {
		return time.Now().Add(2 * early)
	}
	return token.Expiry
}

func tokenError(ctx context.Context, address string, err error) error {
	host := "of an invalid URL"
	if u, parseErr := url.Parse(address); parseErr == nil {
		host = u.Host
	}
	if refused := new(oauth2.RetrieveError); errors.As(err, &refused) && refused.Response != nil {
		kind, status := model.Unauthorized, refused.Response.StatusCode
		if status >= 500 || status == http.StatusTooManyRequests {
			kind = model.Transient
		}
		return failed(kind, "the token endpoint %s refuses the identity (%d %s)", host, status, http.StatusText(status))
	}
	return unreachable(ctx, "the token endpoint "+host, err)
}

// OperatorGoogle returns a source of access tokens for the identity of the operator's pod: Workload Identity
// Federation, by the metadata server of GKE or the file in GOOGLE_APPLICATION_CREDENTIALS.
func OperatorGoogle() func(context.Context) (string, error) {
	c := newCache[string]()
	return func(ctx context.Context) (string, error) {
		return c.get(ctx, "", func(ctx context.Context) (string, time.Time, error) {
			credentials, err := google.FindDefaultCredentials(ctx, googleScope)
			if err != nil {
				return "", time.Time{}, failed(model.NoKey, "the operator's pod has no identity in Google Cloud: bind its service account (Workload Identity Federation)")
			}
			token, err := credentials.TokenSource.Token()
			if err != nil {
				return "", time.Time{}, tokenError(ctx, "https://google-cloud", err)
			}
			return token.AccessToken, expiry(token), nil
		})
	}
}
