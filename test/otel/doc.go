// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package otel holds the tests of telemetry against a real OpenTelemetry Collector (hack/collector), to which the real operator
// sends what agents do, before and after it is killed.
package otel
