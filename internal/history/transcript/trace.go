// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// Trace returns up to limit segments of an agent, beginning with the event since, and the seq of the next one, or 0 if there is none.
func (r *Reader) Trace(ctx context.Context, uid string, since int64, limit int) (segments []api.Segment, next int64, err error) {
	c, err := r.Open(ctx, uid, max(0, since-1))
	if err != nil {
		return nil, 0, err
	}
	var t tracer
	var newest position // before the newest segment, with which a reader continues
	defer func() { r.cache.add(uid, newest) }()
	for {
		steps, err := c.steps(ctx, ledger.MaxLimit)
		if err != nil {
			return nil, 0, err
		}
		for _, step := range steps {
			t.add(step)
			if len(t.segments) > limit {
				return t.segments[:limit], t.segments[limit].Seq, nil
			}
			if t.changed() {
				newest = c.position
			}
			c.advance(step)
		}
		if len(steps) < ledger.MaxLimit {
			if segments = t.open(); len(segments) > limit {
				return segments[:limit], segments[limit].Seq, nil
			}
			return segments, 0, nil
		}
	}
}

// tracer collects segments. Each time between two events is a segment; equal ones are joined.
type tracer struct {
	segments []api.Segment
	// current is what the agent does since the newest step.
	current *api.Segment
	ended   bool
}

func (t *tracer) add(step Step) {
	if t.ended {
		return
	}
	at := step.Record.At
	if current := t.current; current != nil {
		if at.Before(current.StartTime.Time) {
			at = current.StartTime.Time // as the agent's clock, which never goes back
		}
		interrupted(current, step.Event.Fact)
		end := metav1.NewMicroTime(at)
		current.EndSeq, current.EndTime = step.Record.Seq, &end
		t.segments = join(t.segments, *current)
	}
	t.ended = step.After.Phase.Terminal()
	t.current = nil
	if !t.ended {
		t.current = activity(step.UID, step.After)
		t.current.Seq, t.current.StartTime = step.Record.Seq, metav1.NewMicroTime(at)
	}
}

// open returns the segments, with that of what the agent does now.
func (t *tracer) open() []api.Segment {
	if t.current == nil {
		return t.segments
	}
	return join(t.segments, *t.current)
}

// changed reports whether the newest step began another segment.
func (t *tracer) changed() bool {
	return t.current != nil && (len(t.segments) == 0 || !sameActivity(t.segments[len(t.segments)-1], *t.current))
}

// join appends a segment, or extends the last one by it.
func join(segments []api.Segment, s api.Segment) []api.Segment {
	if len(segments) > 0 {
		if last := &segments[len(segments)-1]; sameActivity(*last, s) {
			last.EndSeq, last.EndTime = s.EndSeq, s.EndTime
			return segments
		}
	}
	return append(segments, s)
}

func sameActivity(a, b api.Segment) bool {
	return a.Kind == b.Kind && a.Reason == b.Reason && a.ModelCall == b.ModelCall && slices.Equal(a.ToolCalls, b.ToolCalls) && slices.Equal(a.Children, b.Children)
}

// interrupted corrects a segment in which nothing was done, because no operator or slot was available.
func interrupted(s *api.Segment, fact agent.Fact) {
	if s.Kind != api.SegmentModel && s.Kind != api.SegmentTool && s.Kind != api.SegmentQueue {
		return
	}
	switch fact.(type) {
	case agent.Restarted:
		s.Kind, s.Reason = api.SegmentQueue, api.SegmentRestart
	case agent.Resumed:
		s.Kind, s.Reason = api.SegmentQueue, api.SegmentSlot
	}
}

// activity returns what an agent in a state does.
func activity(uid string, s agent.State) *api.Segment {
	switch s.Phase {
	case agent.PhaseRequesting:
		return requesting(uid, *s.ModelCall)
	case agent.PhaseActing:
		return acting(uid, s)
	case agent.PhaseCancelling:
		return &api.Segment{Kind: api.SegmentChildren, Children: pending(s)}
	}
	switch children := pending(s); {
	case len(children) > 0:
		return &api.Segment{Kind: api.SegmentChildren, Children: children}
	case s.Phase == agent.PhaseIdle && s.Hold != nil && len(s.Inbox) > 0:
		return &api.Segment{Kind: api.SegmentQueue, Reason: api.SegmentHold}
	case s.Paused != nil:
		return &api.Segment{Kind: api.SegmentIdle, Reason: api.SegmentPaused}
	}
	return &api.Segment{Kind: api.SegmentIdle}
}

func requesting(uid string, call agent.ModelCall) *api.Segment {
	s := &api.Segment{Kind: api.SegmentModel, ModelCall: api.ModelCallName(uid, call.ID, call.Attempt)}
	switch {
	case call.RetryTime != 0:
		s.Kind, s.Reason = api.SegmentQueue, api.SegmentRetry
	case call.Quota != nil:
		s.Kind, s.Reason = api.SegmentQueue, api.SegmentQuota
	}
	return s
}

// acting describes an agent whose tool calls are in flight. The order of the kinds is that in which the agent's clock counts the time: not
// while it waits only for people.
func acting(uid string, s agent.State) *api.Segment {
	in := func(states ...agent.CallState) []agent.BatchCall {
		return slices.Collect(func(yield func(agent.BatchCall) bool) {
			for _, c := range s.Batch {
				if slices.Contains(states, c.State) && !yield(c) {
					return
				}
			}
		})
	}
	asked, delegated := in(agent.CallUndecided, agent.CallAsked), in(agent.CallDelegated)
	switch running := in(agent.CallRunning); {
	case len(running) > 0:
		return during(uid, api.SegmentTool, running)
	case len(delegated) > 0 && (len(asked) == 0 || !s.WaitsForPerson()):
		segment := during(uid, api.SegmentChildren, delegated)
		segment.Children = pending(s)
		return segment
	case len(asked) > 0:
		segment := during(uid, api.SegmentUser, asked)
		segment.Reason = api.SegmentQuestion
		if asked[0].State == agent.CallUndecided {
			segment.Reason = api.SegmentApproval
		}
		return segment
	}
	return &api.Segment{Kind: api.SegmentQueue}
}

func during(uid string, kind api.SegmentKind, calls []agent.BatchCall) *api.Segment {
	s := &api.Segment{Kind: kind}
	for _, c := range calls {
		s.ToolCalls = append(s.ToolCalls, api.SegmentCall{ID: c.ID, Tool: c.Tool})
	}
	if c := calls[0]; c.ModelCall != "" {
		s.ModelCall = api.ModelCallName(uid, c.ModelCall, max(1, c.Attempt))
	}
	return s
}

// pending returns the names of the children that have not ended.
func pending(s agent.State) []string {
	var names []string
	for _, child := range s.Children.Live {
		if child.Outcome == nil {
			names = append(names, child.Name)
		}
	}
	return names
}

// Close ends a trace at the end of an agent that no event ended, such as a chat that was deleted.
func Close(segments []api.Segment, at time.Time) {
	if len(segments) == 0 {
		return
	}
	last := &segments[len(segments)-1]
	if last.EndTime == nil {
		end := metav1.NewMicroTime(at)
		if at.Before(last.StartTime.Time) {
			end = last.StartTime
		}
		last.EndTime = &end
	}
}
