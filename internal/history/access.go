// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
)

// authenticationConfig is the ConfigMap in which the API server publishes the aggregator's client CA and headers.
const authenticationConfig = "extension-apiserver-authentication"

// How long reviews are cached. Changes of permissions should take effect soon.
const (
	allowCacheTTL = 5 * time.Second
	denyCacheTTL  = 2 * time.Second
	reviewTimeout = 10 * time.Second
	tokenCacheTTL = 10 * time.Second
)

func backoff() *wait.Backoff {
	return &wait.Backoff{Duration: 200 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 5}
}

// frontProxy has the aggregator's current client CA and headers; clusters rotate the certificates.
type frontProxy struct {
	*dynamiccertificates.ConfigMapCAController
	*headerrequest.RequestHeaderAuthRequestController
}

func newFrontProxy(ctx context.Context, client kubernetes.Interface) (*frontProxy, error) {
	authorities, err := dynamiccertificates.NewDynamicCAFromConfigMapController(
		"aggregator", metav1.NamespaceSystem, authenticationConfig, "requestheader-client-ca-file", client)
	if err != nil {
		return nil, fmt.Errorf("watch the aggregator's certificate authority: %w", err)
	}
	p := &frontProxy{authorities, headerrequest.NewRequestHeaderAuthRequestController(
		authenticationConfig, metav1.NamespaceSystem, client, "requestheader-username-headers", "requestheader-uid-headers",
		"requestheader-group-headers", "requestheader-extra-headers-prefix", "requestheader-allowed-names")}
	if err := p.RunOnce(ctx); err != nil {
		return nil, fmt.Errorf("read the aggregator's authentication settings from the ConfigMap %s/%s (the API server needs --requestheader-client-ca-file, and this "+
			"program the Role extension-apiserver-authentication-reader): %w", metav1.NamespaceSystem, authenticationConfig, err)
	}
	return p, nil
}

func (p *frontProxy) RunOnce(ctx context.Context) error {
	return errors.Join(p.ConfigMapCAController.RunOnce(ctx), p.RequestHeaderAuthRequestController.RunOnce(ctx))
}

func (p *frontProxy) Run(ctx context.Context, workers int) {
	go p.ConfigMapCAController.Run(ctx, workers)
	p.RequestHeaderAuthRequestController.Run(ctx, workers)
}

// delegateAuth configures delegated authentication and authorization.
func delegateAuth(ctx context.Context, config *genericapiserver.Config, client kubernetes.Interface) error {
	proxy, err := newFrontProxy(ctx, client)
	if err != nil {
		return err
	}
	headers := &authenticatorfactory.RequestHeaderConfig{
		CAContentProvider:   proxy,
		UsernameHeaders:     headerrequest.StringSliceProviderFunc(proxy.UsernameHeaders),
		UIDHeaders:          headerrequest.StringSliceProviderFunc(proxy.UIDHeaders),
		GroupHeaders:        headerrequest.StringSliceProviderFunc(proxy.GroupHeaders),
		ExtraHeaderPrefixes: headerrequest.StringSliceProviderFunc(proxy.ExtraHeaderPrefixes),
		AllowedClientNames:  headerrequest.StringSliceProviderFunc(proxy.AllowedClientNames),
	}
	authenticator, _, err := authenticatorfactory.DelegatingAuthenticatorConfig{
		Anonymous: &apiserver.AnonymousAuthConfig{Enabled: false}, TokenAccessReviewClient: client.AuthenticationV1(),
		TokenAccessReviewTimeout: reviewTimeout, CacheTTL: tokenCacheTTL, WebhookRetryBackoff: backoff(), RequestHeaderConfig: headers,
	}.New()
	if err != nil {
		return fmt.Errorf("set up authentication: %w", err)
	}
	authorizer, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: client.AuthorizationV1(), AllowCacheTTL: allowCacheTTL, DenyCacheTTL: denyCacheTTL, WebhookRetryBackoff: backoff(),
	}.New()
	if err != nil {
		return fmt.Errorf("set up authorization: %w", err)
	}
	config.Authentication.Authenticator, config.Authentication.RequestHeaderConfig = authenticator, headers
	config.Authorization.Authorizer = authorizer
	return config.Authentication.ApplyClientCert(proxy, config.SecureServing)
}
