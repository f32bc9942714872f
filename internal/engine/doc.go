// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package engine drives agents: it is the only place where the pure core, models, tools and the ledger meet.
//
// Each agent has a mailbox. Facts come in from outside (Deliver) and from effects; one at a time they go through
// agent.Step, are appended to the ledger together with the intents and results of effects, and only then the state
// moves on and new effects are performed. A goroutine exists for an agent only while its mailbox is not empty.
//
//	Deliver ─▶ mailbox ─▶ Step ─▶ ledger.Append ─▶ perform new effects ─▶ results ─▶ mailbox
//	                                        └────▶ stop what is in flight and no longer outstanding
//
// The engine performs what needs no Kubernetes: model calls (through the scheduler), tool calls, timers, and telling a parent
// what has become of its child. Children, posts and questions are the controllers': they are told that an agent has changed
// (Options.Changed), look at its state (View) and bring about what is outstanding there, at their own pace and as often as
// they like. They look at the children of every agent too, so a parent hears of an end even if the process died before.
//
// # Crashes
//
// The result of an effect is appended with the event that tells it to the core, in one transaction. So after a crash an
// effect either has its result in the state, or has not been answered at all: model calls are made again, tools that may
// be repeated are run again, and other tools that had been started are told to the core as unknown (Recover).
//
// Tools that leave no trace outside of the process (Options.AtOnce) run within the step: their calls and answers are part of the
// append that follows, and a crash before it loses nothing that anybody could miss. See docs/adr/0012-tools-at-hand.md.
//
// # Quarantine
//
// An agent whose history is damaged, or on which the engine panics, is quarantined (quarantine.go): it ends with HistoryLost, the one that
// asked for it hears of it, those below it are cancelled, and everybody else goes on. A damaged snapshot is no loss: the events are read.
//
// # Two engines
//
// One engine at a time may append (shard.go). It takes an epoch in the ledger before it recovers, every append carries it, and one with an
// older epoch is refused. A new engine asks the one at work to hand over: that one begins no model call any more, lets its calls finish and
// releases the shard. One that does not answer is followed. An engine that finds that it was followed stops
// everything, forgets every agent and stands by. See docs/adr/0014-one-engine-appends.md.
//
// # Budgets
//
// What a model call may use at most is reserved from the budget of the agent and of everything above it before the call
// is made, and settled after it, so that parallel agents of a tree cannot overshoot together.
package engine
