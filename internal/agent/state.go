// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import "github.com/nestor-dev/nestor/internal/agent/budget"

type Phase string

// The phases of an agent. Stage distinguishes what an agent in PhaseActing waits for.
const (
	// PhaseNew: only Started has an effect.
	PhaseNew Phase = ""
	// PhaseIdle: an orchestrator between two turns.
	PhaseIdle Phase = "Idle"
	// PhaseRequesting: a model call is in flight or waits for a retry.
	PhaseRequesting Phase = "Requesting"
	// PhaseActing: the tool calls of the model's last reply are in flight.
	PhaseActing Phase = "Acting"
	// PhaseCancelling: the outcome is decided; the agent waits until its children have stopped.
	PhaseCancelling Phase = "Cancelling"
	// PhaseCompleted: it ended with a result.
	PhaseCompleted Phase = "Completed"
	// PhaseFailed: it ended without one, was cancelled, or reached a limit.
	PhaseFailed Phase = "Failed"
)

// Terminal reports whether an agent in this phase has ended.
func (p Phase) Terminal() bool { return p == PhaseCompleted || p == PhaseFailed }

// State is the complete state of an agent. It is immutable plain data: a step returns a new one.
type State struct {
	Config Config `json:"config"`
	Phase  Phase  `json:"phase"`
	Clock  Clock  `json:"clock"`
	// NextConfig is the configuration that takes effect with an orchestrator's next turn, and Hold is why no turn begins.
	NextConfig *Config `json:"nextConfig,omitempty"`
	Hold       *Hold   `json:"hold,omitempty"`
	// ConfigEdits counts the configuration changes.
	ConfigEdits int `json:"configEdits,omitempty"`

	// History is the conversation as the model sees it; Summary replaces its compacted beginning.
	History History `json:"history"`
	Summary string  `json:"summary,omitempty"`

	// ModelCall is the model call in PhaseRequesting, Batch the tool calls in PhaseActing.
	ModelCall *ModelCall  `json:"modelCall,omitempty"`
	Batch     []BatchCall `json:"batch,omitempty"`
	// ReadingContextFiles reports that the batch reads the context files or the inputs by reference of a sub-agent. Planned are calls that wait for a
	// summary of the conversation, and SharedSummary is the newest such summary.
	ReadingContextFiles bool           `json:"readingContextFiles,omitempty"`
	Planned             *PlannedCalls  `json:"planned,omitempty"`
	SharedSummary       *SharedSummary `json:"sharedSummary,omitempty"`

	Children Children `json:"children,omitzero"`
	// Review is used by sub-agents whose results are reviewed.
	Review Reviewing `json:"review,omitzero"`

	// Turn, Inbox, Asks and Outbox are used by orchestrators only.
	Turn   Turn    `json:"turn,omitzero"`
	Inbox  []Input `json:"inbox,omitempty"`
	Asks   []Ask   `json:"asks,omitempty"`
	Outbox []Item  `json:"outbox,omitempty"`
	// Allowances are the standing decisions of people for the chat of an orchestrator.
	Allowances []Allowance `json:"allowances,omitempty"`
	// Title is the title that the model proposed for the chat.
	Title string `json:"title,omitempty"`
	// Requesters are the authors of the messages to the agent.
	Requesters Requesters `json:"requesters,omitzero"`
	// Labels are the content labels of everything that the agent has received.
	Labels Labels `json:"labels,omitempty"`
	// Window counts since the last message of a person, and Paused is set when one of its limits was reached.
	Window Window `json:"window,omitzero"`
	Paused *Pause `json:"paused,omitempty"`
	// TurnFailure is why the last turn of an orchestrator failed; the next turn clears it.
	TurnFailure *Failure `json:"turnFailure,omitempty"`

	Budget budget.Budget `json:"budget,omitzero"`
	Usage  budget.Usage  `json:"usage,omitzero"`
	Loop   Loop          `json:"loop,omitzero"`
	Defect Defect        `json:"defect,omitzero"`
	// Iterations counts the iterations of the agent, or of the orchestrator's turn.
	Iterations int `json:"iterations,omitempty"`

	// HistoryLoss is why an orchestrator that had begun was reset.
	HistoryLoss *HistoryLoss `json:"historyLoss,omitempty"`
	// StartPublished reports that the status of a tool run's object shows that the run has started.
	StartPublished bool `json:"startPublished,omitempty"`
	// RemoteOpen reports that a remote agent may have unfinished work of this agent.
	RemoteOpen bool `json:"remoteOpen,omitempty"`
	// LimitReached is the limit that was reached, if any.
	LimitReached *Failure `json:"limitReached,omitempty"`
	// Outcome is the outcome of the agent, set from PhaseCancelling on.
	Outcome *Outcome `json:"outcome,omitempty"`

	// Counters for ids, and recent ids to recognise repeated events.
	ModelCalls int    `json:"modelCalls,omitempty"`
	Posts      int    `json:"posts,omitempty"`
	Seen       Recent `json:"seen,omitempty"`
	CallIDs    Recent `json:"callIDs,omitempty"`

	// Policed reports that policies apply: no call is performed without a verdict. PolicyWait is why calls could not be judged.
	Policed    bool   `json:"policed,omitempty"`
	PolicyWait string `json:"policyWait,omitempty"`
	// Recalled counts the results that a fork got from its record, by identical call.
	Recalled map[string]int `json:"recalled,omitempty"`
	// answered are the calls whose results the current step has moved into the history. It is empty between steps.
	answered []BatchCall
	// judgedNow are the calls that the current step has judged and permitted. It is empty between steps.
	judgedNow []string

	// frame belongs to the configuration; it may be nil.
	frame *frame
}

