// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"io"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/nestor-dev/nestor/internal/gateway"
)

// errUnauthorized is the error of every request that is not authenticated. It does not tell whether the trigger exists.
var errUnauthorized = apierrors.NewUnauthorized("The signature or token is missing or wrong, or there is no such webhook.")

// The headers of signatures. They contain sha256= and the HMAC of the body in hexadecimal digits.
const (
	gitHubSignature = "X-Hub-Signature-256"
	ownSignature    = "X-Nestor-Signature-256"
)

// received is an authenticated request.
type received struct {
	// delivery identifies the request: a repetition has the same one.
	delivery string
	body     any
	headers  map[string]string
	// ping is true for a request that only tests the connection.
	ping bool
}

// format is a format of webhooks.
type format struct {
	// signature is the header of the signature, and tokens reports whether a token may be sent instead.
	signature string
	tokens    bool
	// parse reads an authenticated request.
	parse func(r *http.Request, body []byte) (*received, error)
}

// receive authenticates a request and reads it. A request without a token or signature is refused before its body is read.
func (f format) receive(w http.ResponseWriter, r *http.Request, secret string) (*received, error) {
	signature := r.Header.Get(f.signature)
	if signature == "" && (!f.tokens || !hasToken(r, secret)) {
		return nil, errUnauthorized
	}
	if err := gateway.ReadBody(w, r, bodyTimeout); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if signature != "" && !signs(signature, secret, body) {
		return nil, errUnauthorized
	}
	parsed, err := f.parse(r, body)
	if err != nil {
		return nil, err
	}
	parsed.headers = headersOf(r.Header)
	return parsed, nil
}

// hasToken reports whether a request has the secret as a bearer token, or as the password of basic authentication.
func hasToken(r *http.Request, secret string) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		var ok bool
		if _, token, ok = r.BasicAuth(); !ok {
			return false
		}
	}
	return equal(strings.TrimSpace(token), secret)
}

// signs reports whether a signature is that of a body.
func signs(signature, secret string, body []byte) bool {
	digits, ok := strings.CutPrefix(signature, "sha256=")
	if !ok {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return equal(strings.ToLower(digits), hex.EncodeToString(mac.Sum(nil)))
}

// equal compares secrets in a time that depends on neither of them.
func equal(a, b string) bool {
	one, other := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(one[:], other[:]) == 1
}

// secretHeaders are not shown to expressions.
var secretHeaders = []string{"Authorization", "Cookie", "Proxy-Authorization", "X-Hub-Signature", gitHubSignature, ownSignature}

// headersOf returns the headers for expressions, with names in lower case.
func headersOf(header http.Header) map[string]string {
	headers := make(map[string]string, len(header))
	for name, values := range header {
		if !slices.Contains(secretHeaders, name) {
			headers[strings.ToLower(name)] = strings.Join(values, ", ")
		}
	}
	return headers
}

// parseJSON parses a body. Integers stay integers.
func parseJSON(body []byte) (any, error) {
	var value any
	if err := utiljson.Unmarshal(body, &value); err != nil {
		return nil, apierrors.NewBadRequest("the body is not JSON: " + err.Error())
	}
	return value, nil
}
