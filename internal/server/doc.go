// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package server serves the web page and a thin API for it. The page's data are the Kubernetes objects themselves, the
// transcripts of history.nestor.dev, and what internal/view computes from the objects: the page displays it and derives nothing.
//
// # Identity
//
// The server has no permissions of its own. Every request acts with the identity of its sender, and RBAC decides:
//
//   - [Tokens] forwards a bearer token, from the Authorization header (a proxy that signs people in) or from the cookie that
//     signing in with a token sets.
//   - [SignInWithOIDC] forwards the ID token of a person who signed in at an issuer. The session is sealed in cookies, so that every replica can
//     read it; see oidc.go.
//   - [Local] serves one person on loopback with the identity of a kubeconfig. A one-time link is exchanged for a session.
//
// Cookies are HttpOnly and those with an identity SameSite=Strict, requests from other sites are rejected, and only the paths in
// allowed.go reach the API server.
//
// # The stream
//
// GET /api/stream is one stream of server-sent events for everything on a page: the chats of a namespace, the messages, tasks
// and sub-agents of one chat or standalone task, the transcript of one agent, and the inbox: the chats and standalone tasks of
// all namespaces that the person may see. Each event's ID has the position of every source (resource
// versions, and the sequence number of the transcript), so a page that lost its connection can resume.
//
// Beside the objects it carries what the page shows of them: a row with each chat and task, and "display" events with the tree of
// the chat or task and with the requests and questions in its messages. A display needs all objects, so a stream that resumes lists
// them again, but sends only the UIDs of those that the page has.
//
// A slow reader costs a bounded amount of memory: newer states of an object replace older ones that were not sent yet, and
// when the buffer is full the sources stop reading. A reader that stops reading is disconnected, and can resume.
package server
