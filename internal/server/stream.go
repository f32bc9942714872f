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

	"github.com/nestor-dev/nestor/api/v1beta1"
)

const (
	// bufferLimit is the maximum number of buffered events.
	bufferLimit = 1024
	// heartbeatInterval is the interval of comments on an idle stream.
	heartbeatInterval = 15 * time.Second
	// maxTranscripts is the maximum number of transcripts per stream: the chat's own, the one that is inspected, and those of running
	// sub-agents, whose replies the page shows while they arrive.
	maxTranscripts = 10
	maxTail        = 1000
)

// streamQuery selects the content of a stream.
type streamQuery struct {
	namespace, chat string
	task            string         // a standalone task, instead of a chat
	transcripts     map[string]int // by name, with the number of newest entries to start with
	inbox           bool           // with the runs of all namespaces
	runs            []string       // namespaces that the page knows of
	user            string
}

// eventSource is a source of a stream.
type eventSource interface {
	follow(ctx context.Context, position string) error
}

// stream sends events to a page until it disconnects.
func (s *site) stream(w http.ResponseWriter, r *http.Request, config *rest.Config) {
	want, err := parseStreamQuery(r.URL.Query())
	if err != nil {
		writeError(w, apierrors.NewBadRequest(err.Error()))
		return
	}
	user, err := s.authenticate(r.Context(), config)
	if err != nil {
		writeError(w, err)
		return
	}
	release, err := s.streams.Open(user)
	if err != nil {
		writeError(w, err)
		return
	}
	defer release()
	want.user = user
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	out := newEventBuffer(bufferLimit)
	sources, err := s.sources(want, config, out)
	if err != nil {
		writeError(w, err)
		return
	}
	positions := parseCursor(r.Header.Get("Last-Event-ID"))
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel() // before waiting
	for name, source := range sources {
		// A source ends with an error only if the stream ends; all other errors are sent to the page.
		running.Go(func() { _ = source.follow(ctx, positions[name]) })
	}
	running.Go(func() { defer cancel(); s.endWhenTokenExpires(ctx, r, config, user) })
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // proxies must not buffer events
	newWriter(w, sources, positions).run(ctx, out)
}

func parseStreamQuery(query url.Values) (streamQuery, error) {
	want := streamQuery{namespace: query.Get("namespace"), chat: query.Get("chat"), task: query.Get("task"), transcripts: map[string]int{}, inbox: query.Has("runs")}
	if len(validation.IsDNS1123Label(want.namespace)) > 0 {
		return want, fmt.Errorf("%q is not the name of a namespace", want.namespace)
	}
	if want.chat != "" && len(validation.IsDNS1123Label(want.chat)) > 0 {
		return want, fmt.Errorf("%q is not the name of a chat", want.chat)
	}
	if want.task != "" && (want.chat != "" || len(validation.IsDNS1123Label(want.task)) > 0) {
		return want, fmt.Errorf("%q is not the name of a standalone task", want.task)
	}
	for _, name := range query["runs"] {
		if len(validation.IsDNS1123Label(name)) == 0 && len(want.runs) < maxRunNamespaces {
			want.runs = append(want.runs, name)
		}
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

// sources returns the sources of a stream, by the names of their positions.
func (s *site) sources(want streamQuery, config *rest.Config, out *eventBuffer) (map[string]eventSource, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	sources := map[string]eventSource{}
	// The names identify what is followed, so that a position is never used for another chat.
	add := func(resource, of string, selector metav1.ListOptions, display *displaySource) {
		name := resource + "@" + of
		sources[name] = &objectSource{name: name, display: display, resource: resource, user: want.user, selector: selector, client: client.Resource(nestorResource(resource)).Namespace(want.namespace), out: out, retry: s.retry}
	}
	add(chats, want.namespace, metav1.ListOptions{}, nil)
	if want.chat != "" {
		selector := metav1.ListOptions{LabelSelector: labels.Set{v1beta1.LabelChat: want.chat}.String()}
		display := newDisplaySource(want.chat, "", out, messages, tasks, subAgents)
		sources["display"] = display
		for _, resource := range []string{messages, tasks, subAgents} {
			add(resource, want.namespace+"/"+want.chat, selector, display)
		}
	}
	if want.task != "" {
		display := newDisplaySource("", want.task, out, tasks, subAgents)
		sources["display"] = display
		for _, resource := range []string{tasks, subAgents} {
			sources["tree/"+resource] = &objectSource{
				display: display, resource: resource, user: want.user, client: newTreeReader(client, want.namespace, want.task, resource), out: out, retry: s.retry,
			}
		}
	}
	if want.inbox {
		namespaces := append([]string{want.namespace}, want.runs...)
		sources["inbox"] = &inboxSource{namespaces: namespaces, user: want.user, config: config, out: out, retry: s.retry}
	}
	for name, tail := range want.transcripts {
		t := &transcriptSource{namespace: want.namespace, name: name, tail: tail, config: config, out: out, retry: s.retry}
		sources[t.source()] = t
	}
	return sources, nil
}

// writer writes server-sent events.
type writer struct {
	w         http.ResponseWriter
	control   *http.ResponseController
	positions cursor
}

// newWriter keeps only the positions of the sources of this stream.
func newWriter(w http.ResponseWriter, sources map[string]eventSource, positions cursor) *writer {
	filtered := cursor{}
	for name := range sources {
		if position, ok := positions[name]; ok {
			filtered[name] = position
		}
	}
	return &writer{w, http.NewResponseController(w), filtered}
}

// run sends the events of the buffer until ctx ends or the page does not read for too long.
func (s *writer) run(ctx context.Context, out *eventBuffer) {
	if !s.send([]byte("retry: 1000\n\n")) {
		return
	}
	for {
		quiet, cancel := context.WithTimeout(ctx, heartbeatInterval)
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

// format writes one event. Its ID is the position of all sources after it.
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
	if _, err := s.w.Write(text); err != nil {
		return false
	}
	return s.control.Flush() == nil
}
