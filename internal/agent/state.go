// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

// Phase is what an agent is doing.
type Phase string

// The phases of an agent. What an agent in PhaseActing waits for is a question for Standing.
const (
	// PhaseNew: nothing has happened; only Started has an effect.
	PhaseNew Phase = ""
	// PhaseIdle: an orchestrator between two turns.
	PhaseIdle Phase = "Idle"
	// PhaseRequesting: a model call is in flight, or waits to be tried again.
	PhaseRequesting Phase = "Requesting"
	// PhaseActing: the calls of the model's last reply are being answered.
	PhaseActing Phase = "Acting"
	// PhaseCancelling: the agent's end is decided; it waits until its children have stopped.
	PhaseCancelling Phase = "Cancelling"
	// PhaseCompleted: it ended with a result.
	PhaseCompleted Phase = "Completed"
	// PhaseFailed: it ended without one, was cancelled, or reached a limit.
	PhaseFailed Phase = "Failed"
)

// Terminal says whether an agent in this phase has ended.
func (p Phase) Terminal() bool { return p == PhaseCompleted || p == PhaseFailed }

// State is all that an agent is. It is plain data: states are never changed, a step returns a new one.
type State struct {
	Config Config `json:"config"`
	Phase  Phase  `json:"phase"`
	Clock  Clock  `json:"clock"`
	// Next is the configuration that takes effect with an orchestrator's next turn, and Hold why none begins.
	Next *Config `json:"next,omitempty"`
	Hold *Hold   `json:"hold,omitempty"`
	// Edits counts the changes of the configuration.
	Edits int `json:"edits,omitempty"`

	// History is what the model sees of the past; Summary stands for what was cut off its beginning.
	History History `json:"history"`
	Summary string  `json:"summary,omitempty"`

	// Request is the model call of PhaseRequesting, Batch the tool calls of PhaseActing.
	Request *Request `json:"request,omitempty"`
	Batch   []Call   `json:"batch,omitempty"`
	// Opening says that the batch reads the files that a sub-agent is shown first, Planned are calls that wait until the conversation
	// has been summarised for the agents that they ask for, and Digest is the newest such summary.
	Opening bool     `json:"opening,omitempty"`
	Planned *Planned `json:"planned,omitempty"`
	Digest  *Digest  `json:"digest,omitempty"`

	Children Children `json:"children,omitzero"`

	// Turn, Inbox, Asks and Outbox are an orchestrator's.
	Turn   Turn    `json:"turn,omitzero"`
	Inbox  []Input `json:"inbox,omitempty"`
	Asks   []Ask   `json:"asks,omitempty"`
	Outbox []Item  `json:"outbox,omitempty"`
	// Askers are the people who have said something to the agent.
	Askers Askers `json:"askers,omitzero"`
	// Window counts what has happened since the last message of a person, and Paused says which of its limits was reached.
	Window Window `json:"window,omitzero"`
	Paused *Pause `json:"paused,omitempty"`
	// Trouble is why the last turn of an orchestrator ended badly; the next turn clears it.
	Trouble *Trouble `json:"trouble,omitempty"`

	Budget Budget `json:"budget,omitzero"`
	Usage  Usage  `json:"usage,omitzero"`
	Loop   Loop   `json:"loop,omitzero"`
	// Iterations counts the model calls of the agent, or of the orchestrator's turn, that count.
	Iterations int `json:"iterations,omitempty"`

	// Lost is why an orchestrator that had begun is new again.
	Lost *Lost `json:"lost,omitempty"`
	// Shown says that the object of a tool run shows that it has begun.
	Shown bool `json:"shown,omitempty"`
	// Bailout is the limit that was reached, once one is.
	Bailout *Trouble `json:"bailout,omitempty"`
	// Outcome is how the agent ends, from PhaseCancelling on.
	Outcome *Outcome `json:"outcome,omitempty"`

	// Counters from which ids derive, and the memories that make repeated events harmless.
	Requests int    `json:"requests,omitempty"`
	Posts    int    `json:"posts,omitempty"`
	Seen     Recent `json:"seen,omitempty"`
	CallIDs  Recent `json:"callIDs,omitempty"`

	// byBytes is set while an event is applied that was recorded with EstimateBytes.
	byBytes bool
	// frame is that of the configuration, or nil.
	frame *frame
}

// Trouble is a limit that was reached or an error that ended a turn.
type Trouble struct {
	Kind   ErrorKind `json:"kind"`
	Reason string    `json:"reason"`
}

// Purpose is what a model call is for.
type Purpose string

