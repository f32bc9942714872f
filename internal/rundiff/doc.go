// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package rundiff compares two recorded runs, call by call.
//
// A run becomes steps: its inputs, model calls and tool calls. A tool call has its decision, its result and the results of the runs that it
// started, so that the order in which parallel calls end makes no difference. Steps of both runs that do the same are aligned. Tokens, cost
// and time are reported and not compared. The names of runs that an agent starts are replaced by their number, because they begin with the
// name of the agent.
package rundiff
