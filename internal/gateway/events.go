// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// heartbeatInterval is the interval of comments on an idle stream, which keep proxies from closing it.
const heartbeatInterval = 15 * time.Second

// EventStream writes server-sent events. It must be closed.
type EventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	stop    chan struct{}
	stopped sync.WaitGroup

	mu sync.Mutex
}

// NewEventStream begins a stream of server-sent events.
func NewEventStream(w http.ResponseWriter) *EventStream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // proxies must not buffer events
	s := &EventStream{w: w, control: http.NewResponseController(w), stop: make(chan struct{})}
	w.WriteHeader(http.StatusOK)
	_ = s.control.Flush()
	s.stopped.Go(s.beat)
	return s
}

// Send sends an event with a JSON value. The name may be empty.
func (s *EventStream) Send(name string, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode an event: %w", err)
	}
	text := ""
	if name != "" {
		text += "event: " + name + "\n"
	}
	return s.write(text + "data: " + string(body) + "\n\n")
}

// SendText sends an event with text of one line.
func (s *EventStream) SendText(text string) error { return s.write("data: " + text + "\n\n") }

func (s *EventStream) write(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.control.Flush()
}

func (s *EventStream) beat() {
	ticker := time.NewTicker(heartbeatInterval)
	defer ticker.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
			if s.write(": still here\n\n") != nil {
				return
			}
		}
	}
}

func (s *EventStream) Close() {
	close(s.stop)
	s.stopped.Wait()
}
