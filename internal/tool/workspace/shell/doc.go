// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package shell runs a command line for a limited time and kills everything that it started.
//
// A [Runner] does not start the shell itself. It starts a supervisor, which is the same program run again with
// [SupervisorArgument] (main calls [Supervise] for it), and the supervisor starts the shell in its own process group.
// On Linux the supervisor is a "child subreaper": whatever the shell's descendants do (a new session, a double fork,
// nohup, an emptied environment), they remain descendants of the supervisor. When the shell ends, the time is up, the
// call is cancelled or the server dies, the supervisor kills all of them before it exits. Elsewhere it kills the
// process group.
//
// The supervisor stops when its standard input is closed, which also happens when the server is killed, so nothing is
// left running.
//
// A command may have [Runner.MaxProcesses] processes and threads at once; see limit.go.
//
// Commands run as the user of the server. On Linux with Landlock (6.2 or later), the supervisor removes permissions
// that a command in a workspace does not need: changing files outside [Runner.Writable], inspecting processes that
// are not its own and, from 6.12 on, signalling them. The pod limits what remains, reading files and using the
// network as that user; see docs/concepts/workspace.md.
package shell
