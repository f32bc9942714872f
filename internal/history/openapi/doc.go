// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package openapi has the OpenAPI definitions of the history, and of what they refer to, for kubectl explain.
package openapi
