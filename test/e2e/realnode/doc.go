// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package realnode runs a real one-node Kubernetes for a test: kubelet, containerd and all, in namespaces of its own.
//
//	node, err := realnode.Start(ctx, realnode.Options{Bin: "bin/node", Images: archives, Out: os.Stdout})
//	defer node.Stop()
//	use(node.Kubeconfig)
//
// The work is done by hack/realnode/run.sh. Nothing outlives the caller, however it ends: the script stops the node when its
// input ends, and a cleaner of its own removes what is left if the script is killed.
package realnode
