// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package pod builds the Kubernetes objects of a workspace: a Pod, a Service, a Secret with the token and a
// NetworkPolicy.
//
// All functions are pure: they map a [Spec] to an object, without a client or a clock. A controller creates missing
// objects under names that depend only on the owner, and garbage collection deletes them with the owner.
//
// The pod has few permissions: no root, no capabilities, no service account token, a read-only image, limits on CPU,
// memory and the size of its directories. The network policy admits only the operator and allows only the egress in
// the spec; names that the source needs are in the pod's host aliases. The token is an environment variable rather
// than a mounted file, because the server can hide its memory, but not a file, from the commands that bash runs.
package pod
