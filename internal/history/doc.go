// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package history serves history.nestor.dev, a read-only API on the ledger, behind the API server's aggregator: kubectl, the
// command line and the web page read full histories here, with the user's own identity and rights.
//
//	kubectl ─▶ API server ─▶ aggregator ─▶ this server ─▶ ledger
//	             who is it?    X-Remote-User   may they? (SubjectAccessReview)
//
// Nobody is trusted but the aggregator, by its client certificate, and who shows a token that the API server knows. What a user
// may read is asked of the API server for every request, so RBAC decides: get and list of transcripts, modelcalls and usages,
// and get of transcripts/log, each for a namespace.
//
// The server needs the ledger and the Kubernetes API, and no leader: every replica serves. Live pieces of replies come from a
// live.Hub, which only the replica whose engine is at work has; the others follow by looking at the ledger every second.
//
// transcripts.go, log.go, modelcalls.go and usages.go are the resources; selection.go says what lists can be asked for;
// tables.go is what kubectl prints; server.go and access.go are what k8s.io/apiserver wants to know.
package history
