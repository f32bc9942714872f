// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package topui is the full screen of live agents: the runs of a namespace or of all of them, then the agents of a run, then what an agent
// does. Model is a Bubble Tea model: Update is a pure function of the model and a message, and View depends on the model alone.
package topui
