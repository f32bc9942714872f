// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

func TestErrorsOfVendors(t *testing.T) {
	anthropic := func(kind, message string) string {
		return `{"type":"error","error":{"type":"` + kind + `","message":"` + message + `"},"request_id":"req_1"}`
	}
	google := func(status, message, details string) string {
		return `{"error":{"code":400,"message":"` + message + `","status":"` + status + `","details":[` + details + `]}}`
	}
	const retryInfo = `{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}`
	quota := func(id string) string {
		return `{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"m","quotaId":"` + id + `"}]},` + retryInfo
	}
	for name, tc := range map[string]struct {
		status int
		body   string
		kind   model.Kind
		wait   time.Duration
	}{
		"Anthropic: no credit":             {400, anthropic("invalid_request_error", "Your credit balance is too low to access the Anthropic API."), model.QuotaExhausted, 0},
		"Anthropic: billing":               {403, anthropic("billing_error", "Please check your billing."), model.QuotaExhausted, 0},
		"Anthropic: permission":            {403, anthropic("permission_error", "Your key may not use this."), model.Unauthorized, 0},
		"Anthropic: key":                   {401, anthropic("authentication_error", "invalid x-api-key"), model.Unauthorized, 0},
		"Anthropic: model":                 {404, anthropic("not_found_error", "model: claude-none"), model.UnknownModel, 0},
		"Anthropic: path":                  {404, anthropic("not_found_error", "Not Found"), model.BadRequest, 0},
		"Anthropic: prompt":                {400, anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), model.ContextTooLong, 0},
		"Anthropic: prompt and limit":      {400, anthropic("invalid_request_error", "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000"), model.ContextTooLong, 0},
		"Anthropic: size":                  {413, anthropic("request_too_large", "Request exceeds the maximum size"), model.ContextTooLong, 0},
		"Anthropic: rate":                  {429, anthropic("rate_limit_error", "This request would exceed the rate limit"), model.RateLimited, 0},
		"Anthropic: overload in a stream":  {0, anthropic("overloaded_error", "Overloaded"), model.Overloaded, 0},
		"Anthropic: failure in a stream":   {0, anthropic("api_error", "Internal server error"), model.Transient, 0},
		"Anthropic: bad request in stream": {0, anthropic("invalid_request_error", "messages: text"), model.BadRequest, 0},
		"Google: key":                      {400, google("INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}`), model.Unauthorized, 0},
		"Google: permission":               {403, google("PERMISSION_DENIED", "Method doesn't allow unregistered callers", ""), model.Unauthorized, 0},
		"Google: model":                    {404, google("NOT_FOUND", "models/none is not found for API version v1beta, or is not supported for generateContent.", ""), model.UnknownModel, 0},
		"Google: prompt":                   {400, google("INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", ""), model.ContextTooLong, 0},
		"Google: rate":                     {429, google("RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan and billing details.", quota("GenerateRequestsPerMinutePerProjectPerModel")), model.RateLimited, 34500 * time.Millisecond},
		"Google: quota of the day":         {429, google("RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan and billing details.", quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier")), model.QuotaExhausted, 0},
		"Google: no credit":                {429, google("RESOURCE_EXHAUSTED", "Your prepayment credits are depleted.", ""), model.QuotaExhausted, 0},
		"Google: overload":                 {503, google("UNAVAILABLE", "The model is overloaded.", ""), model.Overloaded, 0},
		"Google: deadline":                 {504, google("DEADLINE_EXCEEDED", "Deadline expired", ""), model.Transient, 0},
		"Google: odd details":              {400, `{"error":{"message":"no","details":"text"}}`, model.BadRequest, 0},
		"Google: an excessive wait":        {429, google("RESOURCE_EXHAUSTED", "Slow down", `{"retryDelay":"900000s"}`), model.RateLimited, time.Hour},
		"Google: a negative wait":          {429, google("RESOURCE_EXHAUSTED", "Slow down", `{"retryDelay":"-1s"}`), model.RateLimited, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := wire.Reported(tc.status, http.Header{}, []byte(tc.body))
			if got.Kind != tc.kind || got.RetryAfter != tc.wait {
				t.Errorf("got %s after %s (%s), want %s after %s", got.Kind, got.RetryAfter, got.Message, tc.kind, tc.wait)
			}
		})
	}
}
