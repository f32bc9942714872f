// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package login lets people log in to tool servers (spec.auth.userOAuth), as the authorization specification of MCP
// has it: OAuth 2.1 with an authorization code and PKCE.
//
//	Begin   discover the authorization server, register a client, store the attempt ──▶ URL for the browser
//	Finish  verify that the person began this attempt, exchange the code, store the login
//	Source  the access token of a person, refreshed if needed
//	Logout  remove the login, and revoke it at the authorization server
//
// The names of the standards: the server's metadata is RFC 9728, that of the authorization server RFC 8414 or OpenID
// Connect Discovery, the resource of a token RFC 8707, the registration RFC 7591, the issuer of an answer RFC 9207, and
// the revocation RFC 7009.
//
// # What is stored
//
// A [Store] has a Secret in the operator's namespace for each person and server, so that every replica can continue
// what another one began. Its content is sealed, and bound to the namespace and UID of the ToolServer and to the person:
// a copy for another one cannot be opened. A login is also bound to the URL of the server. If the URL is edited, the
// token is not sent to the new one, and people log in again.
//
// # Who may finish an attempt
//
// An attempt is stored under the person who began it, and only that person's answer finds it. An answer is used once:
// the attempt is removed before the code is exchanged.
package login
