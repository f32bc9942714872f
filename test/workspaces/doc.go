// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package workspaces tests workspaces of the whole product: a real control plane and operator, a scripted model, a git server, and
// pods that run as processes (package node).
//
//	go test ./test/workspaces -run 'TestPublishing/approved'
package workspaces
