// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package otel tests telemetry with a real OpenTelemetry Collector (hack/collector), to which the real operator sends
// spans and metrics, before and after it is killed.
package otel
