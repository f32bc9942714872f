// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package monitoring tests config/monitoring: queries must be valid and use only existing metrics and labels, alerts
// must pass promtool and fire when they should, runbooks must exist, and the dashboard must be laid out without gaps.
// It is a separate module because of Prometheus' dependencies.
package monitoring
