// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package e2e installs Nestor on a real cluster, as users do, and tests charts, pods, policies, crashes and upgrades
// there. `make e2e` runs it; see docs/tasks/real-cluster-tests.md.
//
// Each scenario is a file. They share a cluster and an installation, run in the order of suite_test.go, and print
// their times.
package e2e
