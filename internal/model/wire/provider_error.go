// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nestor-dev/nestor/internal/shorten"
)

type providerError struct {
	message string
	codes   []string
	// status is the code, where it is a number.
	status int
	// retryAfter is the wait that the body requests, or 0.
	retryAfter time.Duration
}

func (s providerError) is(codes ...string) bool {
	return slices.ContainsFunc(s.codes, func(reported string) bool {
		return slices.ContainsFunc(codes, func(code string) bool { return strings.EqualFold(reported, code) })
	})
}

// parseErrorBody parses the forms of errors in use: {"error": {...}}, {"error": "text"}, the same in a list, the
// fields without the envelope, {"detail": ...}, and plain text.
func parseErrorBody(body []byte) providerError {
	body = bytes.TrimSpace(body)
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var envelope struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &envelope) == nil && len(envelope.Error) > 0 && envelope.Error[0] != 'n' {
		body = envelope.Error
	}
	var text string
	if json.Unmarshal(body, &text) == nil {
		return providerError{message: text}
	}
	var fields struct {
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		Code    json.RawMessage `json:"code"`
		Type    json.RawMessage `json:"type"`
		Status  json.RawMessage `json:"status"`
		Inner   struct {
			Code json.RawMessage `json:"code"`
		} `json:"innererror"`
		Details errorDetails `json:"details"`
	}
	if json.Unmarshal(body, &fields) != nil {
		return providerError{message: plainText(body)}
	}
	s := providerError{message: cmp.Or(jsonText(fields.Message), jsonText(fields.Detail))}
	for _, code := range []json.RawMessage{fields.Code, fields.Type, fields.Status, fields.Inner.Code} {
		s.codes = append(s.codes, jsonText(code))
		if n, err := strconv.Atoi(jsonText(code)); err == nil && n >= 400 && n <= 599 && s.status == 0 {
			s.status = n
		}
	}
	for _, detail := range fields.Details {
		s.codes = append(s.codes, detail.Reason)
		for _, violation := range detail.Violations {
			if strings.Contains(violation.QuotaID, "PerDay") {
				s.codes = append(s.codes, codeDailyQuota)
			}
		}
		if wait, err := time.ParseDuration(detail.RetryDelay); err == nil {
			s.retryAfter = boundedWait(wait.Seconds(), time.Second)
		}
	}
	return s
}

// codeDailyQuota stands for a quota that is used up for the rest of the day.
const codeDailyQuota = "daily_quota"

// errorDetails are the details of a google.rpc.Status.
type errorDetails []struct {
	Reason     string `json:"reason"`
	RetryDelay string `json:"retryDelay"`
	Violations []struct {
		QuotaID string `json:"quotaId"`
	} `json:"violations"`
}

// UnmarshalJSON ignores details in any other form.
func (d *errorDetails) UnmarshalJSON(data []byte) error {
	type plain errorDetails
	if json.Unmarshal(data, (*plain)(d)) != nil {
		*d = nil
	}
	return nil
}

// jsonText returns the text of a JSON string, or any other value as JSON.
func jsonText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// maxPlain bounds the part of a plain-text body that is shown. Model APIs report errors as JSON; other services, to
// which an address may lead by mistake or on purpose, should not be readable through their errors.
const maxPlain = 120

// plainText returns the first line of text. HTML pages of proxies and unknown JSON are dropped.
func plainText(body []byte) string {
	if bytes.HasPrefix(body, []byte("<")) || json.Valid(body) {
		return ""
	}
	line, _, _ := bytes.Cut(body, []byte("\n"))
	return shorten.UntrustedLine(string(line), maxPlain)
}

// maxMessage bounds the provider's message, in characters.
const maxMessage = 500

// Line returns a message of the provider as one line that can be shown.
func Line(s string) string { return shorten.UntrustedLine(s, maxMessage) }

// keyShaped matches texts that may be a key: providers repeat a wrong key in part, with stars in the middle.
var keyShaped = regexp.MustCompile(`(?i)\b(?:bearer\s+|sk-|AIza)[a-z0-9_\-.*]{6,}`)

const redacted = "[redacted]"

// redact removes the key and anything that looks like one.
func redact(s, key string) string {
	if key != "" {
		s = strings.ReplaceAll(s, key, redacted)
	}
	// A truncated text may end with a part of the key.
	for n := len(key) - 1; n >= 4; n-- {
		if rest, ok := strings.CutSuffix(s, key[:n]); ok {
			s = rest + redacted
			break
		}
	}
	return keyShaped.ReplaceAllStringFunc(s, func(match string) string {
		if strings.ContainsAny(match, "0123456789*") {
			return redacted
		}
		return match // words, such as "Bearer authentication"
	})
}
