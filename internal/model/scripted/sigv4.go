// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

const (
	sigAlgorithm = "AWS4-HMAC-SHA256 "
	sigTime      = "20060102T150405Z"
	// maxSkew is how far the time of a signature may be from that of the server.
	maxSkew = 5 * time.Minute
)

// signed has the parameters of a request's signature.
type signed struct {
	accessKeyID, date, region, service string
	headers                            []string
}

// parseSigned returns the parts of an Authorization header of AWS Signature Version 4, if the request has one.
func parseSigned(r *http.Request) (signed, bool) {
	fields, ok := strings.CutPrefix(r.Header.Get("Authorization"), sigAlgorithm)
	if !ok {
		return signed{}, false
	}
	var s signed
	for field := range strings.SplitSeq(fields, ", ") {
		name, value, _ := strings.Cut(field, "=")
		switch name {
		case "Credential":
			if scope := strings.Split(value, "/"); len(scope) == 5 {
				s.accessKeyID, s.date, s.region, s.service = scope[0], scope[1], scope[2], scope[3]
			}
		case "SignedHeaders":
			s.headers = strings.Split(value, ";")
		}
	}
	return s, true
}

func refusedSignature(kind, message string) *apiError {
	return &apiError{status: http.StatusForbidden, kind: kind, code: codeWrongKey, message: message}
}

// verify signs a request again, with the headers that it lists, and compares the signatures.
func (s signed) verify(r *http.Request, body []byte, secret string) error {
	at, err := time.Parse(sigTime, r.Header.Get("X-Amz-Date"))
	switch {
	case err != nil || s.accessKeyID == "":
		return refusedSignature("IncompleteSignatureException", "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header, and 'Credential', 'Signature' and 'SignedHeaders' parameters.")
	case time.Since(at).Abs() > maxSkew:
		return refusedSignature("InvalidSignatureException", "Signature expired: "+r.Header.Get("X-Amz-Date"))
	case s.service != "bedrock":
		return refusedSignature("InvalidSignatureException", "Credential should be scoped to correct service: 'bedrock'.")
	}
	again, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+r.Host+r.URL.RequestURI(), http.NoBody)
	if err != nil {
		return refusedSignature("InvalidSignatureException", err.Error())
	}
	again.Header = http.Header{}
	again.ContentLength = 0
	signedHost := false
	for _, name := range s.headers {
		switch name {
		case "host":
			signedHost = true
		case "content-length":
			again.ContentLength = int64(len(body))
		default:
			again.Header[http.CanonicalHeaderKey(name)] = r.Header.Values(name)
		}
	}
	if !signedHost {
		return refusedSignature("InvalidSignatureException", "'Host' must be a 'SignedHeader' in the AWS Authorization.")
	}
	sum := sha256.Sum256(body)
	err = v4.NewSigner().SignHTTP(r.Context(), aws.Credentials{AccessKeyID: s.accessKeyID, SecretAccessKey: secret},
		again, hex.EncodeToString(sum[:]), s.service, s.region, at)
	if err != nil || again.Header.Get("Authorization") != r.Header.Get("Authorization") {
		return refusedSignature("InvalidSignatureException", "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. The canonical request has the token "+r.Header.Get("X-Amz-Security-Token"))
	}
	return nil
}
