// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package hooks receives the webhooks of AgentTriggers, at /hooks/NAMESPACE/TRIGGER.
//
// Their senders have no token of the cluster. The door bounds and reads a request, and passes it on unchanged: the
// operator authenticates it with the Secret of its trigger, and records the firing.
package hooks
