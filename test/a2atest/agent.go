// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package a2atest provides a remote agent for tests, on the server of the A2A SDK for Go.
package a2atest

import (
	"context"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"
)

type Options struct {
	// NoStreaming makes an agent that does not stream.
	NoStreaming bool
	// REST makes an agent that offers only the HTTP+JSON binding.
	REST bool
	// Header is required in every request, if its name is not empty.
	Header [2]string
	// NoList makes an agent that does not list tasks.
	NoList bool
	// DropCancels is the number of cancel requests that are ignored before one takes effect.
	DropCancels int
	// Reply, if it is set, returns the result of every task, given the task's first message.
	Reply func(message string) string
}

// Agent is a remote agent. What it does depends on the first word of the message that starts a task:
//
//   - "weather" asks for the city, and then answers in two parts;
//   - "work" works until Release is called, or the task is cancelled;
//   - "fail", "reject" and "login" fail, reject the task, and require authorization;
//   - "silent" completes without text, "hello" answers without a task, "data" with data and a file.
type Agent struct {
	URL string

	dropCancels int
	reply       func(message string) string

	mu        sync.Mutex
	messages  []*a2a.Message
	tasks     []a2a.TaskID
	cancelled []a2a.TaskID
	working   chan struct{}
	release   chan struct{}
}

func Start(t testing.TB, options Options) *Agent {
	t.Helper()
	agent, handler := New(options)
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	agent.URL = server.URL
	return agent
}

func New(options Options) (*Agent, http.Handler) {
	agent := &Agent{
		dropCancels: options.DropCancels, reply: options.Reply,
		working: make(chan struct{}, 16), release: make(chan struct{}),
	}
	store := taskstore.NewInMemory(&taskstore.InMemoryStoreConfig{
		Authenticator: func(context.Context) (string, error) { return "tests", nil },
	})
	handler := a2asrv.NewHandler(agent, a2asrv.WithTaskStore(store))
	if options.NoList {
		handler = noList{handler}
	}
	card := &a2a.AgentCard{
		Name: "Weather", Description: "Knows the weather.", Version: "1",
		DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
		Capabilities: a2a.AgentCapabilities{Streaming: !options.NoStreaming},
		Skills: []a2a.AgentSkill{
			{ID: "weather", Name: "Weather", Description: "Tells the weather.", Tags: []string{"weather"}},
		},
	}
	mux := http.NewServeMux()
	// The card contains an internal address, like that of an agent behind a proxy.
	const address = "http://agent.internal.invalid"
	if options.REST {
		endpoint := a2a.NewAgentInterface(address+"/rest", a2a.TransportProtocolHTTPJSON)
		card.SupportedInterfaces = []*a2a.AgentInterface{endpoint}
		mux.Handle("/rest/", http.StripPrefix("/rest", a2asrv.NewRESTHandler(handler)))
	} else {
		endpoint := a2a.NewAgentInterface(address+"/rpc", a2a.TransportProtocolJSONRPC)
		card.SupportedInterfaces = []*a2a.AgentInterface{endpoint}
		mux.Handle("/rpc", a2asrv.NewJSONRPCHandler(handler))
	}
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card))
	return agent, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name := options.Header[0]; name != "" && r.Header.Get(name) != options.Header[1] {
			http.Error(w, "bad header "+r.Header.Get(name), http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

type noList struct{ a2asrv.RequestHandler }

func (noList) ListTasks(context.Context, *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	return nil, a2a.ErrUnsupportedOperation
}

// Release lets running tasks complete.
func (a *Agent) Release() { close(a.release) }

// Working receives a value when a task begins to work.
func (a *Agent) Working() <-chan struct{} { return a.working }

func (a *Agent) Messages() []*a2a.Message {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.messages)
}

func (a *Agent) Tasks() []a2a.TaskID {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.tasks)
}

func (a *Agent) Cancelled() []a2a.TaskID {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.cancelled)
}

