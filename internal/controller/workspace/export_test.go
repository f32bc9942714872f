// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/internal/tool/mcp"
)

// InSession reports whether there is a session with a pod.
func (w *Workspaces) InSession(name types.NamespacedName) bool {
	_, ok := w.pods.pool.Lookup(mcp.Key{Namespace: name.Namespace, Server: name.Name})
	return ok
}
