// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package workspace provides the files in spec.workspace to the agents of a chat or standalone task.
//
// The tools are the same for every workspace, so an agent starts without waiting for files. A workspace starts with
// the first call of one of its tools, and that call waits for it, for a limited time; if it does not become ready,
// the reason is the answer for the model. After idleTimeoutSeconds without a call the workspace stops, and the next
// call starts it again:
//
//	call ─▶ attach ─▶ pod exists and is ready? ─▶ session ─▶ the call ─▶ release
//	                    │ no: create what is missing, wait for the pod or the session to change
//
// There are two backends. [pods] runs a pod beside the files (git, persistentVolumeClaim, emptyDir), with a
// Service, a token and a network policy, all owned by the chat or task. [directories] serves a directory of this
// machine from the operator's own process, below the directories that the operator was started with.
//
// The [Reconciler] removes pods that are idle, have failed or been evicted, or hang on a lost node. It never starts
// one; calls do. A call whose pod is lost ends with a description of what happened: see outcome.go.
package workspace
