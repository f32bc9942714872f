// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"time"

	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	api "github.com/nestor-dev/nestor/api/history/v1beta1"
)

// reviewer periodically checks that followers are still authorized, so that revoked permissions also end existing
// streams.
type reviewer struct {
	authorizer authorizer.Authorizer
	interval   time.Duration
}

// stillAllowed reports whether the user of a request may read a log. An API server that does not respond revokes nothing.
func (r reviewer) stillAllowed(ctx context.Context, namespace, name string) bool {
	user, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return false
	}
	decision, _, err := r.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: user, Verb: "get", Namespace: namespace, APIGroup: api.GroupVersion.Group, APIVersion: api.GroupVersion.Version,
		Resource: "transcripts", Subresource: "log", Name: name, ResourceRequest: true,
	})
	return err != nil || decision == authorizer.DecisionAllow
}

func userName(ctx context.Context) string {
	user, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return ""
	}
	return user.GetName()
}
