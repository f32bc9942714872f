// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"time"
)

// Ledger is an open ledger. It is safe for concurrent use. A consumer that needs less asks for one of the
// interfaces below.
type Ledger interface {
	Writer
	Histories
	Calls
	Reports
	Quotas
	Shards
	Sizes
	Upkeep

	// Name is the connection string without its secrets, fit for logs and conditions.
	Name() string
	// Close waits for the appends that have begun and refuses those that wait. It is safe to call twice.
	Close() error
}

// Writer appends to the histories of agents.
type Writer interface {
	// Append writes the batch whole or not at all; it is durable when Append returns nil. Batches of different agents
	// that wait at the same time share a transaction, and one that conflicts does not harm the others.
	//
	// When ctx ends before the batch's transaction has begun, nothing is written and Append returns an error that wraps
	// the one of ctx. From then on Append waits for the outcome, which the ledger's own timeout bounds, and returns that.
	Append(ctx context.Context, batch Batch) error
}

// Histories reads agents and their events.
type Histories interface {
	// Agent returns the record of an agent, or ErrNotFound.
	Agent(ctx context.Context, uid string) (Agent, error)
	// Agents lists the agents that the filter allows, oldest first.
	Agents(ctx context.Context, filter AgentFilter, page Page) (List[Agent], error)
	// Load returns what is needed to rebuild the state of an agent, or ErrNotFound.
	Load(ctx context.Context, uid string) (History, error)
	// Events returns at most limit events with a sequence above after, in order; the limit is that of a Page.
	Events(ctx context.Context, uid string, after int64, limit int) ([]Event, error)
}

// Calls reads the effects of agents, by idempotency key or by filter.
type Calls interface {
	// ModelCall returns a call with its exact request and, when it has finished, its result; or ErrNotFound.
	ModelCall(ctx context.Context, key string) (ModelCall, error)
	// ModelCalls lists calls in the order they started. Requests and responses are left out: they are large.
	ModelCalls(ctx context.Context, filter CallFilter, page Page) (List[ModelCall], error)
	// ToolCall returns a call with its result when it has finished; or ErrNotFound.
	ToolCall(ctx context.Context, key string) (ToolCall, error)
	// ToolCalls lists the calls of an agent in the order they started, without their outputs.
	ToolCalls(ctx context.Context, agent string, page Page) (List[ToolCall], error)
	// OpenCalls returns the calls of an agent that were started and have no result, without their requests.
	OpenCalls(ctx context.Context, agent string) (OpenCalls, error)
	// ToolOutput returns a part of the output of a call that was made in the tree of an agent, and nowhere else. The call is named by
	// the name of the agent that made it, a slash and the id that the model gave it, or by that id alone: then the agent's own calls come
	// first, and the newest call of several.
	ToolOutput(ctx context.Context, agent, call string, offset int64, limit int) (ToolOutput, error)
	// Images returns those of the images with these digests that the ledger has, in any order.
	Images(ctx context.Context, digests []string) ([]Image, error)
}

// Reports answers questions about many agents.
type Reports interface {
	// Tree lists the agents below and including root in the order they were created, each with its timings and
	// usage; Nest puts them into the shape of the tree.
	Tree(ctx context.Context, root string, page Page) (List[TreeNode], error)
	// Runs lists the agents that the filter allows, oldest first, each with its timings and usage.
	Runs(ctx context.Context, filter AgentFilter, page Page) (List[Run], error)
	// Usage sums model calls: tokens, cost, success and duration for each group.
	Usage(ctx context.Context, query ReportQuery, page Page) (List[Usage], error)
	// Outcomes sums agents: how many succeeded and how long they took, for each group.
	Outcomes(ctx context.Context, query ReportQuery, page Page) (List[Outcome], error)
}

// Sizes says who fills the ledger.
type Sizes interface {
	// Bytes returns about how many bytes the agents of each namespace take, one entry for each UID of a namespace.
	Bytes(ctx context.Context) ([]NamespaceBytes, error)
}

// NamespaceBytes is about how many bytes the agents of a namespace take. Agents that earlier releases wrote count what was appended
// since.
type NamespaceBytes struct {
	Namespace, UID string
	Bytes          int64
}

// Upkeep keeps a ledger from growing for ever.
type Upkeep interface {
	// Prune deletes, in one short transaction, up to limit rows of agents that finished before the given time. It
	// returns how many rows went; 0 means that nothing is left to delete. A live agent is never touched.
	Prune(ctx context.Context, before time.Time, limit int) (int64, error)
	// PruneCalls deletes, in one short transaction, the bodies of up to limit calls that finished before the given time, of live agents too:
	// the requests and responses of model calls and the outputs of tool calls. That there was a call, how it ended and what it used stays.
	// No agent needs more to go on. It returns how many calls it were; 0 means that none is left.
	PruneCalls(ctx context.Context, before time.Time, limit int) (int64, error)
	// Condense brings up to limit calls that an earlier release recorded whole into the form in which a text is kept once, in a short
	// transaction. It returns how many calls it has looked at; 0 means that none is left, or only those of agents that are waiting for one.
	Condense(ctx context.Context, limit int) (int64, error)
	// Vacuum gives freed space back to the system while writers go on.
	Vacuum(ctx context.Context) error
	// Stats counts what this process has written since it opened the ledger.
	Stats() Stats
}

// Stats shows how well appends share transactions.
type Stats struct {
	// Batches were written or refused, in so many Transactions; Waiting are in the queue now.
	Batches      int64
	Transactions int64
	Waiting      int64
}
