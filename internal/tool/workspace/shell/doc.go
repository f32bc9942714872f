// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package shell runs a command line for a limited time and ends everything that
// it started.
//
// A [Runner] does not start the shell itself. It starts a supervisor, which is
// the same program run again with [SupervisorArgument] (main calls [Supervise]
// for it), and the supervisor starts the shell in a process group of its own. On
// Linux the supervisor is a "child subreaper": whatever the shell's descendants
// do (a new session, a double fork, nohup, an emptied environment), they remain
// descendants of the supervisor, and when the shell ends, or its time is up, or
// the call is cancelled, or the server dies, the supervisor kills all of them
// before it ends itself. Elsewhere it kills the process group.
//
// The supervisor learns that it must stop by the end of its standard input,
// which also happens when the server is killed, so nothing is left behind then.
//
// A command may have [Runner.MaxProcesses] processes and threads at once; see
// limit.go for what bounds them.
//
// The commands run as the user that runs the server. On Linux with Landlock
// (6.2 or later) the supervisor takes from them what a command in a workspace
// does not need: changing files outside [Runner.Writable], looking into
// processes that are not their own and, from 6.12 on, signalling them. What is
// left, reading and using the network like that user, is for the pod to bound;
// see docs/concepts/workspace.md.
package shell
