// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package server serves the web page and a thin API for it. The page's data are the Kubernetes objects themselves and the
// transcripts of history.nestor.dev, so there is no second model of anything.
//
// # Identity
//
// The server has no rights of its own. Every request acts as the person who sent it, and RBAC decides:
//
//   - [Tokens] passes a bearer token on, from the Authorization header (a proxy that signs people in) or from the cookie that
//     signing in with a token sets.
//   - [Local] serves one person on loopback with the identity of a kubeconfig. A one-time link is exchanged for a session.
//
// Cookies are HttpOnly and SameSite=Strict, requests from other sites are refused whatever they carry, and only the paths in
// allow.go reach the API server.
//
// # The stream
//
// GET /api/stream is one stream of server-sent events for all that a page shows: the chats of a namespace, the messages, tasks
// and sub-agents of one chat, and the transcript of one agent. Each event's id says how far every source has come (resource
// versions, and the sequence number of the transcript), so a page that lost its connection goes on where it was.
//
// A slow reader costs a bounded amount of memory: newer states of an object replace older ones that were not sent yet, and
// when the buffer is full the sources stop reading. A reader that takes nothing for a while is disconnected, and resumes.
package server
