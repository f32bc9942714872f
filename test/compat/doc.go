// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package compat checks which releases of Kubernetes Nestor supports, without running them: the charts, the pages and
// the CEL rules of the definitions and policies agree on the oldest one. `make compat` runs the other suites on a
// release.
package compat
