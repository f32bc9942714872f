// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package giturl decides which server a git URL leads to.
//
// The operator uses it to decide whether a Secret may be sent to that server, and the clone to decide what to send.
// Programs read unusual URLs differently, and a difference would let a URL pass for one host and lead to another. So
// [Parse] refuses every URL that is not plain.
package giturl
