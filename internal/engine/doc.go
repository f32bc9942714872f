// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package engine drives agents: it is the only package that connects the pure core, models, tools and the ledger.
//
// Each agent has a mailbox. Facts are delivered from outside (Deliver) and from effects. One at a time they go through
// agent.Step and are appended to the ledger, together with the intents and results of effects. Only then the new state
// becomes current and new effects start. An agent has a goroutine only while its mailbox is not empty.
//
//	Deliver ─▶ mailbox ─▶ Step ─▶ ledger.Append ─▶ perform new effects ─▶ results ─▶ mailbox
//	                                        └────▶ stop what is in flight and no longer outstanding
//
// The engine performs the effects that need no Kubernetes: model calls (through the admission queue), tool calls, timers, and
// notifications between agents. Controllers perform the others: children, posts and asks. They are notified when an agent has
// changed (Options.Changed), read its state (View) and perform what is outstanding, at their own pace and repeatedly.
//
// # Crashes
//
// The result of an effect is appended in the same transaction as the event that reports it to the core. After a crash, the
// result of an effect is therefore either part of the state or missing. Missing model calls are made again, repeatable tools
// run again, and other tools that had started are reported to the core as unknown (Recover).
//
// Tools without effects outside the process (Options.InlineTools) run within the step: their calls and answers are part of the
// append that follows, so a crash before it loses nothing. See docs/adr/0012-tools-at-hand.md.
//
// # Quarantine
//
// An agent whose history is damaged, or on which the engine panics, is quarantined (quarantine.go): it ends with HistoryLost,
// its parent is notified, the agents below it are cancelled, and all others continue. A damaged snapshot loses nothing: the
// agent is loaded from its events.
//
// # Two engines
//
// Only the owner of the shard may append (shard.go). An engine takes a new epoch in the ledger before it recovers; every
// append carries the epoch, and the ledger refuses an older one. A new engine asks the owner to hand over: the owner starts
// no more model calls, lets its calls finish and releases the shard. An owner that does not answer is superseded. A
// superseded engine stops all effects, drops all agents and stands by. See docs/adr/0014-one-engine-appends.md.
//
// # Parts
//
// Package admission decides when a model call may start, package slots how many sub-agents are active, and package exchange
// converts between the core and models. None of them depends on the engine.
package engine
