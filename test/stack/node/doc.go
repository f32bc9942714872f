// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package node runs the pods of workspaces as processes of this machine, for suites whose control plane has no nodes.
//
//	n, err := node.New()
//	s, err := stack.Start(ctx, stack.Options{Env: n.Env(), Build: []string{"./cmd/nestor-workspace"}, ...})
//	n.Run(s.API, filepath.Join(s.Dir, "nestor-workspace"))
//	defer n.Stop()
//
// A pod's containers run with the arguments that the operator gave them, only with other directories and ports, and with real volumes: what
// one container does not mount, it does not get in its arguments. The operator reaches the pods by the names of their Services through a
// proxy, which can also interrupt requests. What a kernel or a network plugin enforces (users, read-only mounts, network policies) is not
// imitated: test/e2e has a real node for that.
package node
