// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/scripted"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// echoes are scripts of providers that repeat a secret in an error.
func echoes(f form, secret string) map[string]string {
	return map[string]string{
		"echoed whole":           Reply("error: {status: 401, message: 'Incorrect API key provided: " + secret + ".'}"),
		"echoed as header":       Reply("raw: {status: 400, body: 'bad header Authorization: Bearer " + secret + "'}"),
		"echoed at the cut":      Reply("error: {status: 400, message: '" + strings.Repeat("x", 990) + secret + "'}"),
		"echoed in broken JSON":  RawReply("text/event-stream", f.events(`{"`+secret)),
		"echoed in a page":       RawReply("text/html", "<p>"+secret+"</p>"),
		"cut through in a page":  RawReply("text/html", strings.Repeat("x", 188)+secret),
		"cut through in JSON":    RawReply("text/event-stream", f.events(`{"`+strings.Repeat("x", 186)+secret)),
		"echoed inside a stream": RawReply("text/event-stream", f.failed("no: "+secret)),
	}
}

// checkNotIn checks that no part of a secret is in an error, in any of its forms.
func checkNotIn(t *testing.T, err error, parts ...string) {
	t.Helper()
	got := Failure(t, err)
	asJSON, marshalErr := json.Marshal(got)
	if marshalErr != nil {
		t.Fatal(marshalErr)
	}
	for _, text := range []string{err.Error(), fmt.Sprintf("%+v %#v", got, got), string(asJSON)} {
		for _, part := range parts {
			if strings.Contains(text, part) {
				t.Errorf("a part of the secret is in %q", text)
			}
		}
	}
}

func testKeyInErrors(t *testing.T, s Subject) {
	scripts := echoes(newForm(s.API), testKey)
	scripts["echoed in part"] = Reply("error: {status: 401, message: 'Incorrect API key provided: sk-test-****cdef.'}")
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			p := s.play(t, script, scripted.Options{})
			_, err := p.client(t, wire.Endpoint{}).Complete(t.Context(), Question(), nil)
			checkNotIn(t, err, "01234", "cdef", "sk-test")
			if strings.Contains(p.requests()[0].url, testKey) {
				t.Error("the key is in the URL")
			}
		})
	}
}

func testHeadersInErrors(t *testing.T, s Subject) {
	const secret = "tenant-secret-98765"
	for name, script := range echoes(newForm(s.API), secret) {
		t.Run(name, func(t *testing.T) {
			p := s.play(t, script, scripted.Options{})
			client := p.client(t, wire.Endpoint{Header: func(context.Context) (http.Header, error) {
				return http.Header{"X-Tenant": {secret}}, nil
			}})
			_, err := client.Complete(t.Context(), Question(), nil)
			checkNotIn(t, err, "tenant-secret", "98765")
			if got := p.requests()[0].header.Get("X-Tenant"); got != secret {
				t.Errorf("the header is %q", got)
			}
		})
	}
}

func testKeyPerCall(t *testing.T, s Subject) {
	p := s.play(t, Reply("text: Hello."), scripted.Options{APIKey: "second-key"})
	keys := []string{"first-key", "second-key", "first-key"}
	client := p.client(t, wire.Endpoint{Key: func(context.Context) (string, error) {
		key := keys[0]
		keys = keys[1:]
		return key, nil
	}})
	_, err := client.Complete(t.Context(), Question(), nil)
	if got := Failure(t, err); got.Kind != model.Unauthorized || strings.Contains(got.Message, "first-key") {
		t.Fatalf("with the old key: %v, want Unauthorized without the key", err)
	}
	if _, err := client.Complete(t.Context(), Question(), nil); err != nil {
		t.Errorf("with the new key: %v", err)
	}
	if _, err := client.Models(t.Context()); Failure(t, err).Kind != model.Unauthorized {
		t.Errorf("models with a wrong key: %v, want Unauthorized", err)
	}
}

func testUnreadableKey(t *testing.T, s Subject) {
	p := s.play(t, Reply("text: Hello."), scripted.Options{})
	client := p.client(t, wire.Endpoint{Key: func(context.Context) (string, error) { return "", errors.New(`secret "models" not found`) }})
	_, err := client.Complete(t.Context(), Question(), nil)
	if got := Failure(t, err); got.Kind != model.NoKey || !strings.Contains(got.Message, `secret "models" not found`) {
		t.Errorf("got %v, want NoKey with the reason", err)
	}
	if _, err := client.Models(t.Context()); Failure(t, err).Kind != model.NoKey {
		t.Errorf("models: got %v, want NoKey", err)
	}
	if n := len(p.requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// testEnvironment sets what the SDKs read from the environment. Nothing of it may reach a request.
func testEnvironment(t *testing.T, s Subject) {
	const hostile = "hostile-environment"
	elsewhere := s.serve(t, http.NotFoundHandler())
	for _, name := range []string{
		"OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_WEBHOOK_SECRET", "OPENAI_CUSTOM_HEADERS",
		"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_PROFILE", "ANTHROPIC_WORKSPACE_ID",
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "AWS_PROFILE", "AWS_REGION",
		"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_REGION", "GOOGLE_APPLICATION_CREDENTIALS",
	} {
		t.Setenv(name, hostile)
	}
	t.Setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
	for _, name := range []string{"OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL", "GEMINI_BASE_URL", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"} {
		t.Setenv(name, elsewhere.address)
	}
	p := s.play(t, Reply("text: Hello."), scripted.Options{})
	client := p.client(t, wire.Endpoint{Key: func(context.Context) (string, error) { return "", nil }})
	if _, err := client.Complete(t.Context(), Question(), nil); err != nil {
		t.Errorf("complete: %v", err)
	}
	if _, err := client.Models(t.Context()); err != nil {
		t.Errorf("models: %v", err)
	}
	if n := len(elsewhere.requests()); n != 0 || len(p.requests()) != 2 {
		t.Errorf("%d requests to the environment's address, %d to the endpoint's", n, len(p.requests()))
	}
	for _, r := range p.requests() {
		if text := fmt.Sprint(r.url, r.header, string(r.body)); strings.Contains(text, hostile) {
			t.Errorf("the environment is in a request: %s", text)
		}
		for _, name := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key"} {
			if r.header.Get(name) != "" {
				t.Errorf("%s was sent although the endpoint has no key", name)
			}
		}
	}
}

func testInvalidBaseURL(t *testing.T, s Subject) {
	for _, address := range []string{"api.example.com", "ftp://api.example.com", "http://", "://"} {
		if _, err := s.NewClient(wire.Endpoint{BaseURL: address}); err == nil {
			t.Errorf("%q was accepted", address)
		}
	}
}

func testModels(t *testing.T, s Subject) {
	p := s.play(t, "models: [small, large]\n"+Reply("text: Hello."), scripted.Options{})
	client := p.client(t, wire.Endpoint{})
	names, err := client.Models(t.Context())
	if err != nil || strings.Join(names, " ") != "small large" {
		t.Errorf("got %v, %v", names, err)
	}
	if "http://"+client.Host() != p.address {
		t.Errorf("host is %q of %s", client.Host(), p.address)
	}
	_, err = client.Complete(t.Context(), Question(), nil)
	if got := Failure(t, err); got.Kind != model.UnknownModel || got.StatusCode != http.StatusNotFound {
		t.Errorf("got %v, want UnknownModel", err)
	}
}
