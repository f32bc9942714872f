// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Options configure a Server. The zero value is strict and has no scripts.
type Options struct {
	// Scripts are tried in order.
	Scripts []*Script
	// Lenient accepts requests that the real API rejects.
	Lenient bool
	// APIKey, when set, is required of every request, in the header of its API.
	APIKey string
	// NoDelay ignores the scripts' latencies and chunk delays.
	NoDelay bool
	// RecordLimit is the number of newest requests that are kept; 0 means DefaultRecordLimit, a negative value none.
	RecordLimit int
}

// DefaultRecordLimit is the default of Options.RecordLimit.
const DefaultRecordLimit = 1000

// Server is the scripted model: an http.Handler for the APIs of language models.
type Server struct {
	options  Options
	mux      *http.ServeMux
	recorder recorder
	// inFlight counts the replies in flight. A reply ends when its client disconnects.
	inFlight atomic.Int64

	mu    sync.RWMutex
	rules *ruleList
}

func NewServer(options Options) *Server {
	if options.RecordLimit == 0 {
		options.RecordLimit = DefaultRecordLimit
	}
	s := &Server{options: options, recorder: recorder{limit: options.RecordLimit}, rules: newRuleList(options.Scripts)}
	s.mux = http.NewServeMux()
	s.mux.HandleFunc("POST /v1/chat/completions", s.handle(chat{}))
	s.mux.HandleFunc("POST /v1/responses", s.handle(responses{}))
	s.mux.HandleFunc("POST /v1/messages", s.handle(anthropic{}))
	s.mux.HandleFunc("POST /v1beta/models/{call}", s.handle(gemini{}))
	s.mux.HandleFunc("POST /v1/projects/{project}/locations/{location}/publishers/google/models/{call}", s.handle(vertex{}))
	s.mux.HandleFunc("POST /model/{model}/{operation}", s.handle(bedrock{}))
	s.mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Anthropic-Version") != "" { // two APIs have this path
			s.listModels(anthropic{})(w, r)
			return
		}
		s.listModels(chat{})(w, r)
	})
	s.mux.HandleFunc("GET /v1beta/models", s.listModels(gemini{}))
	s.mux.HandleFunc("GET /v1beta1/publishers/google/models", s.listModels(vertex{}))
	s.mux.HandleFunc("GET /foundation-models", s.listModels(bedrock{}))
	s.mux.HandleFunc("GET /_scripted/requests", s.listRequests)
	s.mux.HandleFunc("POST /_scripted/reset", s.handleReset)
	s.mux.HandleFunc("POST /_scripted/script", s.handleScript)
	return s
}

// ServeHTTP serves the API and, under /_scripted/, the administration of the server.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Requests returns the recorded requests, oldest first.
func (s *Server) Requests() []Recorded { return s.recorder.all() }

// Add inserts a script before the others, so that its rules take precedence. The counts of the others are kept.
func (s *Server) Add(script *Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	added := newRuleList([]*Script{script})
	next := newRuleList(append(added.scripts, s.rules.scripts...))
	next.rules = append(added.rules, s.rules.rules...)
	s.rules = next
}

// Reset drops the recorded requests, the counts and the added scripts.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = newRuleList(s.options.Scripts)
	s.recorder.reset()
}

func (s *Server) current() *ruleList {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.rules
}

// maxRequestBytes bounds a request; a history of a full context with images stays below it.
const maxRequestBytes = 64 << 20

func (s *Server) handle(p protocol) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { s.complete(w, r, p) }
}

func (s *Server) complete(w http.ResponseWriter, r *http.Request, p protocol) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	if err != nil {
		writeError(w, p, badRequest("", "read the request: %v", err))
		return
	}
	rec := Recorded{
		API: p.api(), At: time.Now(), IdempotencyKey: r.Header.Get("Idempotency-Key"), Traceparent: r.Header.Get("Traceparent"),
		Authorized: p.key(r) != "", Body: body,
	}
	out, err := s.answer(r, p, body, &rec)
	if err != nil {
		e := asAPIError(err)
		rec.Status, _ = p.failed(e)
		rec.Error = cmp.Or(e.message, e.code)
		if e.code == codeWrongKey {
			rec.Error = "wrong or missing API key" // the message repeats the key
		}
		s.recorder.add(rec)
		writeError(w, p, e)
		return
	}
	rec.Status = out.status()
	s.recorder.add(rec)
	s.inFlight.Add(1)
	defer s.inFlight.Add(-1)
	out.send(w, r)
}

// answer selects and renders the reply without sending it.
func (s *Server) answer(r *http.Request, p protocol, body []byte, rec *Recorded) (*response, error) {
	if err := s.authorize(r, p, body); err != nil {
		return nil, err
	}
	encoder, err := p.decode(r, body, !s.options.Lenient)
	if err != nil {
		return nil, err
	}
	conv := encoder.conversation()
	rec.Role, rec.Turn, rec.Model, rec.Messages = conv.role, conv.turn, conv.model, len(conv.messages)
	list := s.current()
	if len(list.models) > 0 && !slices.Contains(list.models, conv.model) {
		return nil, unknownModel(conv.model)
	}
	script, where, captures := list.choose(conv)
	if script == nil {
		e := badRequest("messages", "scripted model: no rule matches %s. Add a rule, or a fallback.", conv)
		e.code = codeNoRule
		return nil, e
	}
	rec.Rule = where
	out, err := newResponse(conv, script, captures)
	if err != nil {
		return nil, &apiError{status: http.StatusInternalServerError, kind: "server_error", message: fmt.Sprintf("scripted model: %s: %v", where, err)}
	}
	out.protocol, out.encoder, out.noDelay = p, encoder, s.options.NoDelay
	return out, nil
}

func (s *Server) authorize(r *http.Request, p protocol, body []byte) error {
	if signed, ok := parseSigned(r); ok {
		return signed.verify(r, body, s.secret())
	}
	if key := p.key(r); s.options.APIKey != "" && key != s.options.APIKey {
		return p.wrongKey(key)
	}
	return nil
}
