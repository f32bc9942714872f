// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubewrites bounds how many writes an operator has on their way to the API server at once.
//
// A busy API server does not answer more of them any sooner, and whatever shares its processors waits longer: the turns of the agents that
// are at work, when it runs beside the operator. How many are right depends on the machine, so a [Gate] finds out, as TCP finds out how much
// it may send. It compares how long writes take with how long they take at best:
//
//   - While they take about as long, each round of writes lets one more be on its way.
//   - When they take much longer, they are queueing at the API server, and the next ones queue here: a quarter fewer are let through.
//   - When the API server refuses a write because it is overloaded, half as many are.
package kubewrites
