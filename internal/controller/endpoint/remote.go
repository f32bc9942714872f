// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"context"
	"fmt"
	"strings"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/a2a"
	"github.com/nestor-dev/nestor/internal/model/wire"
	"github.com/nestor-dev/nestor/internal/outbound"
	"github.com/nestor-dev/nestor/internal/role"
)

// remotePrefix begins the name of the provider of a remote role. No ModelProvider can have it in its name.
const remotePrefix = "a2a:"

// RemoteProvider returns the name under which the calls of a remote role are scheduled and recorded:
// NAMESPACE/a2a:ROLE.
func RemoteProvider(r role.Role) string { return r.Namespace + "/" + remotePrefix + r.Name }

// RemoteRole returns the namespace and name of the AgentRole of a provider's name, if it is that of a remote role.
func RemoteRole(provider string) (namespace, name string, ok bool) {
	namespace, name, _ = strings.Cut(provider, "/")
	name, ok = strings.CutPrefix(name, remotePrefix)
	return namespace, name, ok
}

// CheckRemote returns a *resolve.Missing if a Secret that a remote role refers to is missing.
func (c *Clients) CheckRemote(ctx context.Context, r role.Role) error {
	_, err := c.Finder.Headers(r.Namespace, r.Remote.A2A.HeadersFrom)(ctx)
	return err
}

// Remote returns the client of a remote role. Its headers are read for each call; it is replaced when the role changes,
// or has another revision.
func (c *Clients) Remote(object *v1beta1.AgentRole, roleRevision string) (model.Client, error) {
	name, revision := object.Namespace+"/"+remotePrefix+object.Name, fmt.Sprintf("%s/%d/%s", object.UID, object.Generation, roleRevision)
	if cached := c.cached(name, revision); cached != nil {
		return cached, nil
	}
	agent := object.Spec.Remote.A2A
	transport := outbound.New(c.Outbound)
	client, err := a2a.NewClient(wire.Endpoint{
		BaseURL: agent.URL, Timeout: a2a.MaxDuration, HTTPClient: c.httpClient(transport),
		Header: c.Finder.Headers(object.Namespace, agent.HeadersFrom),
	})
	if err != nil {
		return nil, fmt.Errorf("the remote agent of the AgentRole %s/%s cannot be used: %w", object.Namespace, object.Name, err)
	}
	c.keep(name, keptClient{revision: revision, client: client, transport: transport})
	return client, nil
}
