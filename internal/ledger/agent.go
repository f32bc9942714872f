// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import "time"

// Agent is the record of one agent: an orchestrator of a chat, or a sub-agent.
type Agent struct {
	// UID is the unique identity of the agent, the UID of its Kubernetes object.
	UID string
	// Kind, Namespace and Name are those of its object. A name may be used again after a deletion; a UID is not.
	Kind      string
	Namespace string
	Name      string
	// NamespaceUID is the UID of the namespace, which a namespace that is created again does not have; empty in records of earlier releases.
	NamespaceUID string
	// Parent is the UID of the agent that asked for this one; empty at the top of a tree.
	Parent string
	// Root is the UID of the agent at the top of the tree, which is the agent itself at the top.
	Root string
	// Chat is the name of the chat; empty for a standalone task.
	Chat string
	// Role, Depth, Provider and Model are what the agent was created with, or what Batch.Update last said of it.
	Role     string
	Depth    int
	Provider string
	Model    string
	// CreatedAt is when the agent began. The ledger keeps microseconds.
	CreatedAt time.Time

	// What follows is kept by the ledger and ignored in Batch.Create.

	// LastSeq is the sequence of the newest event.
	LastSeq int64
	// Status is Running until a batch carries a Finish.
	Status Status
	// ErrorKind says why an agent failed.
	ErrorKind string
	// FinishedAt is zero while the agent is live.
	FinishedAt time.Time
}

// Live reports whether the agent has not finished.
func (a Agent) Live() bool { return a.FinishedAt.IsZero() }

// Status is how far an agent or a call has come.
type Status string

// The statuses. Everything but Running is final.
const (
	StatusRunning   Status = "Running"
	StatusSuccess   Status = "Success"
	StatusFailed    Status = "Failed"
	StatusCancelled Status = "Cancelled"
	StatusTimedOut  Status = "TimedOut"
	// StatusDenied is the status of a tool call that a person did not allow.
	StatusDenied Status = "Denied"
	// StatusUnknown is the status of an effect that was started and whose outcome nobody can tell.
	StatusUnknown Status = "Unknown"
)

// Final reports whether s is a status in which an agent or a call can end.
func (s Status) Final() bool {
	switch s {
	case StatusSuccess, StatusFailed, StatusCancelled, StatusTimedOut, StatusDenied, StatusUnknown:
		return true
	}
	return false
}

// Scope narrows a query; the zero value allows everything.
type Scope struct {
	Namespace string
	// NamespaceUID leaves out what belongs to earlier namespaces of the name. NamespaceSince is when the namespace was created: records
	// of earlier releases, which have no UID, are its own from then on.
	NamespaceUID   string
	NamespaceSince time.Time
	Chat           string
	// Root is the UID at the top of a tree.
	Root  string
	Role  string
	Model string
	// Since and Until bound when an agent was created or a call started: Since <= time < Until.
	Since time.Time
	Until time.Time
}

// AgentFilter chooses agents; the zero value allows all of them.
type AgentFilter struct {
	Scope
	UID  string
	Kind string
	Name string
	// Parent is the UID of the agent that asked for them.
	Parent string
	// Newest leaves out agents whose name a newer one of the same kind has taken.
	Newest bool
	// Live leaves out agents that have finished, as an engine does that recovers at its start.
	Live bool
}