func (a *Agent) Execute(ctx context.Context, c *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		a.mu.Lock()
		a.messages = append(a.messages, c.Message)
		if c.StoredTask == nil {
			a.tasks = append(a.tasks, c.TaskID)
		}
		a.mu.Unlock()
		text := ""
		for _, part := range c.Message.Parts {
			text += part.Text()
		}
		for event := range a.events(ctx, c, text) {
			if !yield(event, nil) {
				return
			}
		}
	}
}

func (a *Agent) events(ctx context.Context, c *a2asrv.ExecutorContext, text string) iter.Seq[a2a.Event] {
	say := func(text string) *a2a.Message {
		return a2a.NewMessageForTask(a2a.MessageRoleAgent, c, a2a.NewTextPart(text))
	}
	status := func(state a2a.TaskState, text string) a2a.Event { return a2a.NewStatusUpdateEvent(c, state, say(text)) }
	if c.StoredTask != nil {
		first := a2a.NewArtifactEvent(c, a2a.NewTextPart("It is sunny"))
		second := a2a.NewArtifactUpdateEvent(c, first.Artifact.ID, a2a.NewTextPart(" in "+text+"."))
		return slices.Values([]a2a.Event{first, second, completed(c)})
	}
	submitted := a2a.NewSubmittedTask(c, c.Message)
	if a.reply != nil {
		artifact := a2a.NewArtifactEvent(c, a2a.NewTextPart(a.reply(text)))
		return slices.Values([]a2a.Event{submitted, artifact, completed(c)})
	}
	switch word, _, _ := strings.Cut(text, " "); word {
	case "hello":
		return slices.Values([]a2a.Event{say("Hello to you.")})
	case "fail":
		return slices.Values([]a2a.Event{submitted, status(a2a.TaskStateFailed, "The station is down.")})
	case "reject":
		return slices.Values([]a2a.Event{submitted, a2a.NewStatusUpdateEvent(c, a2a.TaskStateRejected, nil)})
	case "login":
		return slices.Values([]a2a.Event{submitted, status(a2a.TaskStateAuthRequired, "Log in at the station.")})
	case "silent":
		return slices.Values([]a2a.Event{submitted, completed(c)})
	case "data":
		file := a2a.NewRawPart([]byte("png"))
		file.Filename, file.MediaType = "map.png", "image/png"
		artifact := a2a.NewArtifactEvent(c, a2a.NewDataPart(map[string]any{"degrees": 21}), file)
		return slices.Values([]a2a.Event{submitted, artifact, completed(c)})
	case "work":
		return a.work(ctx, c, submitted)
	}
	return slices.Values([]a2a.Event{submitted, status(a2a.TaskStateInputRequired, "Which city?")})
}

func completed(c *a2asrv.ExecutorContext) *a2a.TaskStatusUpdateEvent {
	event := a2a.NewStatusUpdateEvent(c, a2a.TaskStateCompleted, nil)
	event.SetMeta("usage", map[string]any{"inputTokens": 120, "outputTokens": 30})
	return event
}

// work returns the events of a task that works until it is released or cancelled.
func (a *Agent) work(ctx context.Context, c *a2asrv.ExecutorContext, submitted *a2a.Task) iter.Seq[a2a.Event] {
	return func(yield func(a2a.Event) bool) {
		if !yield(submitted) || !yield(a2a.NewStatusUpdateEvent(c, a2a.TaskStateWorking, nil)) {
			return
		}
		if !yield(a2a.NewArtifactEvent(c, a2a.NewTextPart("Half of it."))) {
			return
		}
		a.working <- struct{}{}
		select {
		case <-ctx.Done():
		case <-a.release:
			yield(completed(c))
		}
	}
}

func (a *Agent) Cancel(_ context.Context, c *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		a.mu.Lock()
		a.cancelled = append(a.cancelled, c.TaskID)
		state := a2a.TaskStateCanceled
		if len(a.cancelled) <= a.dropCancels {
			state = a2a.TaskStateInputRequired
		}
		a.mu.Unlock()
		yield(a2a.NewStatusUpdateEvent(c, state, nil), nil)
	}
}
