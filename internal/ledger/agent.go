// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import "time"

// Agent is the record of one agent: an orchestrator, a sub-agent or a tool run.
type Agent struct {
	// UID is the UID of the agent's Kubernetes object.
	UID string
	// Kind, Namespace and Name are those of its object. A name may be used again after a deletion; a UID is not.
	Kind      string
	Namespace string
	Name      string
	// NamespaceUID is the UID of the namespace, which distinguishes it from another namespace with the same name.
	NamespaceUID string
	// Parent is the UID of the parent; empty for the root of a tree.
	Parent string
	// Root is the UID of the tree's root, which may be the agent itself.
	Root string
	// Chat is the name of the chat; empty for a standalone task.
	Chat string
	// Role, Depth, Provider and Model are the values at creation, or those of the last Batch.Update.
	Role string
	// RoleRevision is the digest of the role, like Role.
	RoleRevision string
	Depth        int
	Provider     string
	Model        string
	// ShardHash is the hash of the tree (see package shard).
	ShardHash int
	// Origin is the UID of the agent with whose events those of a fork begin, and OriginSeq the last of these events; 0 if it has none
	// of them. Origin is empty for other agents.
	Origin    string
	OriginSeq int64
	// CreatedAt is when the agent started. The ledger stores microseconds.
	CreatedAt time.Time

	// The following fields are set by the ledger and ignored in Batch.Create.

	// LastSeq is the sequence number of the newest event.
	LastSeq int64
	// Status is Running until a batch contains a Finish.
	Status Status
	// ErrorKind is why the agent failed.
	ErrorKind string
	// FinishedAt is zero while the agent is live.
	FinishedAt time.Time
}

// Live reports whether the agent has not finished.
func (a Agent) Live() bool { return a.FinishedAt.IsZero() }

// Status is the status of an agent or a call.
type Status string

// The statuses. Everything but Running is final.
const (
	StatusRunning   Status = "Running"
	StatusSuccess   Status = "Success"
	StatusFailed    Status = "Failed"
	StatusCancelled Status = "Cancelled"
	StatusTimedOut  Status = "TimedOut"
	StatusDenied    Status = "Denied"
	// StatusUnknown: the effect was started, and its outcome is unknown.
	StatusUnknown Status = "Unknown"
)

func (s Status) Final() bool {
	switch s {
	case StatusSuccess, StatusFailed, StatusCancelled, StatusTimedOut, StatusDenied, StatusUnknown:
		return true
	}
	return false
}

// Scope narrows a query; the zero value matches everything.
type Scope struct {
	Namespace string
	// NamespaceUID excludes records of earlier namespaces with the same name.
	NamespaceUID string
	Chat         string
	// Root is the UID of a tree's root.
	Root  string
	Role  string
	Model string
	// Since and Until bound the creation time of agents or the start time of calls: Since <= time < Until.
	Since time.Time
	Until time.Time
}

// AgentFilter selects agents; the zero value matches all of them.
type AgentFilter struct {
	Scope
	UID    string
	Kind   string
	Name   string
	Parent string
	// Newest excludes agents if a newer agent of the same kind has their name.
	Newest bool
	// Live excludes agents that have finished.
	Live bool
	// EndedWithOpenCalls excludes live agents, those whose calls all have results, and those that ended long before the newest end.
	EndedWithOpenCalls bool
	// ShardHashes excludes agents with another ShardHash; nil excludes none.
	ShardHashes *HashRange
}

// HashRange is a range of hashes: From <= hash < To.
type HashRange struct{ From, To int }
