// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package workspace gives the agents of a chat, or of a standalone task, the files that its spec.workspace names.
//
// The tools are known beforehand (they are the same for every workspace), so an agent begins without waiting for files. A
// workspace starts with the first call of one of its tools, and that call waits for it, for a bounded time; what it waited
// for in vain is the model's answer. After idleTimeoutSeconds without a call the workspace stops, and the next call starts
// it again:
//
//	call ─▶ enter ─▶ pod there and ready? ─▶ session ─▶ the call ─▶ leave
//	                   │ no: make what is missing, wait for the pod or the session to change
//
// There are two kinds of host. [pods] runs a pod beside the files (git, persistentVolumeClaim, emptyDir), with a Service, a
// token and a network policy, all owned by the chat or task. [directories] serves a directory of this machine from the
// operator's own process; the operator must have been told below which directories such workspaces may be.
//
// The [Reconciler] looks after the pods: it removes those that are idle, that have failed or been evicted, and that hang on
// a lost node. It never starts one; calls do. A call whose pod is lost ends, and says what became of it: see fate.go.
package workspace
