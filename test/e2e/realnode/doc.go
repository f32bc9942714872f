// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package realnode runs a real one-node Kubernetes for a test, with kubelet and containerd, in separate Linux
// namespaces.
//
//	node, err := realnode.Start(ctx, realnode.Options{Bin: "bin/node", Images: archives, Out: os.Stdout})
//	defer node.Stop()
//	use(node.Kubeconfig)
//
// hack/realnode/run.sh does the work. Nothing outlives the caller: the script stops the node when its input is
// closed, and a separate cleaner removes what is left if the script is killed.
package realnode
