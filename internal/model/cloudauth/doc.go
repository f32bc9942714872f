// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package cloudauth obtains temporary credentials of clouds: of AWS from its Security Token Service, and access tokens
// of Google.
//
// Secrets are read for each use, and what was obtained is kept until shortly before it expires or the secrets change.
// Requests go through the transport that the caller provides, which restricts the addresses. Only [OperatorAWS] and
// [OperatorGoogle] read the environment and the metadata of the pod: they are the identity of the operator itself,
// which the caller must not give to others.
//
// Errors never contain a secret, a token, or text of an endpoint.
package cloudauth
