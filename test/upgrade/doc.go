// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package upgrade tests that a newer operator continues the work of an older one, in any state.
//
// A scene is a namespace in which agents wait for a person, for an approval, for a model, for a tool, for their children and for a
// role, and others have finished. An older operator creates it and is stopped; the newer one must complete it. There are two
// forms:
//
//   - from a fixture, with every go test: testdata/COMMIT has the state that the operator of that commit left, its ledger as SQL and its
//     objects as JSON, for both drivers. make upgrade-fixture UPGRADE_FROM=COMMIT creates one.
//   - live, with make upgrade: the operator and the CRDs of UPGRADE_FROM are taken from git, run, and stopped with SIGKILL, with SIGTERM
//     if UPGRADE_STOP is TERM, or only after the newer one has completed the work if it is LATER, as in a rolling update.
//
// Agents have deadlines, so the times of a fixture are moved to the present when it is loaded. Its objects get new UIDs
// from the API server, which replace the old ones in the ledger.
package upgrade
