// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/nestor-dev/nestor/api/v1alpha1"
)

const (
	// outboxLimit is how many events wait for a page.
	outboxLimit = 1024
	// heartbeat is how often a quiet stream says that it is alive.
	heartbeat = 15 * time.Second
	// patience is how long a page may take for what it was sent.
	patience = 30 * time.Second
	// maxTranscripts is how many transcripts one stream follows: the chat's own and the one that is inspected.
	maxTranscripts = 2
	maxTail        = 1000
)

// wanted is what a page wants to hear of.
type wanted struct {
	namespace, chat string
	transcripts     map[string]int // by name, with how many of the newest entries to begin
}

// follower is a source of a stream.
type follower interface {
	follow(ctx context.Context, position string) error
}

// stream tells a page what happens, for as long as it listens.
func (s *site) stream(w http.ResponseWriter, r *http.Request, config *rest.Config) {
	want, err := parseWanted(r.URL.Query())
	if err != nil {
		refuse(w, apierrors.NewBadRequest(err.Error()))
		return
	}
	user, err := s.reviewOnce(r.Context(), config)
	if err != nil {
		refuse(w, err)
		return
	}
	release, err := s.streams.Open(user)
	if err != nil {
		refuse(w, err)
		return
	}
	defer release()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	out := newOutbox(outboxLimit)
	sources, err := s.sources(want, config, out)
	if err != nil {
		refuse(w, err)
		return
	}
	positions := parseCursor(r.Header.Get("Last-Event-ID"))
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel() // before waiting
	for name, source := range sources {
		// Only the end of the stream ends a source with an error: whatever else goes wrong, the page is told.
		running.Go(func() { _ = source.follow(ctx, positions[name]) })
	}
	running.Go(func() { defer cancel(); s.reviewAgain(ctx, config, user) })
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // proxies must not hold events back
	newWriter(w, sources, positions).run(ctx, out)
}

func parseWanted(query url.Values) (wanted, error) {
	want := wanted{namespace: query.Get("namespace"), chat: query.Get("chat"), transcripts: map[string]int{}}
	if len(validation.IsDNS1123Label(want.namespace)) > 0 {
		return want, fmt.Errorf("%q is not the name of a namespace", want.namespace)
	}
	if want.chat != "" && len(validation.IsDNS1123Label(want.chat)) > 0 {
		return want, fmt.Errorf("%q is not the name of a chat", want.chat)
	}
	if len(query["transcript"]) > maxTranscripts {
		return want, fmt.Errorf("a stream follows at most %d transcripts", maxTranscripts)
	}
	for _, asked := range query["transcript"] {
		name, count, _ := strings.Cut(asked, ":")
		tail, err := strconv.Atoi(count)
		if err != nil || tail < 1 || tail > maxTail || len(validation.IsDNS1123Subdomain(name)) > 0 {
			return want, fmt.Errorf("%q is not a transcript with a number of entries from 1 to %d, such as subagent.chat-1:200", asked, maxTail)
		}
		want.transcripts[name] = tail
	}
	return want, nil
}

// sources makes what tells a page what it wants to hear of, by the names of their positions.
func (s *site) sources(want wanted, config *rest.Config, out *outbox) (map[string]follower, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	sources := map[string]follower{}
	// The names say what is followed, so that a position is never taken for that of another chat.
	add := func(resource, of string, selector metav1.ListOptions) {
		name := resource + "@" + of
		sources[name] = &objects{name: name, resource: resource, selector: selector, client: client.Resource(nestorResource(resource)).Namespace(want.namespace), out: out, pace: s.pace}
	}
	add(chats, want.namespace, metav1.ListOptions{})
	if want.chat != "" {
		selector := metav1.ListOptions{LabelSelector: labels.Set{v1alpha1.LabelChat: want.chat}.String()}
		for _, resource := range []string{messages, tasks, subAgents} {
			add(resource, want.namespace+"/"+want.chat, selector)
		}
	}
	for name, tail := range want.transcripts {
		t := &transcript{namespace: want.namespace, name: name, tail: tail, config: config, out: out, pace: s.pace}
		sources[t.source()] = t
	}
	return sources, nil
}

// writer writes events in the form that browsers read.
type writer struct {
	w         http.ResponseWriter
	control   *http.ResponseController
	positions cursor
}

// newWriter keeps the positions of the sources that this stream has: those of others mean nothing here.
func newWriter(w http.ResponseWriter, sources map[string]follower, positions cursor) *writer {
	kept := cursor{}
	for name := range sources {
		if position, ok := positions[name]; ok {
			kept[name] = position
		}
	}
	return &writer{w, http.NewResponseController(w), kept}
}

// run sends what comes into the outbox until ctx ends, or the page takes nothing for too long.
func (s *writer) run(ctx context.Context, out *outbox) {
	if !s.send([]byte("retry: 1000\n\n")) {
		return
	}
	for {
		quiet, cancel := context.WithTimeout(ctx, heartbeat)
		events := out.take(quiet)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if len(events) == 0 {
			events = []event{{name: "ping", data: []byte("{}")}}
		}
		var text bytes.Buffer
		for _, e := range events {
			s.format(&text, e)
		}
		if !s.send(text.Bytes()) {
			return
		}
	}
}

// format writes one event. Its id is where everything stands once the page has it.
func (s *writer) format(text *bytes.Buffer, e event) {
	if e.source != "" {
		s.positions[e.source] = e.position
	}
	fmt.Fprintf(text, "event: %s\nid: %s\ndata: ", e.name, s.positions)
	if e.parts == nil {
		text.Write(e.data)
	} else {
		fmt.Fprintf(text, `{"transcript":%s,"entries":[`, e.data)
		text.Write(bytes.Join(e.parts, []byte(",")))
		text.WriteString("]}")
	}
	text.WriteString("\n\n")
}

func (s *writer) send(text []byte) bool {
	if err := s.control.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return false
	}
	if _, err := s.w.Write(text); err != nil {
		return false
	}
	return s.control.Flush() == nil
}
