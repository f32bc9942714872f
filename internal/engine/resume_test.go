// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// interview is a provider whose model first asks the person a question and, after the answer, replies when the test allows it.
type interview struct {
	mu      sync.Mutex
	pending map[string]chan struct{} // by instruction
	order   []string                 // order of the requests, each once
}

func (i *interview) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Messages []struct{ Role, Content string }
	}
	data, _ := io.ReadAll(r.Body)
	if err := json.Unmarshal(data, &body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var name string
	answered := false
	for _, m := range body.Messages {
		if m.Role == "user" && name == "" {
			name = m.Content
		}
		answered = answered || m.Role == "tool"
	}
	message := map[string]any{"tool_calls": []any{map[string]any{"id": "q", "type": "function",
		"function": map[string]any{"name": "ask_user", "arguments": `{"question":"Which year?"}`}}}}
	if answered {
		if !i.hold(r, name) {
			return
		}
		message = map[string]any{"content": "done"}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": message, "finish_reason": "stop"}}})
}

// hold waits until the reply may be sent; it returns false if the client is gone.
func (i *interview) hold(r *http.Request, name string) bool {
	release := make(chan struct{})
	i.mu.Lock()
	i.pending[name] = release
	if !slices.Contains(i.order, name) {
		i.order = append(i.order, name)
	}
	i.mu.Unlock()
	select {
	case <-release:
		return true
	case <-r.Context().Done():
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.pending[name] == release {
			delete(i.pending, name)
		}
		return false
	}
}

func (i *interview) held() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	var names []string
	for name := range i.pending {
		names = append(names, name)
	}
	return names
}

func (i *interview) release(name string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	close(i.pending[name])
	delete(i.pending, name)
}

// newInterviews starts sub-agents of one tree, each of which asks a question.
func newInterviews(t *testing.T, parallel, agents int) (*world, *interview) {
	t.Helper()
	provider := &interview{pending: map[string]chan struct{}{}}
	server := httptest.NewServer(provider)
	t.Cleanup(server.Close)
	w := newWorld(t)
	w.crash() // the world's own model is not used
	w.url, w.parallel = server.URL+"/v1", parallel
	w.start(w.ledger)
	for n := range agents {
		name := fmt.Sprintf("agent-%d", n)
		c := config(agent.SubAgent, name, "general", 1)
		c.Task.Instruction = name
		w.begin(ledger.Agent{UID: "uid-" + name, Kind: "SubAgent", Namespace: "ns", Name: name, Root: "root", Role: "general", Depth: 1}, c)
	}
	return w, provider
}

func (w *world) stage(name string) agent.Stage {
	s, err := w.engine.View(w.t.Context(), "uid-"+name)
	if err != nil {
		return ""
	}
	if w.engine.Parked("uid-" + name) {
		return agent.StagePending
	}
	return s.Stage()
}

// Agents that continue after an answer become active in the order of the answers, never more than maxParallelTasks at a time,
// also after the engine was replaced. A cancel ends an agent that waits for its slot.
func TestResumedAgentsRespectSlotLimit(t *testing.T) {
	const parallel, agents = 2, 8
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			w, provider := newInterviews(t, parallel, agents)
			var names []string
			for n := range agents {
				names = append(names, fmt.Sprintf("agent-%d", n))
			}
			count := func(want agent.Stage) (n int) {
				for _, name := range names {
					if w.stage(name) == want {
						n++
					}
				}
				if active := len(provider.held()); active > parallel {
					t.Fatalf("%d agents have a model call in flight, the limit is %d", active, parallel)
				}
				return n
			}
			w.until("all agents to ask", func() bool { return count(agent.StageWaitingForUser) == agents })
			random.Shuffle(agents, func(i, j int) { names[i], names[j] = names[j], names[i] })
			for _, name := range names {
				w.deliver("uid-"+name, agent.Answered{Call: "q", Text: "2026"})
				w.until(name+" has heard the answer", func() bool { return w.stage(name) != agent.StageWaitingForUser })
			}
			w.until("the first agents to be active", func() bool { return len(provider.held()) == parallel })
			if active, waiting := count(agent.StageActive), count(agent.StagePending); active != parallel || waiting != agents-parallel {
				t.Fatalf("%d agents are Active and %d Pending, want %d and %d", active, waiting, parallel, agents-parallel)
			}
			cancelled := names[agents-1]
			w.deliver("uid-"+cancelled, agent.Cancelled{})
			w.until("the cancelled agent to end", func() bool { return w.stage(cancelled) == agent.StageCancelled })
			if seed > 0 {
				w.crash()
				w.until("the calls of the previous engine to be cancelled", func() bool { return len(provider.held()) == 0 })
				w.restart()
			}
			for left := agents - 1; left > 0; left-- {
				w.until("as many agents as allowed to be active", func() bool {
					return count(agent.StageActive) == min(parallel, left) && len(provider.held()) == min(parallel, left)
				})
				held := provider.held()
				provider.release(held[random.IntN(len(held))])
				w.until("one agent to end", func() bool { return count(agent.StageCompleted) == agents-left })
			}
			// The first agents continued together.
			if got, want := provider.order[parallel:], names[parallel:agents-1]; seed == 0 && !slices.Equal(got, want) {
				t.Errorf("the agents continued in the order %v, want that of the answers %v", got, want)
			}
			for _, err := range w.errors {
				t.Error(err)
			}
		})
	}
}
