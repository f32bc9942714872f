// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package outbound creates the HTTP transports for the endpoints of ModelProviders and ToolServers, and bounds their
// responses.
//
// Users who may create these objects choose the address, and the operator can reach other networks: its own pod, its
// node, the cloud's metadata service. So every address is checked after name resolution, when the connection is made;
// a name that resolves differently the next time does not help an attacker. [CheckAddress] has the rules.
//
// Text from an endpoint is shown only through shorten.UntrustedLine: short, on one line, without markup and control
// characters. Bodies are bounded by [LimitBody] and [TruncateBody], and endless streams by [LimitStream].
package outbound
