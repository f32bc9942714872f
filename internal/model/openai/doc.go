// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package openai calls models over the chat completions API, which most providers and gateways speak.
package openai
