// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nestor-dev/nestor/internal/model/scripted"
)

// script is the model's script. The instruction "Job NAME" selects the behaviour.
const script = `
name: upgrade
rules:
- match: {role: orchestrator, from: user, lastMessage: '/Please (?P<job>ask|approve)/'}
  reply: {toolCalls: [{name: delegate_to_agent, arguments: {role: clerk, task: 'Job {{.job}}'}}]}
- match: {role: orchestrator, from: user, lastMessage: 'Remember blue'}
  reply: {text: I will.}
- match: {role: orchestrator, from: user, lastMessage: 'What did I say', history: '/Remember (?P<colour>\w+)/'}
  reply: {text: 'You said {{.colour}}.'}
- match: {role: orchestrator, lastMessage: 'The colour is'}
  reply: {text: It is settled.}
- match: {role: orchestrator, lastMessage: 'It is signed'}
  reply: {text: All is signed.}
- match: {role: orchestrator, lastMessage: 'Which colour?'}
  reply: {toolCalls: [{name: ask_user, arguments: {question: 'Which colour?'}}]}
- match: {role: orchestrator}
  reply: {text: Noted.}
- match: {history: 'Job ask', turn: 1}
  reply: {toolCalls: [{name: ask_user, arguments: {question: 'Which colour?'}}]}
- match: {history: 'Job ask', lastMessage: '/(?P<colour>green)/'}
  reply: {toolCalls: [{name: submit_result, arguments: {result: 'The colour is {{.colour}}.'}}]}
- match: {history: 'Job approve', turn: 1}
  reply: {toolCalls: [{name: desk__sign, arguments: {paper: approve}}]}
- match: {history: 'Job approve', toolResult: {text: signed approve}}
  reply: {toolCalls: [{name: submit_result, arguments: {result: It is signed.}}]}
- match: {history: 'Job think', turn: 1}
  reply: {toolCalls: [{name: desk__look, arguments: {paper: think}}]}
- match: {history: 'Job think', toolResult: {text: looked at think}}
  reply: {toolCalls: [{name: submit_result, arguments: {result: It was thought about.}}]}
- match: {history: 'Job sign', turn: 1}
  reply: {toolCalls: [{name: desk__sign, arguments: {paper: hang}}]}
- match: {history: 'Job sign', lastMessage: '/(?i)(unknown|may have taken effect)/'}
  reply: {toolCalls: [{name: submit_result, arguments: {result: Nobody knows whether it was signed.}}]}
- match: {history: 'Job parent', turn: 1}
  reply: {toolCalls: [{name: spawn_agents, arguments: {tasks: [{role: clerk, task: Job first}, {role: clerk, task: Job second}]}}]}
- match: {history: 'Job parent', lastMessage: '/(?s)first is done.*second is done/'}
  reply: {toolCalls: [{name: submit_result, arguments: {result: Both are done.}}]}
- match: {history: '/Job (?P<job>first|second|done|pending)/'}
  reply: {toolCalls: [{name: submit_result, arguments: {result: '{{.job}} is done.'}}]}
`

// model is the scripted model behind a gate.
type model struct {
	*httptest.Server

	mu       sync.Mutex
	shut     bool
	opened   chan struct{}
	waiting  map[string]bool
	answered []string
}

// openModel serves the script. While the gate is shut, the calls in held are not answered.
func openModel(t *testing.T, shut bool) *model {
	t.Helper()
	parsed, err := scripted.Parse("upgrade.yaml", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	m := &model{shut: shut, opened: make(chan struct{}), waiting: map[string]bool{}}
	play := scripted.NewServer(scripted.Options{Scripts: []*scripted.Script{parsed}})
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.serve(w, r, play) }))
	t.Cleanup(func() {
		m.open()
		m.CloseClientConnections()
		m.Close()
	})
	return m
}

func (m *model) serve(w http.ResponseWriter, r *http.Request, play http.Handler) {
	if r.Method != http.MethodPost {
		play.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	call := identifyCall(body)
	if m.hold(call) {
		select {
		case <-m.opened:
		case <-r.Context().Done():
			return
		}
	}
	play.ServeHTTP(w, r)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answered = append(m.answered, call)
}

var held = []string{"think 2", "second 1"}

func (m *model) hold(call string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.shut || !slices.Contains(held, call) {
		return false
	}
	m.waiting[call] = true
	return true
}

func (m *model) open() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shut {
		m.shut = false
		close(m.opened)
	}
}

func (m *model) holds() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.waiting) == len(held)
}

func (m *model) calls() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.answered)
}

var jobs = regexp.MustCompile(`Job ([a-z]+)|(Please|Remember) ([a-z]+)`)

// identifyCall identifies a request by its job and its turn.
func identifyCall(body []byte) string {
	var request struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return err.Error()
	}
	turn, job := 1, "?"
	for _, message := range request.Messages {
		if message.Role == "assistant" {
			turn++
		}
		if found := jobs.FindString(string(message.Content)); found != "" && job == "?" && message.Role == "user" {
			job = strings.TrimPrefix(found, "Job ")
		}
	}
	return fmt.Sprintf("%s %d", job, turn)
}

func (m *model) resetCalls() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answered = nil
}
