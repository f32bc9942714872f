// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// probe sends requests until the server responds again. A resumed watch alone reports nothing until something
// changes.
func (w *watcher) probe(ctx context.Context) {
	backoff := wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Steps: 8, Cap: 5 * time.Second, Jitter: 0.2}
	err := wait.PollUntilContextCancel(ctx, backoff.Step(), false, func(ctx context.Context) (bool, error) {
		var chats v1beta1.AgentChatList
		return w.api.List(ctx, &chats, client.InNamespace(w.scope.Namespace), client.Limit(1)) == nil, nil
	})
	if err == nil {
		w.err.Store(nil)
		w.notifyChanged()
	}
}
