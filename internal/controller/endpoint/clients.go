// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package endpoint makes clients of ModelProviders: for each API, with the provider's key, headers and certificates.
package endpoint

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/anthropic"
	"github.com/nestor-dev/nestor/internal/model/bedrock"
	"github.com/nestor-dev/nestor/internal/model/gemini"
	"github.com/nestor-dev/nestor/internal/model/openai"
	"github.com/nestor-dev/nestor/internal/model/responses"
	"github.com/nestor-dev/nestor/internal/model/wire"
	"github.com/nestor-dev/nestor/internal/outbound"
)

// Clients makes the clients of ModelProviders and keeps one for each.
type Clients struct {
	Finder resolve.Finder
	// Outbound restricts the addresses of providers.
	Outbound outbound.Options
	// Transport wraps the HTTP transport of the clients; optional.
	Transport func(http.RoundTripper) http.RoundTripper
	// KeyDir is the directory of keys in files; empty means that there are none.
	KeyDir string
	// Delayed retries runs that wait for a key in a file; optional.
	Delayed *cluster.Delayed

	mu   sync.Mutex
	kept map[string]keptClient
}

// keptClient is a client for one revision of a provider and its certificates.
type keptClient struct {
	revision  string
	client    model.Client
	transport *http.Transport
}

// Get returns the client of a provider. Its key and headers are read for each call; it is replaced when the provider or
// its certificates change.
func (c *Clients) Get(ctx context.Context, object *v1beta1.ModelProvider) (model.Client, error) {
	certificates, err := c.certificatesVersion(ctx, object)
	if err != nil {
		return nil, err
	}
	name, revision := object.Namespace+"/"+object.Name, fmt.Sprintf("%s/%d/%s", object.UID, object.Generation, certificates)
	if cached := c.cached(name, revision); cached != nil {
		return cached, nil
	}
	transport, err := c.transport(ctx, object)
	if err != nil {
		return nil, err
	}
	client, err := c.make(object, transport, time.Duration(object.Spec.RequestTimeoutSeconds)*time.Second)
	if err != nil {
		return nil, fmt.Errorf("the ModelProvider %s cannot be used: %w", name, err)
	}
	c.keep(name, keptClient{revision: revision, client: client, transport: transport})
	return client, nil
}

// cached returns the client of a revision, or nil.
func (c *Clients) cached(name, revision string) model.Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cached, ok := c.kept[name]; ok && cached.revision == revision {
		return cached.client
	}
	return nil
}

func (c *Clients) httpClient(transport *http.Transport) *http.Client {
	made := wire.NewHTTPClient(transport)
	if c.Transport != nil {
		made.Transport = c.Transport(made.Transport)
	}
	return made
}

func (c *Clients) keep(name string, made keptClient) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before, ok := c.kept[name]; ok {
		before.transport.CloseIdleConnections() // calls in flight keep theirs
	}
	if c.kept == nil {
		c.kept = map[string]keptClient{}
	}
	c.kept[name] = made
}

// Probe returns a client of its own for a check of a provider, with another timeout. The caller calls release after its
// use.
func (c *Clients) Probe(ctx context.Context, object *v1beta1.ModelProvider, timeout time.Duration) (client model.Client, release func(), err error) {
	transport, err := c.transport(ctx, object)
	if err != nil {
		return nil, nil, err
	}
	client, err = c.make(object, transport, timeout)
	return client, transport.CloseIdleConnections, err
}

var makers = map[v1beta1.ModelAPI]func(wire.Endpoint) (model.Client, error){
	v1beta1.APIOpenAI:          maker(openai.NewClient),
	v1beta1.APIOpenAIResponses: maker(responses.NewClient),
	v1beta1.APIAnthropic:       maker(anthropic.NewClient),
	v1beta1.APIGemini:          maker(gemini.NewClient),
	v1beta1.APIBedrock:         maker(bedrock.NewClient),
	v1beta1.APIVertex:          maker(gemini.NewVertexClient),
}

// NewClient returns a client for the API, which is OpenAI's if it is empty.
func NewClient(api v1beta1.ModelAPI, endpoint wire.Endpoint) (model.Client, error) {
	newClient, ok := makers[cmp.Or(api, v1beta1.APIOpenAI)]
	if !ok {
		return nil, fmt.Errorf("this operator does not support the API %q", api)
	}
	return newClient(endpoint)
}

