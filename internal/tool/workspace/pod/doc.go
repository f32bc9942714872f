// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package pod builds the Kubernetes objects that run a workspace beside its
// files: a Pod, a Service, a Secret with the token and a NetworkPolicy.
//
// All functions are pure: a [Spec] in, an object out, no client and no clock. A
// controller creates what is missing, under names that depend on the owner
// alone, and garbage collection removes it with the owner.
//
// The pod can do little beyond its files: no root, no capabilities, no service
// account token, a read-only image, limits on CPU, memory and the size of its
// directories. The network policy lets only the operator in, and out only what
// the spec says: a name that the source needs is in the pod's own list of hosts. The token comes by environment variable, not by file: the
// server hides its memory from the commands that bash runs, but could not hide a
// mounted file.
package pod
