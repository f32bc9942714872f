// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine/admission"
	"github.com/nestor-dev/nestor/internal/engine/slots"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/schedule"
	"github.com/nestor-dev/nestor/internal/share"
	"github.com/nestor-dev/nestor/internal/tool"
)

// Ledger is the part of ledger.Ledger that the engine uses.
type Ledger interface {
	ledger.Writer
	ledger.Histories
	ledger.Calls
	ledger.Quotas
	ledger.Shards
	ledger.Detached
	ledger.Sizes
}

// Models finds the models of agents.
type Models interface {
	// Route returns the name of the provider for an agent's calls, as known to the scheduler.
	Route(ctx context.Context, a ledger.Agent) (provider string, err error)
	// Endpoint returns how to reach a provider for an agent; it may be a fallback of the one that Route returned.
	Endpoint(ctx context.Context, a ledger.Agent, provider string) (Endpoint, error)
}

// Endpoint is a model at a provider.
type Endpoint struct {
	Client model.Client
	Model  string
	Prices model.Prices
}

// Tools finds the tools of agents.
type Tools interface {
	// Set returns tools of an agent, including the one with this name if it exists.
	Set(ctx context.Context, a ledger.Agent, name string) (tool.Set, error)
}

// Options configure an engine. Callbacks must not block.
type Options struct {
	Ledger    Ledger
	Models    Models
	Scheduler *schedule.Scheduler
	Tools     Tools
	Executor  tool.Executor
	// Quotas returns the quotas of namespaces; nil means none. QuotaUsageChanged is called for a namespace with quotas in
	// which model calls started, ended or wait.
	Quotas            admission.Quotas
	QuotaUsageChanged func(namespace string)
	// Policies judge the calls of agents; nil means that there are none.
	Policies Policies
	// MayAct is called before each model and tool call and returns why the agent must no longer use its role; nil
	// allows all calls. It must answer from memory.
	MayAct func(ctx context.Context, a ledger.Agent, c agent.Config) error
	// NamespaceUID returns the UID of a namespace, or an empty string. It may be nil, and must answer from memory.
	NamespaceUID func(namespace string) string
	// LedgerQuota bounds the bytes in the ledger of the agents of a namespace; 0 means no limit.
	LedgerQuota int64
	// InlineTools are tools that run only in this process and have no effect outside it, such as a calculator. Their calls
	// and answers are recorded together. It must contain no other tools, because they run before their intent is in the
	// ledger.
	InlineTools tool.Set
	// SlotGroups returns the slot groups of a sub-agent with their limits; nil means no limits.
	SlotGroups func(ctx context.Context, a ledger.Agent) []slots.Group
	// Shares is notified of slots that wait for a share; nil means that this is the only operator, so that limits are not
	// divided.
	Shares share.Notifier
	// Changed is called when the state of an agent has changed.
	Changed func(Change)
	// Recorded is called for every append, just before its effects start.
	Recorded func(Change)
	// CallContext returns the context for a model or tool call; nil keeps the context.
	CallContext func(ctx context.Context, a ledger.Agent, s agent.State, e agent.Effect) context.Context
	// CallCompleted is called after every model and tool call, for metrics.
	CallCompleted func(CompletedCall)
	// QueuedChanged is called when the model call of an agent has waited at a provider for a while, and again when it no
	// longer waits; see Engine.Queued.
	QueuedChanged func(ledger.Agent)
	// ProgressChanged is called when a tool of an agent reports progress, at most every two seconds; see Engine.Progress.
	ProgressChanged func(ledger.Agent)
	// OnDelta is called with the deltas of streamed replies and the ledger key of the call.
	OnDelta func(uid, call string, delta model.Delta)
	// ReportError is called with errors that concern no single agent, such as an unavailable ledger.
	ReportError func(err error)
	// BlockedChanged is called when the ledger keeps an agent from continuing, and again when it no longer does; see
	// Engine.Blocked.
	BlockedChanged func(a ledger.Agent)
	// Now is the clock; nil means the system clock.
	Now func() time.Time
	// Random returns numbers in [0, 1) for the jitter of retries; nil means always 0.5.
	Random func() float64
	// LedgerRetryDelay is the delay before a failed append is retried; 0 means one second.
	LedgerRetryDelay time.Duration
	// Name is the ID of this operator among those of the ledger.
	Name string
	// AwaitRecovery delays all deliveries until Recover was called. The first event of a new driver must be the take-over;
	// otherwise the time without a driver would count as active time of the agent.
	AwaitRecovery bool
	// ShouldTakeOver reports whether Recover takes over an agent; nil takes over all. Others stay as they are until End or
	// TakeOver.
	ShouldTakeOver func(ctx context.Context, a ledger.Agent) bool
	// Deleted reports whether the object of an agent was deleted, and whether one above it was. It must not answer from a
	// cache, which may be older than the deletion that led to the question. nil means that no object was deleted.
	Deleted func(ctx context.Context, a ledger.Agent) (object, above bool, err error)
	// SnapshotEvery is the number of events between snapshots; 0 means 64.
	SnapshotEvery int64
	// PointReached is called at the points that an effect passes, for crash tests; nil in production.
	PointReached func(Point)
}

// withDefaults returns the options with a value for everything that may be left out.
func (options Options) withDefaults() Options {
	if options.MayAct == nil {
		options.MayAct = func(context.Context, ledger.Agent, agent.Config) error { return nil }
	}
	if options.NamespaceUID == nil {
		options.NamespaceUID = func(string) string { return "" }
	}
	if options.SlotGroups == nil {
		options.SlotGroups = func(context.Context, ledger.Agent) []slots.Group { return nil }
	}
	if options.Changed == nil {
		options.Changed = func(Change) {}
	}
	if options.Recorded == nil {
		options.Recorded = func(Change) {}
	}
	if options.CallContext == nil {
		options.CallContext = func(ctx context.Context, _ ledger.Agent, _ agent.State, _ agent.Effect) context.Context { return ctx }
	}
	if options.CallCompleted == nil {
		options.CallCompleted = func(CompletedCall) {}
	}
	if options.QueuedChanged == nil {
		options.QueuedChanged = func(ledger.Agent) {}
	}
	if options.ProgressChanged == nil {
		options.ProgressChanged = func(ledger.Agent) {}
	}
	if options.ReportError == nil {
		options.ReportError = func(error) {}
	}
	if options.BlockedChanged == nil {
		options.BlockedChanged = func(ledger.Agent) {}
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Random == nil {
		options.Random = func() float64 { return 0.5 }
	}
	if options.LedgerRetryDelay == 0 {
		options.LedgerRetryDelay = time.Second
	}
	if options.ShouldTakeOver == nil {
		options.ShouldTakeOver = func(context.Context, ledger.Agent) bool { return true }
	}
	if options.Deleted == nil {
		options.Deleted = func(context.Context, ledger.Agent) (bool, bool, error) { return false, false, nil }
	}
	if options.SnapshotEvery == 0 {
		options.SnapshotEvery = 64
	}
	return options
}
