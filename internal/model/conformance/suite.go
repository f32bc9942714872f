// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/scripted"
	"github.com/nestor-dev/nestor/internal/model/wire"
	"github.com/nestor-dev/nestor/internal/outbound"
)

// Subject is a client under test.
type Subject struct {
	API       model.API
	NewClient func(wire.Endpoint) (model.Client, error)
	// BaseURL returns the base URL of the API on a server with an address such as http://127.0.0.1:8089.
	BaseURL func(address string) string
}

// Run runs the suite.
func Run(t *testing.T, subject Subject) {
	for name, test := range map[string]func(*testing.T, Subject){
		"Replies":                    testReplies,
		"Usage":                      testUsage,
		"DeltasAddUpToTheReply":      testDeltas,
		"Failures":                   testFailures,
		"RetryAfterAsDate":           testRetryAfterAsDate,
		"LongMessagesAreTruncated":   testLongMessages,
		"ErrorInsideTheStream":       testErrorInStream,
		"StreamThatEndsEarly":        testStreamThatEndsEarly,
		"ClosedConnection":           testClosedConnection,
		"Cancel":                     testCancel,
		"Timeout":                    testTimeout,
		"UnreachableProvider":        testUnreachable,
		"KeyNeverReachesTheError":    testKeyInErrors,
		"HeadersNeverReachTheError":  testHeadersInErrors,
		"KeyIsReadForEachCall":       testKeyPerCall,
		"UnreadableKey":              testUnreadableKey,
		"EnvironmentIsNotRead":       testEnvironment,
		"InvalidBaseURL":             testInvalidBaseURL,
		"Models":                     testModels,
		"EndlessReplies":             testEndlessReplies,
		"ListOfModelsIsBounded":      testModelsBounded,
		"RedirectsAreNotFollowed":    testRedirects,
		"ForbiddenAddresses":         testForbiddenAddresses,
		"ResponsesOfOtherServices":   testOtherServices,
		"FullRequestIsAccepted":      testFullRequest,
		"StoredRequestIsTheSameCall": testStoredRequest,
		"ReplyIsValidHistory":        testRepliesSentBack,
		"ReasoningIsSentBack":        testReasoningSentBack,
		"ReasoningOfOthersIsLeftOut": testForeignReasoning,
		"PrefixIsStable":             testPrefixIsStable,
		"Images":                     testImages,
		"InvalidToolSchema":          testInvalidSchema,
		"DigestOfTheBody":            testBodyDigest,
	} {
		t.Run(name, func(t *testing.T) { test(t, subject) })
	}
}

const testKey = "sk-test-0123456789abcdef"

// provider is a server of the subject's API that records what it receives.
type provider struct {
	subject Subject
	address string

	mu       sync.Mutex
	received []received
}

// received is a request to a provider.
type received struct {
	method string
	url    string
	header http.Header
	body   []byte
}

// NewServer returns a scripted model.
func NewServer(t testing.TB, script string, options scripted.Options) *scripted.Server {
	t.Helper()
	parsed, err := scripted.Parse("test.yaml", []byte(script))
	if err != nil {
		t.Fatalf("parse script: %v\n%s", err, script)
	}
	options.Scripts = []*scripted.Script{parsed}
	return scripted.NewServer(options)
}

// Play returns a strict scripted model and a client of it.
func (s Subject) Play(t testing.TB, script string) (model.Client, *scripted.Server) {
	t.Helper()
	server := NewServer(t, script, scripted.Options{})
	return s.Connect(t, server), server
}

// Connect returns a client of a provider with the handler.
func (s Subject) Connect(t testing.TB, handler http.Handler) model.Client {
	t.Helper()
	return s.serve(t, handler).client(t, wire.Endpoint{})
}

func (s Subject) play(t testing.TB, script string, options scripted.Options) *provider {
	t.Helper()
	return s.serve(t, NewServer(t, script, options))
}

func (s Subject) serve(t testing.TB, handler http.Handler) *provider {
	t.Helper()
	p := &provider{subject: s}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has disconnected
		}
		p.mu.Lock()
		p.received = append(p.received, received{method: r.Method, url: r.URL.String(), header: r.Header.Clone(), body: body})
		p.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		handler.ServeHTTP(w, r)
	}))
	p.address = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return p
}

func (p *provider) requests() []received {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]received(nil), p.received...)
}

// client returns a client of the provider. Missing fields of the endpoint are set.
func (p *provider) client(t testing.TB, endpoint wire.Endpoint) model.Client {
	t.Helper()
	if endpoint.BaseURL == "" {
		endpoint.BaseURL = p.subject.BaseURL(p.address)
	}
	if endpoint.Timeout == 0 {
		endpoint.Timeout = 2 * time.Minute // tests of the limit set it; in the others a busy machine must not reach it
	}
	if endpoint.Key == nil {
		endpoint.Key = func(context.Context) (string, error) { return testKey, nil }
	}
	if endpoint.HTTPClient == nil {
		endpoint.HTTPClient = wire.NewHTTPClient(outbound.New(outbound.Options{AllowLoopback: true}))
		t.Cleanup(endpoint.HTTPClient.CloseIdleConnections)
	}
	client, err := p.subject.NewClient(endpoint)
	if err != nil {
		t.Fatalf("make client: %v", err)
	}
	return client
}

// complete calls a provider that plays a script.
func (s Subject) complete(t testing.TB, script string) (model.Reply, error) {
	t.Helper()
	return s.play(t, script, scripted.Options{}).client(t, wire.Endpoint{}).Complete(t.Context(), Question(), nil)
}

// Question returns a small request.
func Question() model.Request {
	return model.Request{Model: "scripted", Messages: []model.Message{
		{Role: model.RoleSystem, Text: "You are helpful."},
		{Role: model.RoleUser, Text: "How many files are there?"},
	}}
}

// Reply returns a script with one reply, whose fields are given as YAML.
func Reply(body string) string {
	return "rules:\n- reply:\n" + indent(strings.Trim(body, "\n"), "    ")
}

// RawReply returns a script that sends a body verbatim.
func RawReply(contentType, body string) string {
	if strings.Contains(body, "\x00") { // a stream that is not text
		return Reply("raw: {headers: {Content-Type: " + contentType + "}, body: !!binary " + base64.StdEncoding.EncodeToString([]byte(body)) + "}")
	}
	return "rules:\n- reply:\n    raw:\n      headers: {Content-Type: " + contentType + "}\n      body: |\n" + indent(strings.Trim(body, "\n")+"\n", "        ")
}

func indent(s, by string) string {
	return by + strings.ReplaceAll(s, "\n", "\n"+by) + "\n"
}

// Failure returns the error of a call as what it must be.
func Failure(t testing.TB, err error) *model.Error {
	t.Helper()
	var failed *model.Error
	if !errors.As(err, &failed) {
		t.Fatalf("error is %v, want a *model.Error", err)
	}
	return failed
}

// waitFor polls until condition reports true.
func waitFor(t testing.TB, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(2 * time.Minute)
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("the condition did not come true within two minutes")
		}
	}
}
