// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package responses calls models over OpenAI's Responses API.
//
// Nothing is stored at the provider: each request contains the whole conversation, as with the other APIs, so that a
// call can be repeated after a crash. Reasoning comes back encrypted and is sent back as it came.
package responses
