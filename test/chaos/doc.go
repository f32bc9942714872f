// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package chaos runs the real operator while everything around it fails, and then checks the invariants of the design
// from outside. See docs/tasks/chaos.md.
//
// A run has a seed, which determines the workload, the user's decisions and the faults. Timing depends on the machine,
// so a seed does not always reproduce a failure.
//
//	workload  the orders, and the expected outcome of each job
//	script    the model: it makes the steps that an instruction names
//	workshop  the tool server: it logs everything that it executes
//	user      answers, decides and cancels
//	triggers  start tasks and messages by firings, which are repeated until they are acknowledged
//	faults    kills, restarts, fills, cuts and hangs
//	replicas  several operators, each with a network of its own
//	checks    the invariants at the end
package chaos
