// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package gateway serves runs over other protocols. Each protocol is a [Door]; all are served on one listener.
//
// A request carries a bearer token of the cluster. The gateway gets the user name of the token from the API server,
// and then uses the token itself for everything that the request does: a caller can do exactly what it could do with
// kubectl. Nothing is read or written with the permissions of the operator, and nothing is stored here: a run is an
// AgentTask, and its events come from its recorded history.
//
// Requests of web pages of other sites are refused: there is no CORS.
package gateway
