// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package chaos runs the real operator while everything around it fails, and then looks from outside whether the promises of
// the design were kept. See docs/tasks/chaos.md.
//
// A run has a seed, from which the workload, the user's decisions and the failures come; what the machine does in between is
// its own, so that a seed is a strong hint and not a proof.
//
//	workload  what is asked for, and how each piece must end
//	script    the model: it plays the steps that an instruction names
//	workshop  the tool server: it writes down everything that it executes
//	user      answers, decides and cancels
//	faults    kills, restarts, fills, cuts and hangs
//	checks    what must hold at the end
package chaos
