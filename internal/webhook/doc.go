// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package webhook authenticates the webhooks of AgentTriggers and fires their triggers, in the operator. The gateway receives them, and passes
// them on as they are.
//
// A request is authenticated with the Secret of its trigger: by a signature of the body, or by a token. Nothing is done for a request before
// that, and a trigger that does not exist is refused after the same work.
package webhook