// What a model call is for.
const (
	// PurposeTurn: the next step of the work.
	PurposeTurn Purpose = "turn"
	// PurposeLastWords: a limit is reached, and the model may say, without tools, how far it got. It does not count as
	// an iteration.
	PurposeLastWords Purpose = "last-words"
	// PurposeCompact: the older part of the history is to become a summary. It does not count as an iteration either.
	PurposeCompact Purpose = "compact"
	// PurposeContext: the conversation is to be summarised for agents that are about to be asked for. It does not count either.
	PurposeContext Purpose = "context"
)

// Request is a model call in flight, or one that waits to be tried again.
type Request struct {
	ID      string  `json:"id"`
	Attempt int     `json:"attempt"`
	Purpose Purpose `json:"purpose"`
	// RetryAt is when the next attempt may begin; zero when one is in flight.
	RetryAt  Time   `json:"retryAt,omitempty"`
	Reserved Amount `json:"reserved,omitzero"`
	// Cause is why the attempt before failed, and Words are the provider's, while the next one is waited for.
	Cause RetryCause `json:"cause,omitempty"`
	Words string     `json:"words,omitempty"`
	// Quota is why the call waits for a quota, if it does.
	Quota *QuotaWait `json:"quota,omitempty"`
	// Keep is, for a compaction, how many of the newest messages stay as they are.
	Keep int `json:"keep,omitempty"`
}

// Standing is where an agent stands, in the words of DESIGN: PhaseActing is told apart by what is waited for.
type Standing string

// Where an agent stands.
const (
	StandingPending           Standing = "Pending"
	StandingIdle              Standing = "Idle"
	StandingActive            Standing = "Active"
	StandingWaitingForUser    Standing = "WaitingForUser"
	StandingAwaitingApproval  Standing = "AwaitingApproval"
	StandingAwaitingSubAgents Standing = "AwaitingSubAgents"
	StandingCancelling        Standing = "Cancelling"
	StandingCompleted         Standing = "Completed"
	StandingFailed            Standing = "Failed"
)

// Standing tells where the agent stands. A person comes first: an agent that needs one says so even while other
// calls of the same reply are still at work.
func (s State) Standing() Standing {
	switch s.Phase {
	case PhaseNew:
		return StandingPending
	case PhaseIdle:
		return StandingIdle
	case PhaseCancelling:
		return StandingCancelling
	case PhaseCompleted:
		return StandingCompleted
	case PhaseFailed:
		return StandingFailed
	case PhaseRequesting:
		return StandingActive
	}
	var asked, undecided, running, children bool
	for _, c := range s.Batch {
		switch c.State {
		case CallAsked:
			asked = true
		case CallUndecided, CallHeld:
			undecided = true
		case CallRunning:
			running = true
		case CallDelegated:
			children = true
		}
	}
	switch {
	case undecided:
		return StandingAwaitingApproval
	case asked:
		return StandingWaitingForUser
	case running:
		return StandingActive
	case children:
		return StandingAwaitingSubAgents
	}
	return StandingActive
}

// WaitsForPerson says that nothing of the agent's own is at work and that all it waits for needs a person, here or
// further below. Such time does not count.
func (s State) WaitsForPerson() bool {
	if s.Phase != PhaseActing {
		return false
	}
	waits := false
	for _, c := range s.Batch {
		switch c.State {
		case CallRunning:
			return false
		case CallAsked, CallUndecided:
			waits = true
		case CallDelegated:
			if !s.Children.allWaiting(c.ID) {
				return false
			}
			waits = true
		}
	}
	return waits
}

// Same says that nothing but time has passed between two states of which one is a step after the other. It compares what the
// step functions replace when they change something, not the contents, so it costs the same for every state; two states
// that were made apart are not the same to it.
func (s State) Same(t State) bool {
	return s.Phase == t.Phase && s.Edits == t.Edits && s.History == t.History && s.Summary == t.Summary && s.Request == t.Request &&
		same(s.Batch, t.Batch) && same(s.Children.Live, t.Children.Live) && same(s.Children.Groups, t.Children.Groups) &&
		s.Children.Started == t.Children.Started && s.Children.Completed == t.Children.Completed &&
		s.Turn == t.Turn && s.Window.same(t.Window) && s.Paused == t.Paused && same(s.Inbox, t.Inbox) && same(s.Asks, t.Asks) && same(s.Outbox, t.Outbox) && s.Trouble == t.Trouble &&
		s.Budget == t.Budget && s.Loop == t.Loop && s.Iterations == t.Iterations && s.Bailout == t.Bailout && s.Outcome == t.Outcome &&
		same(s.Seen, t.Seen) && same(s.CallIDs, t.CallIDs) && s.Shown == t.Shown && s.Lost == t.Lost
}

func same[T any](a, b []T) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }
