// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package upgrade holds that a newer operator goes on with what an older one has left behind, in the middle of anything.
//
// A scene is a namespace in which agents wait for a person, for an approval, for a model, for a tool, for their children and for a
// role, and others have finished. An older operator brings it about and is stopped; the newer one must end it as if nothing had
// happened. There are two forms:
//
//   - from a fixture, with every go test: testdata/COMMIT holds what the operator of that commit has left, its ledger as SQL and its
//     objects as JSON, for both drivers. make upgrade-fixture UPGRADE_FROM=COMMIT makes one.
//   - live, with make upgrade: the operator and the CRDs of UPGRADE_FROM are taken from git, run, and stopped with SIGKILL, or with
//     SIGTERM if UPGRADE_STOP says TERM.
//
// A fixture gets older and agents have deadlines, so its times are moved to now when it is loaded; and its objects get new UIDs from
// the API server, which the ledger then has in place of the old ones.
package upgrade
