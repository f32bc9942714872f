// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/internal/client/follow"
	"github.com/nestor-dev/nestor/internal/client/history"
	"github.com/nestor-dev/nestor/internal/client/kube"
	"github.com/nestor-dev/nestor/internal/client/roles"
	"github.com/nestor-dev/nestor/internal/role"
)

const (
	// reviewLifetime is how long the user name of a token is cached. The API server checks the token itself at every use.
	reviewLifetime = 30 * time.Second
	// maxReviews bounds the cached user names.
	maxReviews    = 10_000
	reviewTimeout = 10 * time.Second
)

// Connector connects callers to the API server.
type Connector struct {
	config            *rest.Config // without credentials
	scheme            *runtime.Scheme
	mapper            meta.RESTMapper
	operatorNamespace string
	now               func() time.Time

	mu      sync.Mutex
	reviews map[[sha256.Size]byte]review
}

type review struct {
	user    string
	expires time.Time
}

// NewConnector returns a connector. Only the address of the API server is taken from config, no credentials.
func NewConnector(config *rest.Config, operatorNamespace string) *Connector {
	config = rest.AnonymousClientConfig(config)
	config.QPS = -1 // the API server limits its clients
	config.UserAgent = "nestor-gateway"
	scheme := kube.NewScheme()
	return &Connector{
		config: config, scheme: scheme, mapper: kube.NewMapper(scheme), operatorNamespace: operatorNamespace, now: time.Now,
		reviews: map[[sha256.Size]byte]review{},
	}
}

// Caller acts with the identity of a request's caller.
type Caller struct {
	// User is the caller's user name.
	User string
	// API is a client with the caller's token.
	API client.WithWatch

	config    *rest.Config
	connector *Connector
}

// Connect returns the caller with a token. The error of a token that the API server rejects is Unauthorized.
func (c *Connector) Connect(ctx context.Context, token string) (*Caller, error) {
	config := rest.CopyConfig(c.config)
	config.BearerToken = token
	api, err := client.NewWithWatch(config, client.Options{Scheme: c.scheme, Mapper: c.mapper})
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	caller := &Caller{API: checkedClient{api}, config: config, connector: c}
	caller.User, err = c.userOf(ctx, token, api)
	return caller, err
}

func (c *Connector) userOf(ctx context.Context, token string, api client.Client) (string, error) {
	key := sha256.Sum256([]byte(token))
	c.mu.Lock()
	cached, ok := c.reviews[key]
	c.mu.Unlock()
	if ok && c.now().Before(cached.expires) {
		return cached.user, nil
	}
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	var result authenticationv1.SelfSubjectReview
	if err := api.Create(ctx, &result); err != nil {
		return "", err
	}
	user := result.Status.UserInfo.Username
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.reviews) >= maxReviews {
		clear(c.reviews)
	}
	c.reviews[key] = review{user, c.now().Add(reviewLifetime)}
	return user, nil
}

// StillValid reports whether the API server still accepts the caller's token for the same user. The result is cached
// for reviewLifetime.
func (c *Caller) StillValid(ctx context.Context) bool {
	user, err := c.connector.userOf(ctx, c.config.BearerToken, c.API)
	if err != nil {
		return !apierrors.IsUnauthorized(err)
	}
	return user == c.User
}

// Roles returns the roles that runs in a namespace can have, as far as the caller may read them.
func (c *Caller) Roles(ctx context.Context, namespace string) ([]roles.Entry, error) {
	return roles.List(ctx, c.API, namespace, c.connector.operatorNamespace)
}

func (c *Caller) Role(ctx context.Context, namespace, name string) (role.Role, error) {
	return roles.Get(ctx, c.API, namespace, c.connector.operatorNamespace, name)
}

func (c *Caller) history(namespace string) *history.Reader {
	return history.NewReader(c.config, c.API, namespace)
}

func (c *Caller) cluster() follow.Cluster {
	return follow.Cluster{Config: c.config, Scheme: c.connector.scheme, Mapper: c.connector.mapper}
}
