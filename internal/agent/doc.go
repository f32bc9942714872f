// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package agent is the pure core of Nestor: one state machine for orchestrators, sub-agents and single tool calls.
//
//	Step(State, Event) (State, []Effect)
//
// It does no I/O, knows no clock, uses no randomness and starts no goroutine. Everything that happens to an agent comes in as
// an Event with its time; everything that must be done goes out as an Effect; the State is plain data in between, and the
// fold of all events is the state. What the design promises about agents is proved here, on this function.
//
// # The driver's loop
//
// A driver owns an agent's log and does this for each event, one at a time:
//
//	next, effects := agent.Step(state, event)
//	ledger.Append(event)           // 1. persist: the event, and with it the intent of its effects
//	state = next                   // 2. only then move on
//	stop(inFlight not in agent.Outstanding(state))
//	perform(effects)               // 3. act
//	...                            // 4. results come back as events, which go through the same loop
//
// The order is the contract. An effect is performed after the event that caused it is in the log, and the state moves on
// after the event that reports its result is. A driver that dies at any point can be replaced by another one, which needs
// nothing but the log:
//
//	state := agent.Replay(agent.State{}, log)
//	for each effect in agent.Outstanding(state) whose result the ledger knows by its Key: feed the result
//	feed agent.Restarted{Unknown: tool calls that had begun, have no result, and may not be repeated}
//	perform(agent.Outstanding(state))
//
// Effects are level-triggered. Outstanding derives from the state alone what must be in flight; what Step returns is the
// difference that the event made to it. Something that is in flight and no longer outstanding is to be stopped: that is
// how a cancel reaches a request on its way. Every effect has a Key that is the same after each restart; it is the
// idempotency key of the effect, and a driver performs an effect of a key at most once at a time.
//
// WakeAt asks for a Woke event whose time is not before the one that was asked for.
//
// # Phases
//
//	         Started                      MessageArrived, results, questions
//	New ────────────────▶ Idle ◀──────────────────────────────────────────────┐
//	 │                     │  (orchestrators only)                             │
//	 │ Started             │ something has arrived                             │ final answer
//	 ▼                     ▼                                                   │
//	Requesting ◀─────────────────────────────────┐                             │
//	 │   ▲ retry: WakeAt, Woke                   │ every call is answered      │
//	 │   └────┐                                  │                             │
//	 ├────────┘                                  │                             │
//	 │ ModelReplied with calls                   │                             │
//	 ├──────────────▶ Acting ────────────────────┘                             │
//	 │                 per call: Undecided ▶ Held ▶ Queued ▶ Running ▶ Done    │
//	 │                           Asked ▶ Done, Queued ▶ Delegated ▶ Done       │
//	 ├─────────────────────────────────────────────────────────────────────────┘
//	 │ final answer, submit_result, submit_error, Cancelled, a limit
//	 ▼
//	Cancelling ──── all children have ended ───▶ Completed | Failed
//
// PhaseActing covers what people see as several states: Standing tells them apart. An agent that ends waits in
// PhaseCancelling until the last of its children has acknowledged; with no children that takes no time.
//
// A limit leads to one more model call without tools (PurposeLastWords) and then to Failed with the limit as its kind,
// whatever the model said. A history that nears the model's context leads to a call that summarises its older part
// (PurposeCompact). Neither counts as an iteration.
//
// # Orchestrators
//
// An orchestrator never ends. It has turns: everything that has arrived goes into one, and what arrives meanwhile goes
// into the next. Its delegations are answered at once and their results come as the input of a later turn, once for each
// group. Its tools run as tasks of their own; their answers come within the turn, unless something else arrives first.
// What it sends (posts, replies to agents, acknowledgements of messages) stays in an outbox until it is Delivered.
//
// What happens between two messages of a person is a Window: its turns, the tasks and tokens of the whole tree, and
// delegations that come to the same result are counted. At a limit the orchestrator pauses: it begins no turn until a person
// sends the next message. The limits of the tree below it are the driver's to keep, which fills in what the core cannot
// know: MessageArrived.Spent and ModelReplied.TasksLeft.
//
// # Quarantine
//
// A driver that cannot read an event of a log, or that fails on one, appends Quarantined. It ends the agent in whatever state it is; an
// orchestrator, which has no end, is new again and begins another conversation with the next Started. A log is read from its last
// Quarantined: what is before it gives the state as far as it can be read, and no more.
//
// # Invariants
//
// Each is a property test over random sequences with repeated, reordered, foreign and late events and restarts
// (invariants_test.go, by these numbers):
//
//  1. Pending and completed children add up to the started ones; pending only shrinks but by starting, completed only grows.
//  2. Completed and Failed absorb every event.
//  3. A repeated or unknown result, decision or message changes nothing.
//  4. Replaying the log, from the beginning or from a snapshot, gives the same state.
//  5. After a cancel there are no new effects but cancelling children and telling the parent.
//  6. Iterations, time, depth and budgets never exceed their limits, and a reached limit is never told as success. Without a
//     person's message, turns, tasks and reserved tokens are bounded, whatever the models say.
//  7. Every call that the model made gets exactly one answer before the next model call, in the model's order.
//  8. An agent is never offered, and never does, what its kind, role and depth forbid, what a person has not approved, or what
//     has a problem that the driver found. If its role asks for separation, who approved is known and did not ask for the work.
//  9. A fair runner reaches an end, or a state that waits for a person, from every state.
//  10. Of the calls of a reply, one that may change something runs alone and in the model's order; at most 16 read-only ones
//     run together.
//
// # Reading on
//
// step.go checks and dispatches facts; step_requesting.go, step_acting.go and step_ending.go handle the phases. turn.go and
// ask.go are for orchestrators only, and pause.go stops one that runs away. children.go, order.go, budget.go, loop.go and
// clock.go are small state machines. compact.go shortens histories, prompt.go and tools.go build requests, and text.go has the texts for
// the model.
// The dialogues in testdata/scenarios show every flow in the words of the design.
package agent