// Failure is a limit that was reached, or an error that ended a turn.
type Failure struct {
	Kind   ErrorKind `json:"kind"`
	Reason string    `json:"reason"`
}

// Purpose is the purpose of a model call.
type Purpose string

// The purposes of a model call. Only PurposeTurn counts as an iteration.
const (
	// PurposeTurn continues the work.
	PurposeTurn Purpose = "Turn"
	// PurposePartialAnswer asks, after a limit was reached, for a partial answer without tools.
	PurposePartialAnswer Purpose = "PartialAnswer"
	// PurposeCompact summarises the older part of the history.
	PurposeCompact Purpose = "Compact"
	// PurposeContext summarises the conversation for agents that are about to be started.
	PurposeContext Purpose = "Context"
)

// ModelCall is a model call that is in flight or waits for a retry.
type ModelCall struct {
	ID      string  `json:"id"`
	Attempt int     `json:"attempt"`
	Purpose Purpose `json:"purpose"`
	// RetryTime is when the next attempt may start; zero while one is in flight.
	RetryTime Time          `json:"retryTime,omitempty"`
	Reserved  budget.Amount `json:"reserved,omitzero"`
	// Cause is why the previous attempt failed and ProviderMessage the provider's error message, until the next attempt starts.
	Cause           RetryCause `json:"cause,omitempty"`
	ProviderMessage string     `json:"providerMessage,omitempty"`
	// Quota is why the call waits for a quota, if it does.
	Quota *QuotaWait `json:"quota,omitempty"`
	// Keep is, for a compaction, how many of the newest messages are kept.
	Keep int `json:"keep,omitempty"`
}

// Stage refines Phase: it distinguishes what an agent in PhaseActing waits for.
type Stage string

// The stages of an agent.
const (
	StagePending             Stage = "Pending"
	StageIdle                Stage = "Idle"
	StageActive              Stage = "Active"
	StageWaitingForUser      Stage = "WaitingForUser"
	StageWaitingForApproval  Stage = "WaitingForApproval"
	StageWaitingForSubAgents Stage = "WaitingForSubAgents"
	StageCancelling          Stage = "Cancelling"
	StageCompleted           Stage = "Completed"
	StageFailed              Stage = "Failed"
	StageCancelled           Stage = "Cancelled"
)

// Stage returns the stage of the agent. Waiting for a person takes precedence, even while other calls of the same reply are
// running.
func (s State) Stage() Stage {
	switch s.Phase {
	case PhaseNew:
		return StagePending
	case PhaseIdle:
		return StageIdle
	case PhaseCancelling:
		return StageCancelling
	case PhaseCompleted:
		return StageCompleted
	case PhaseFailed:
		return s.Outcome.Kind.Stage()
	case PhaseRequesting:
		return StageActive
	}
	var asked, undecided, running, children bool
	for _, c := range s.Batch {
		switch c.State {
		case CallAsked:
			asked = true
		case CallUndecided, CallHeld:
			undecided = undecided || !s.needsVerdict(c)
		case CallRunning:
			running = true
		case CallDelegated:
			children = true
		}
	}
	switch {
	case undecided:
		return StageWaitingForApproval
	case asked:
		return StageWaitingForUser
	case running:
		return StageActive
	case children:
		return StageWaitingForSubAgents
	}
	return StageActive
}

// WaitsForPerson reports whether the agent waits only for people, here or further below. Such time does not count.
func (s State) WaitsForPerson() bool {
	if s.Phase != PhaseActing {
		return false
	}
	waits := false
	for _, c := range s.Batch {
		switch c.State {
		case CallRunning:
			return false
		case CallAsked:
			waits = true
		case CallUndecided:
			waits = !s.needsVerdict(c) || waits
		case CallDelegated:
			if !s.Children.allWaiting(c.ID) {
				return false
			}
			waits = true
		}
	}
	return waits
}

// UnchangedSince reports whether nothing but time has passed between two states, one of which was derived from the other by
// steps. It compares the references that steps replace and not the contents, so its cost is constant; states that were built
// separately always differ.
func (s State) UnchangedSince(t State) bool {
	return s.Phase == t.Phase && s.ConfigEdits == t.ConfigEdits && s.History == t.History && s.Summary == t.Summary && s.ModelCall == t.ModelCall &&
		same(s.Batch, t.Batch) && same(s.Children.Live, t.Children.Live) && same(s.Children.Groups, t.Children.Groups) &&
		s.Children.Started == t.Children.Started && s.Children.Finished == t.Children.Finished &&
		s.Turn == t.Turn && s.Window.same(t.Window) && s.Paused == t.Paused && same(s.Inbox, t.Inbox) && same(s.Asks, t.Asks) && same(s.Outbox, t.Outbox) && same(s.Allowances, t.Allowances) && s.Title == t.Title && s.TurnFailure == t.TurnFailure &&
		s.Budget == t.Budget && s.Loop == t.Loop && s.Defect == t.Defect && s.Iterations == t.Iterations && s.LimitReached == t.LimitReached && s.Outcome == t.Outcome &&
		same(s.Seen, t.Seen) && same(s.CallIDs, t.CallIDs) && s.StartPublished == t.StartPublished && s.RemoteOpen == t.RemoteOpen && same(s.Labels, t.Labels) && s.HistoryLoss == t.HistoryLoss &&
		s.Policed == t.Policed && s.PolicyWait == t.PolicyWait
}

func same[T any](a, b []T) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }
