// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"time"
)

// Ledger is an open ledger. It is safe for concurrent use. Consumers should depend on the smaller interfaces below.
type Ledger interface {
	Writer
	Histories
	Calls
	Reports
	Quotas
	Shards
	Shares
	Detached
	Workspaces
	Searches
	Sizes
	Upkeep

	// Name returns the connection string without secrets, for logs and conditions.
	Name() string
	// Close waits for appends in progress and refuses waiting ones. It may be called twice.
	Close() error
}

type Writer interface {
	// Append writes the batch atomically; it is durable when Append returns nil. Waiting batches of different agents share a
	// transaction, and a conflict in one does not affect the others.
	//
	// If ctx ends before the transaction of the batch has begun, nothing is written and Append returns an error that wraps ctx's.
	// After that Append waits for the outcome, bounded by the ledger's own timeout.
	Append(ctx context.Context, batch Batch) error
}

type Histories interface {
	// Agent returns the record of an agent, or ErrNotFound.
	Agent(ctx context.Context, uid string) (Agent, error)
	// Agents lists the agents that match the filter, oldest first.
	Agents(ctx context.Context, filter AgentFilter, page Page) (List[Agent], error)
	// Load returns what is needed to rebuild the state of an agent, or ErrNotFound.
	Load(ctx context.Context, uid string) (History, error)
	// Events returns up to limit events with a sequence number above after, in order; the bounds of limit are those of a Page.
	Events(ctx context.Context, uid string, after int64, limit int) ([]Event, error)
}

// Calls reads model and tool calls, by idempotency key or by filter.
type Calls interface {
	// ModelCall returns a call with its exact request and its result, if it has finished; or ErrNotFound.
	ModelCall(ctx context.Context, key string) (ModelCall, error)
	// ModelCalls lists calls in the order of their start, without requests and responses, which are large.
	ModelCalls(ctx context.Context, filter CallFilter, page Page) (List[ModelCall], error)
	// ToolCall and ToolCalls have no caller in the programs: transcripts come from events. The suites check with them that the stored
	// record of calls is exact, on both drivers and after upgrades.
	//
	// ToolCall returns a call with its result, if it has finished; or ErrNotFound.
	ToolCall(ctx context.Context, key string) (ToolCall, error)
	// ToolCalls lists the calls of an agent in the order of their start, without outputs.
	ToolCalls(ctx context.Context, agent string, page Page) (List[ToolCall], error)
	// OpenCalls returns the calls of an agent that were started and have no result, without requests.
	OpenCalls(ctx context.Context, agent string) (OpenCalls, error)
	// ToolOutput returns a part of the output of a call within the tree of an agent. call is the name of the calling agent, a
	// slash and the model's id of the call, or the id alone. With the id alone, the agent's own calls come first, and the newest
	// of several.
	ToolOutput(ctx context.Context, agent, call string, offset int64, limit int) (ToolOutput, error)
	// Images returns the images with these digests that the ledger has, in any order.
	Images(ctx context.Context, digests []string) ([]Image, error)
	// ImageOf returns the image with this digest if an event of the agent refers to it, or ErrNotFound.
	ImageOf(ctx context.Context, agent, digest string) (Image, error)
}

// Reports answers queries about many agents.
type Reports interface {
	// Runs lists the agents that match the filter, oldest first, each with its timings and usage.
	Runs(ctx context.Context, filter AgentFilter, page Page) (List[Run], error)
	// Usage sums tokens, cost, success and duration of model calls for each group.
	Usage(ctx context.Context, query ReportQuery, page Page) (List[Usage], error)
	// Outcomes counts agents by success and sums their durations for each group.
	Outcomes(ctx context.Context, query ReportQuery, page Page) (List[Outcome], error)
}

type Sizes interface {
	// Bytes returns the approximate number of bytes of each namespace's agents, one entry per namespace UID.
	Bytes(ctx context.Context) ([]NamespaceBytes, error)
}

// NamespaceBytes is the approximate number of bytes of a namespace's agents, of their search index and of the saved changes of their workspaces.
type NamespaceBytes struct {
	Namespace, UID string
	Bytes          int64
}

type Upkeep interface {
	// Prune deletes, in one short transaction, up to limit rows of agents that finished before the given time. It returns the
	// number of deleted rows; 0 means that nothing is left to delete. Live agents are not affected.
	Prune(ctx context.Context, before time.Time, limit int) (int64, error)
	// Pin keeps agents, those below them and the bodies of their calls from being pruned before a time. It never shortens an earlier
	// pin, and ignores agents that do not exist or have expired.
	Pin(ctx context.Context, uids []string, until time.Time) error
	// PruneCalls deletes, in one short transaction, the bodies of up to limit calls that finished before the given time,
	// including those of live agents: requests and responses of model calls and outputs of tool calls. The calls with their
	// status and usage remain, which is all that agents need to continue. It returns the number of calls; 0 means that none is
	// left.
	PruneCalls(ctx context.Context, before time.Time, limit int) (int64, error)
	// UpdateIndex indexes, in one short transaction, up to limit events that were appended without search. Without search it deletes
	// up to limit entries of the index instead. It returns the number of events or entries; 0 means that nothing is left to do.
	UpdateIndex(ctx context.Context, limit int) (int64, error)
	// Vacuum returns free space to the system without blocking writers.
	Vacuum(ctx context.Context) error
	// Stats returns what this process has written since it opened the ledger.
	Stats() Stats
}

// Stats shows how well appends share transactions.
type Stats struct {
	// Batches counts the batches that were written or refused, in this number of Transactions; Waiting is the current queue
	// length.
	Batches      int64
	Transactions int64
	Waiting      int64
}
