// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package history serves history.nestor.dev, a read-only API on the ledger, behind the API server's aggregator:
// kubectl, the command line and the web page read full histories here, with the user's own identity and permissions.
//
//	kubectl ─▶ API server ─▶ aggregator ─▶ this server ─▶ ledger
//	             authenticates X-Remote-User   authorizes (SubjectAccessReview)
//
// Only the aggregator, by its client certificate, and tokens that the API server accepts are trusted. Every request
// is authorized by the API server, so RBAC decides: get and list of transcripts, modelcalls and usages, and get of
// transcripts/log, transcripts/image, transcripts/trace, transcripts/calls, workspacechanges, workspacechanges/archive and
// workspacechanges/file, each for a namespace.
//
// The server needs the ledger and the Kubernetes API, but no leader: every replica serves. Deltas of replies come
// from a live.Hub, which only the replica with the active engine has; the others poll the ledger every second.
//
// transcripts.go, log.go, modelcalls.go, usages.go and workspacechanges.go are the resources; selection.go parses list options; tables.go
// defines kubectl's columns; server.go and access.go configure k8s.io/apiserver.
package history
