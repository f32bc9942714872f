// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"sync"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/tool"
)

// A tool asks a person in one of two ways (agent.ToolAsked). It ends its call with the question and runs again with the
// answer: nothing is in flight meanwhile. Or it asks during the call, which stays in flight in this process until the
// answer is recorded. When the agent changes hands, such a call is abandoned: the next owner runs a repeatable tool
// again, answers it with what is recorded, and reports any other as unknown.

var errAbandoned = errors.New("the call waited for a person when its agent was handed over")

// openQuestion is a question of a call in flight.
type openQuestion struct {
	call string
	// answered is how many answers the call had when it asked.
	answered int
	answer   chan string
}

// toolAsked returns the fact that a tool ended its call with a question.
func (a *actor) toolAsked(e agent.RunTool, result tool.Result) agent.ToolAsked {
	before, request := a.toolInput(e.Call), result.Output.Input
	return agent.ToolAsked{Call: e.Call, Question: request.Question, State: request.State, Number: before.Number + 1, Answered: len(before.Answers),
		Content: agent.Content(result.Content)}
}

func (a *actor) toolInput(call string) agent.ToolInput {
	a.stateMu.Lock()
	defer a.stateMu.Unlock()
	return a.state.ToolInput(call)
}

// asker returns the function with which a tool asks a person during a call. Questions of one call wait for each other.
func (a *actor) asker(e agent.RunTool, content tool.Content) func(context.Context, string) (string, error) {
	var mu sync.Mutex
	used := 0 // how many of the recorded answers this run of the tool has used
	number := a.toolInput(e.Call).Number
	return func(ctx context.Context, question string) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		answers := a.toolInput(e.Call).Answers
		for n := used; n < len(answers); n++ {
			if answers[n].Question == question { // the tool runs again and asks the same
				used = n + 1
				return answers[n].Answer, nil
			}
		}
		number++ // even if the earlier question was given up and is not recorded yet
		answer, err := a.askDuringCall(ctx, agent.ToolAsked{Call: e.Call, Question: question, Number: number, Answered: len(answers), Open: true,
			Content: agent.Content(content)}, e.Key())
		used = len(answers) + 1
		return answer, err
	}
}

// askDuringCall asks a person and waits for the answer.
func (a *actor) askDuringCall(ctx context.Context, question agent.ToolAsked, key string) (string, error) {
	q := &openQuestion{call: question.Call, answered: question.Answered, answer: make(chan string, 1)}
	a.mu.Lock()
	if a.draining || a.dropped {
		a.abandonLocked(key)
		a.mu.Unlock()
		return "", errAbandoned
	}
	if a.questions == nil {
		a.questions = map[string]*openQuestion{}
	}
	a.questions[key] = q
	a.enqueueLocked(delivery{fact: question})
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.questions[key] == q {
			delete(a.questions, key)
		}
	}()
	select {
	case answer := <-q.answer:
		return answer, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// answerTools passes recorded answers to the calls in flight that wait for them.
func (a *actor) answerTools(s agent.State) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, q := range a.questions {
		if c, ok := findCall(s, q.call); ok && c.State != agent.CallRunning && c.State != agent.CallAsked {
			continue // policies have not judged the answer
		}
		if answers := s.ToolInput(q.call).Answers; len(answers) > q.answered {
			q.answer <- answers[q.answered].Answer
			delete(a.questions, key)
		}
	}
}

// abandonQuestionsLocked abandons the calls that wait for a person, which could take forever.
func (a *actor) abandonQuestionsLocked() {
	for key := range a.questions {
		a.abandonLocked(key)
	}
}

func (a *actor) abandonLocked(key string) {
	if a.abandoned == nil {
		a.abandoned = map[string]bool{}
	}
	a.abandoned[key] = true
	if stop, ok := a.inFlight[key]; ok {
		stop()
	}
}

// dropAbandoned reports whether a call was abandoned. The ledger has only its intent then.
func (a *actor) dropAbandoned(e agent.RunTool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.abandoned[e.Key()] {
		return false
	}
	delete(a.inFlight, e.Key())
	return true
}

func (a *actor) toolFact(e agent.RunTool, result tool.Result) (agent.Fact, []ledger.Image) {
	if request := result.Output.Input; request != nil && result.Failure == tool.NoFailure {
		return a.toolAsked(e, result), nil
	}
	return toolFinished(e, result)
}
