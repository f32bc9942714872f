// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package operator assembles the operator: the manager with its cache and probes, the controllers and the engine, the history API, the
// endpoint for the gateway and the retention of histories. The program in a cluster, local mode, and suites that run the operator in their own process all use
// it, so they run the same parts.
//
//	err := operator.Run(ctx, operator.Options{Config: config, Controllers: controller.Options{Ledger: ledger, OperatorNamespace: "nestor-system"}})
//
// The caller is responsible for flags, logging, and opening and closing the ledger.
package operator
