// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package giturl determines the server of a git URL.
//
// The operator uses it to decide whether a Secret may be sent to that server, and the clone to decide what to send.
// Programs parse unusual URLs differently, so that a URL could pass the check for one host and lead to another.
// Therefore [Parse] rejects every URL that is not plain.
package giturl
