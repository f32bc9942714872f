// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package monitoring holds what config/monitoring must keep: queries that are valid and name only metrics and labels that there are,
// alerts that promtool accepts and that fire when they should, runbooks, and a dashboard that is laid out without gaps in its
// meaning. It is a module of its own, because Prometheus has many dependencies.
package monitoring
