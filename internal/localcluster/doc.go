// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package localcluster runs a real Kubernetes control plane on this machine, for `make demo` and for every test suite:
// etcd and kube-apiserver by way of controller-runtime's envtest, and three of Kubernetes' controllers (hack/controlplane):
// the garbage collector, which deletes what a deleted owner owns, the namespace controller, and the aggregation of
// ClusterRoles. There is no node and no scheduler: pods are accepted and never run.
//
// The binaries come from `make control-plane`. Nestor's CRDs are installed before the controllers start,
// because the garbage collector looks for new kinds only every 30 seconds.
//
// The API server supports aggregation: ServeAPI registers an API that a process on this machine serves.
//
// Nothing outlives the caller. Stop ends the processes and waits for them; when the caller dies without calling it, by
// a signal, a panic or SIGKILL, they end too (see guard.go).
package localcluster
