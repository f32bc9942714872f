// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package oauth obtains access tokens with the client credentials grant of OAuth 2.0 (RFC 6749, section 4.4).
//
// A [Source] keeps one token. Concurrent callers share one request to the token endpoint. The token is replaced before
// it expires, when the client secret changes, and after a server refused it ([Source.Refused]). If a token cannot be
// renewed early, the old one is used until it expires.
//
// The endpoint is reached through a guarded transport: redirects are not followed, and the size of the response is
// bounded. An error never contains the secret, a token, or the endpoint's text: it has the status of a refusal, and the
// code if that is registered.
package oauth
