// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/nestor-dev/nestor/internal/intake"
)

// The headers that a signature covers beside the body, except GitHub's.
const (
	idHeader   = "Webhook-Id"
	timeHeader = "Webhook-Timestamp"
)

// maxSkew is the maximum age of a signature, and the maximum time that the clock of its sender may be ahead. Ids are
// remembered for longer.
const maxSkew = 5 * time.Minute

// received is an authenticated request.
type received struct {
	// delivery identifies the request: a repetition has the same one.
	delivery string
	body     any
	headers  map[string]string
	// ping is true for a request that only tests the connection.
	ping bool
}

type format struct {
	// gitHub is true if the sender is GitHub, which has its own signature and no tokens.
	gitHub bool
	// parse reads an authenticated request. Signed reports whether its signature was verified, and not a token.
	parse func(header http.Header, body []byte, signed bool) (*received, error)
}

// receive authenticates a request and reads it. Up to the last check, the work depends only on the request, and not on
// the trigger or whether it exists.
func (f format) receive(header http.Header, body []byte, secret string, now time.Time) (*received, error) {
	token := hasToken(header, secret) && !f.gitHub
	signed := intake.IsSigned(header)
	valid := signsBody(header, secret, body)
	if own := signsDelivery(header, secret, body, now); !f.gitHub {
		valid = own
	}
	if signed && !valid || !signed && !token {
		return nil, intake.ErrUnauthorized
	}
	parsed, err := f.parse(header, body, signed)
	if err != nil {
		return nil, err
	}
	if signed && !f.gitHub {
		parsed.delivery = header.Get(idHeader)
	}
	parsed.headers = lowerCaseHeaders(header)
	return parsed, nil
}

// hasToken reports whether a request has the secret as a bearer token, or as the password of basic authentication.
func hasToken(header http.Header, secret string) bool {
	scheme, token, _ := strings.Cut(header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		var ok bool
		if _, token, ok = (&http.Request{Header: header}).BasicAuth(); !ok {
			return false
		}
	}
	return equal(strings.TrimSpace(token), secret)
}

func signsBody(header http.Header, secret string, body []byte) bool {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return equal(strings.ToLower(header.Get(intake.GitHubSignature)), "sha256="+hex.EncodeToString(mac.Sum(nil)))
}

// signsDelivery reports whether a signature is that of the id, the time and the body of a request, and is not too old.
func signsDelivery(header http.Header, secret string, body []byte, now time.Time) bool {
	id, at := header.Get(idHeader), header.Get(timeHeader)
	want := signature(secret, id, at, body)
	valid := false
	for signature := range strings.FieldsSeq(header.Get(intake.OwnSignature)) {
		valid = equal(signature, want) || valid
	}
	seconds, err := strconv.ParseInt(at, 10, 64)
	return valid && id != "" && err == nil && now.Sub(time.Unix(seconds, 0)).Abs() <= maxSkew
}

// signature returns the signature of an id, a time and a body, as Standard Webhooks describes it.
func signature(secret, id, at string, body []byte) string {
	mac := hmac.New(sha256.New, signingKey(secret))
	mac.Write([]byte(id + "." + at + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// Sign sets the headers that prove the origin of a request that Nestor sends.
func Sign(header http.Header, secret, id string, body []byte, now time.Time) {
	at := strconv.FormatInt(now.Unix(), 10)
	header.Set(idHeader, id)
	header.Set(timeHeader, at)
	header.Set(intake.OwnSignature, signature(secret, id, at, body))
}

// signingKey returns the key of a secret. Senders with a library for Standard Webhooks have keys in base64, with a
// prefix.
func signingKey(secret string) []byte {
	if encoded, ok := strings.CutPrefix(secret, "whsec_"); ok {
		if key, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			return key
		}
	}
	return []byte(secret)
}

// equal compares secrets in a time that depends on neither of them.
func equal(a, b string) bool {
	one, other := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(one[:], other[:]) == 1
}

// secretWords occur in the names of headers that have credentials or signatures, such as X-Gitlab-Token. Expressions
// must not read these headers, because templates put what they return into prompts and the ledger.
var secretWords = []string{
	"auth", "cookie", "credential", "passw", "secret", "session", "signature", "token", "api-key", "apikey", "access-key",
}

// lowerCaseHeaders returns the headers for expressions, with names in lower case.
func lowerCaseHeaders(header http.Header) map[string]string {
	headers := make(map[string]string, len(header))
	for name, values := range header {
		name = strings.ToLower(name)
		if !slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(name, word) }) {
			headers[name] = strings.Join(values, ", ")
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
