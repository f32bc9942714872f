// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package toolserver

import (
	"context"
	"net/url"
	"strings"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/outbound/oauth"
)

// secretRefs returns the keys of Secrets that requests to a server need.
func secretRefs(spec v1beta1.ToolServerSpec) []v1beta1.SecretKeyRef {
	var refs []v1beta1.SecretKeyRef
	for _, header := range spec.HeadersFrom {
		refs = append(refs, header.SecretKeyRef)
	}
	switch {
	case spec.Auth == nil:
	case spec.Auth.OAuth != nil:
		refs = append(refs, spec.Auth.OAuth.ClientSecretKeyRef)
	case spec.Auth.UserOAuth != nil && spec.Auth.UserOAuth.ClientSecretKeyRef != nil:
		refs = append(refs, *spec.Auth.UserOAuth.ClientSecretKeyRef)
	}
	return refs
}

// oauthClient returns the client that obtains access tokens for a server, or nil. The Secret is in the namespace of the ToolServer.
func oauthClient(finder resolve.Finder, object *v1beta1.ToolServer) *oauth.Client {
	if object.Spec.Auth == nil || object.Spec.Auth.OAuth == nil {
		return nil
	}
	client := object.Spec.Auth.OAuth
	resource := withoutQuery(object.Spec.URL)
	if client.Resource != nil {
		resource = *client.Resource
	}
	return &oauth.Client{
		TokenURL: client.TokenURL, ID: client.ClientID, Scopes: client.Scopes, Audience: client.Audience, Resource: resource,
		Secret: func(ctx context.Context) (string, error) {
			value, err := finder.Secret(ctx, object.Namespace, client.ClientSecretKeyRef)
			return strings.TrimSpace(string(value)), err
		},
	}
}

// withoutQuery returns a URL without query and fragment, which may contain a key.
func withoutQuery(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	u.RawQuery, u.ForceQuery, u.Fragment = "", false, ""
	return u.String()
}
