// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package notify delivers push notifications about tasks to the URLs that clients registered (see internal/push).
//
// The operator that owns the shard of a task delivers. A reconcile compares the state of the task with the newest
// recorded notification, and queues what is missing; it never waits for a receiver. Requests run in goroutines, one at
// a time for each configuration, and at most maxPerNamespace for a namespace. After a notification was delivered, or
// given up, that is recorded in an annotation of the task. After a restart the record decides: a state whose
// notification was not recorded is notified again, so each is delivered at least once.
package notify
