// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubewrites limits how many writes an operator has in flight to the API server.
//
// More parallel writes do not make a busy API server faster, and slow down whatever shares its CPUs, such as the
// agents' turns if it runs beside the operator. The right limit depends on the machine, so a [Gate] adapts it,
// similar to TCP congestion control. It compares the current duration of writes with the shortest one:
//
//   - While they take about as long, each round of writes raises the limit by one.
//   - When they take much longer, they are queueing at the API server: the limit is lowered by a quarter, so that the
//     next ones queue here.
//   - When the API server rejects a write because it is overloaded, the limit is halved.
//
// The writes that wait are not admitted in the order of their arrival: results come before the starts of new work.
package kubewrites