func maker[C model.Client](newClient func(wire.Endpoint) (C, error)) func(wire.Endpoint) (model.Client, error) {
	return func(e wire.Endpoint) (model.Client, error) { return newClient(e) }
}

func (c *Clients) make(object *v1beta1.ModelProvider, transport *http.Transport, timeout time.Duration) (model.Client, error) {
	object = object.DeepCopy() // a write of its status overwrites it, while a probe may be reading the key
	endpoint := wire.Endpoint{BaseURL: object.Spec.BaseURL, Timeout: timeout, HTTPClient: c.httpClient(transport)}
	if HasKey(object) {
		endpoint.Key = func(ctx context.Context) (string, error) { return c.Key(ctx, object) }
	}
	if err := c.identify(object, &endpoint); err != nil {
		return nil, err
	}
	if len(object.Spec.HeadersFrom) > 0 {
		endpoint.Header = c.Finder.Headers(object.Namespace, object.Spec.HeadersFrom)
	}
	return NewClient(object.Spec.API, endpoint)
}

// transport returns a transport that trusts the provider's certificates.
func (c *Clients) transport(ctx context.Context, object *v1beta1.ModelProvider) (*http.Transport, error) {
	transport := outbound.New(c.Outbound)
	if object.Spec.CABundle == nil {
		return transport, nil
	}
	bundle, err := c.caBundle(ctx, object)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(bundle) {
		return nil, &resolve.Missing{Reason: v1beta1.ReasonInvalidSpec, Message: "spec.caBundle contains no certificate in PEM form (-----BEGIN CERTIFICATE-----)."}
	}
	transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return transport, nil
}

func (c *Clients) caBundle(ctx context.Context, object *v1beta1.ModelProvider) ([]byte, error) {
	if ref := object.Spec.CABundle.SecretKeyRef; ref != nil {
		return c.Finder.Secret(ctx, object.Namespace, *ref)
	}
	text, err := c.Finder.ConfigMap(ctx, object.Namespace, *object.Spec.CABundle.ConfigMapKeyRef)
	return []byte(text), err
}

// certificatesVersion returns text that changes with the provider's certificates.
func (c *Clients) certificatesVersion(ctx context.Context, object *v1beta1.ModelProvider) (string, error) {
	switch bundle := object.Spec.CABundle; {
	case bundle == nil:
		return "", nil
	case bundle.SecretKeyRef != nil:
		return c.Finder.Version(ctx, "Secret", object.Namespace, bundle.SecretKeyRef.Name)
	default:
		return c.Finder.Version(ctx, "ConfigMap", object.Namespace, bundle.ConfigMapKeyRef.Name)
	}
}

// Check returns a *resolve.Missing if something that the provider refers to is missing.
func (c *Clients) Check(ctx context.Context, object *v1beta1.ModelProvider) error {
	_, err := c.Fingerprint(ctx, object)
	var missing *resolve.Missing
	if c.Delayed != nil && errors.As(err, &missing) && missing.Reason == v1beta1.ReasonAPIKeyFileNotFound {
		c.Delayed.Add(c.Finder.ReferringNamespace(object.Namespace))
	}
	return err
}

// Fingerprint returns a hash that changes with the provider's key, headers and certificates, without revealing them.
// The error for something that is missing is a *resolve.Missing.
func (c *Clients) Fingerprint(ctx context.Context, object *v1beta1.ModelProvider) (string, error) {
	if err := c.checkIdentity(object); err != nil {
		return "", err
	}
	hash := sha256.New()
	key, err := c.Key(ctx, object)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(hash, "%q", key)
	for _, ref := range resolve.IdentitySecrets(&object.Spec) {
		value, err := c.Finder.Secret(ctx, object.Namespace, ref)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%q", value)
	}
	if object.Spec.AWS != nil && object.Spec.AWS.WebIdentity != nil {
		if _, err := readKeyFile(c.KeyDir, object.Namespace, object.Spec.AWS.WebIdentity.TokenFile); err != nil {
			return "", err
		}
	}
	header, err := c.Finder.Headers(object.Namespace, object.Spec.HeadersFrom)(ctx)
	if err != nil {
		return "", err
	}
	for _, from := range object.Spec.HeadersFrom {
		fmt.Fprintf(hash, "%q", header.Get(from.Name))
	}
	if object.Spec.CABundle != nil {
		bundle, err := c.caBundle(ctx, object)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%q", bundle)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
