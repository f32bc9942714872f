// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package outbound makes the HTTP transports with which the operator reaches the endpoints that ModelProviders and ToolServers name, and
// bounds what comes back.
//
// Whoever may create these objects chooses the address, and the operator stands where other networks are in reach: its own pod, its node,
// the cloud's metadata service. So every address is checked after the name was resolved, at the moment of the connection, where a name
// that resolves differently the next time does not help. [Allowed] has the rules.
//
// Text from an endpoint is shown only as [Line] makes it: short, on one line, without markup and control characters. Bodies are bounded
// by [Body], and those that stream without end by [Stream].
package outbound
