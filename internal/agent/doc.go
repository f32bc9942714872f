// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package agent is the pure core of Nestor: one state machine for orchestrators, sub-agents and single tool calls.
//
//	Step(State, Event) (State, []Effect)
//
// It does no I/O, reads no clock, uses no randomness and starts no goroutine. Its input is an Event with its time, its output
// is a list of Effects, and the State is plain data: the fold of all events. The invariants of the design are tested on this
// function.
//
// # The driver's loop
//
// A driver owns an agent's log and processes its events one at a time:
//
//	next, effects := agent.Step(state, event)
//	ledger.Append(event)           // 1. persist: the event, and with it the intent of its effects
//	state = next                   // 2. only then use the new state
//	stop(inFlight not in agent.Outstanding(state))
//	perform(effects)               // 3. act
//	...                            // 4. results come back as events, which go through the same loop
//
// The order is the contract. An effect is performed after the event that caused it is in the log, and its result changes the
// state after the event with the result is in the log. If a driver crashes at any point, another one can continue with
// nothing but the log:
//
//	state := agent.Replay(agent.State{}, log)
//	for each effect in agent.Outstanding(state) whose result the ledger has under its Key: apply the result
//	apply agent.Restarted{Unknown: tool calls that had started, have no result, and must not be repeated}
//	perform(agent.Outstanding(state))
//
// Effects are level-triggered. Outstanding derives from the state alone what must be in flight; Step returns what the event
// added to it. The driver stops effects that are in flight and no longer outstanding: that is how a cancel reaches a model
// call. Every effect has a Key that is the same after each restart. It is the idempotency key of the effect, and a driver
// performs at most one effect with the same key at a time.
//
// WakeAt requests a Woke event at or after its time.
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
// PhaseActing covers several states that people see; Stage distinguishes them. An agent that ends stays in
// PhaseCancelling until the last of its children has ended; without children it passes through at once.
//
// When a limit is reached, one more model call without tools (PurposePartialAnswer) asks for a partial answer. The agent then
// fails with the limit as its error kind, whatever the model replied. When the history gets close to the model's context
// size, a call summarises its older part (PurposeCompact). Neither counts as an iteration.
//
// # Orchestrators
//
// An orchestrator never ends. It works in turns: a turn takes everything in the inbox, and inputs that arrive meanwhile wait
// for the next one. Its delegations are answered when they start, and each group's results become the input of a later
// turn. Its tools run as tasks; their answers arrive within the turn, unless another input arrives first. Posts, replies to
// agents and confirmations of messages stay in an outbox until they are sent (ItemSent).
//
// A Window is the time between two messages of a person. It counts turns, the tasks and tokens of the whole tree, and
// delegations that end with the same result. At a limit the orchestrator pauses: it begins no turn until a person sends the
// next message. The driver enforces the limits of the tree and sets the fields that the core cannot compute:
// MessageArrived.TreeUsage and ModelReplied.TasksLeft.
//
// # Reviews
//
// If the results of a sub-agent are reviewed, submit_result starts a child with the role of the reviewer and waits for its verdict. A
// rejection is the answer to the call, and the agent continues. After the last round, or if no review is possible, the agent
// succeeds with a warning, or fails with ErrorReviewRejected. A reviewer is not reviewed itself.
//
// # Unusable replies
//
// An empty reply, one that is cut off, one whose calls all have invalid arguments, and one without the data that the output schema
// requires is answered with what is wrong, and the agent continues. If it reaches its limit of iterations after three such replies in a
// row (all of them, if it has fewer), and each has the same defect, it fails with the kind of the defect instead of ErrorIterationLimit.
//
// # Allowances
//
// An orchestrator keeps the standing decisions of people for its chat (Allowed, AllowanceRevoked). Every ask of its tree reaches it as
// Asked; if an allowance covers the call, the approval goes to the outbox in the same step (ItemDecision), and the agent that asked gets
// an ordinary Decided. The approval therefore survives a crash, and it happens once.
//
// # Content labels
//
// State.Labels covers everything that an agent has received. A fact with text carries the labels of its source, and the step that accepts
// the fact adds them. Texts leave an agent with its labels: with a child (Started), an outcome, an ask and a reply to an agent. The history
// has no labels of its own, so a compaction cannot lose them. ToolFinished without a Content is from outside: a driver that forgets a
// source labels too much, never too little.
//
// # Policies
//
// Which calls an agent may make is also decided by policies, which the core receives as verdicts. While policies apply (Started.Policed,
// Judged.Policed), no call starts by itself: Unjudged lists the calls that were just planned and those that could start now, the driver
// judges them with the policies of that moment, and Judged starts, refuses or sends them to a person. It is part of the same append as
// the intents, so a verdict is never older than the intent of its call. Calls are judged again at every start: after an approval, for
// each round of a tool that asks, and after a restart. Without policies there is no such fact. A plain tool of an orchestrator is a task,
// which judges its own call; an orchestrator cannot wait for a decision, so its other calls that need one are refused.
//
// # Quarantine
//
// A driver that cannot read an event of a log, or panics on one, appends Quarantined. It ends the agent in any state; an
// orchestrator, which never ends, is reset and begins another conversation with the next Started. Events before the last
// Quarantined of a log are applied as far as they can be read.
//
// # Invariants
//
// Each is a property test over random sequences with repeated, reordered, foreign and late events and restarts
// (invariants_test.go, by these numbers):
//
//  1. Pending and completed children add up to the started ones; pending grows only when children start, completed never shrinks.
//  2. Completed and Failed absorb every event.
//  3. A repeated or unknown result, decision or message changes nothing.
//  4. Replaying the log, from the beginning or from a snapshot, gives the same state.
//  5. After a cancel the only new effects are cancelling children and reporting to the parent.
//  6. Iterations, time, depth and budgets never exceed their limits, and a reached limit is never reported as success.
//     Without a person's message, turns, tasks and reserved tokens are bounded, whatever the models reply.
//  7. Every call that the model made gets exactly one answer before the next model call, in the model's order.
//  8. An agent is never offered, and never runs, a tool that its kind, role or depth forbids. It never runs a call that needs
//     an approval and has none, or a call with a problem. With separation, the approving person is known and not a requester.
//  9. A fair runner reaches a terminal phase, or a state that waits for a person, from every state.
//  10. Of the calls of a reply, one that may change something runs alone and in the model's order; at most 16 read-only ones
//     run together.
//  11. An allowance approves only calls of its tool whose arguments match, never a call of a role with DenyRequesters, and no call that it
//     covers stays open.
//  12. The answer to a tool's question is the text of a person or a part of it.
//  13. No text is in a context, an outcome, a reply to an agent or a follow-up that lacks the content label of the text's source.
//     Labels are only added.
//  14. In a policed state a call becomes performable only in the step of a Judged that contains it and in which no verdict denies it; every
//     rule that requires an approval was shown to a person who approved the call. No change of policies releases an open ask.
//  15. With a timeout, no call waits for a decision after its time, a timer ends the wait, and silence never performs a call.
//  16. A call that may write counts in the usage when it starts, once however often it begins anew.
//  17. An isolated agent has no effects but model calls and the read-only calls that the agent which delegated to it has named, each once.
//     It ends with data of its closed schema or a fixed text. Nothing else that is reported about it becomes part of the agent that
//     delegated to it.
//  18. A tool gets the arguments of the model, or those that the person wrote who approved the call. Policies judge them in this form, and
//     no one edits a call that has begun, a call of a role that is not editable, or one that requesters may not decide about.
//
// # Files
//
// step.go checks and dispatches facts; step_requesting.go, step_acting.go and step_ending.go handle the phases. turn.go,
// ask.go and pause.go are for orchestrators only. children.go, order.go, budget.go, loop.go and
// clock.go are small state machines. compact.go shortens histories, prompt.go and tools.go build prompts, and text.go
// contains the texts for the model. The dialogues in testdata/scenarios show every flow.
package agent
