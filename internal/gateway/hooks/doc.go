// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package hooks receives the webhooks of AgentTriggers, at /hooks/NAMESPACE/TRIGGER.
//
// Their senders have no token of the cluster. A request is authenticated with the Secret of its trigger: by a signature of the body, or by
// a token. Nothing is done for a request before that, and a trigger that does not exist is refused after the same work. This is the only
// part of the gateway that uses the operator's own rights: it reads triggers and their Secrets, and records firings.
package hooks
