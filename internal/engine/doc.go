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
// # Two engines
//
// The ledger refuses an append that does not continue the newest event. An engine that is refused has been overtaken:
// it loads the agent again and lets what it wanted to record go through the core once more, which knows what it has
// heard already. Only who has appended performs what came of it, so nothing is done twice; if an agent then stands
// still, the engine that appended is gone, and this one takes over.
//
// # Budgets
//
// What a model call may use at most is reserved from the budget of the agent and of everything above it before the call
// is made, and settled after it, so that parallel agents of a tree cannot overshoot together.
package engine
