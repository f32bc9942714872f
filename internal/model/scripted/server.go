// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Options configure a Server. The zero value is strict and plays nothing.
type Options struct {
	// Scripts are tried in order.
	Scripts []*Script
	// Lenient accepts requests that the real API refuses.
	Lenient bool
	// APIKey, when set, is required as the bearer token.
	APIKey string
	// NoDelay ignores the scripts' latencies and chunk delays.
	NoDelay bool
	// RecordLimit is how many requests are kept, the newest; 0 is DefaultRecordLimit, below 0 is none.
	RecordLimit int
}

// DefaultRecordLimit is how many requests a Server keeps unless told otherwise.
const DefaultRecordLimit = 1000

// Server is the scripted model: an http.Handler for the chat completions API.
type Server struct {
	options  Options
	mux      *http.ServeMux
	recorder recorder

	mu       sync.RWMutex
	playlist *playlist
}

// playlist is the rules of some scripts in order, with how often each has answered. It is not changed but for the
// counts, so that requests read it without a lock.
type playlist struct {
	scripts  []*Script
	rules    []playable
	models   []string
	fallback *reply
}

type playable struct {
	*rule

	used *atomic.Int64
}

// NewServer makes a server that plays the scripts of the options.
func NewServer(options Options) *Server {
	if options.RecordLimit == 0 {
		options.RecordLimit = DefaultRecordLimit
	}
	s := &Server{options: options, recorder: recorder{limit: options.RecordLimit}, playlist: newPlaylist(options.Scripts)}
	s.mux = http.NewServeMux()
	s.mux.HandleFunc("POST /v1/chat/completions", s.complete)
	s.mux.HandleFunc("GET /v1/models", s.listModels)
	s.mux.HandleFunc("GET /_scripted/requests", s.listRequests)
	s.mux.HandleFunc("POST /_scripted/reset", s.handleReset)
	s.mux.HandleFunc("POST /_scripted/script", s.handleScript)
	return s
}

func newPlaylist(scripts []*Script) *playlist {
	p := &playlist{scripts: scripts}
	for _, script := range scripts {
		for _, r := range script.rules {
			p.rules = append(p.rules, playable{rule: r, used: new(atomic.Int64)})
		}
		for _, m := range script.doc.Models {
			if !slices.Contains(p.models, m) {
				p.models = append(p.models, m)
			}
		}
		if p.fallback == nil {
			p.fallback = script.doc.Fallback
		}
	}
	return p
}

// ServeHTTP answers the API's requests and, under /_scripted/, those about the server itself.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Requests returns what was asked so far, oldest first, as far as it is kept.
func (s *Server) Requests() []Recorded { return s.recorder.all() }

// Add puts a script before the ones that are played, so that its rules win. The counts of the others go on.
func (s *Server) Add(script *Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	added := newPlaylist([]*Script{script})
	next := newPlaylist(append(added.scripts, s.playlist.scripts...))
	next.rules = append(added.rules, s.playlist.rules...)
	s.playlist = next
}

// Reset forgets the requests, the counts and the scripts that were added.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.playlist = newPlaylist(s.options.Scripts)
	s.recorder.reset()
}

func (s *Server) current() *playlist {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.playlist
}

// choose finds the first rule that fits and has answers left, and takes one of them.
func (p *playlist) choose(c *conversation) (*reply, string, map[string]any) {
	captures := map[string]any{}
	for i := range p.rules {
		r := &p.rules[i]
		if !r.Match.fits(c, captures) || !r.take() {
			clear(captures)
			continue
		}
		return r.Reply, r.where, captures
	}
	return p.fallback, "fallback", captures
}

func (p *playable) take() bool {
	if p.Times == 0 {
		return true
	}
	return p.used.Add(1) <= int64(p.Times)
}

// maxRequestBytes bounds a request; a history of a full context with images stays below it.
const maxRequestBytes = 64 << 20

func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	if err != nil {
		writeError(w, badRequest("", "read the request: %v", err))
		return
	}
	rec := Recorded{IdempotencyKey: r.Header.Get("Idempotency-Key"), Authorized: r.Header.Get("Authorization") != "", Body: body}
	out, err := s.answer(r, body, &rec)
	if err != nil {
		e := asAPIError(err)
		rec.Status, rec.Error = e.status, e.Message
		s.recorder.add(rec)
		writeError(w, e)
		return
	}
	rec.Status = out.status()
	s.recorder.add(rec)
	out.play(w, r)
}

// answer decides what to say, without saying it.
func (s *Server) answer(r *http.Request, body []byte, rec *Recorded) (*performance, error) {
	if err := s.authorize(r); err != nil {
		return nil, err
	}
	req, err := decodeRequest(body, !s.options.Lenient)
	if err != nil {
		return nil, err
	}
	if !s.options.Lenient {
		if err := req.validate(); err != nil {
			return nil, err
		}
	}
	list := s.current()
	if len(list.models) > 0 && !slices.Contains(list.models, req.Model) {
		return nil, unknownModel(req.Model)
	}
	conv := newConversation(req)
	rec.Role, rec.Turn, rec.Model, rec.Messages = conv.role, conv.turn, req.Model, len(req.Messages)
	script, where, captures := list.choose(conv)
	if script == nil {
		e := badRequest("messages", "scripted model: no rule matches %s. Add a rule, or a fallback.", conv)
		e.Code = new("no_rule_matches")
		return nil, e
	}
	rec.Rule = where
	out, err := newPerformance(conv, script, captures)
	if err != nil {
		return nil, &apiError{status: http.StatusInternalServerError, Type: "server_error", Message: fmt.Sprintf("scripted model: %s: %v", where, err)}
	}
	out.noDelay = s.options.NoDelay
	return out, nil
}

func (s *Server) authorize(r *http.Request) error {
	if s.options.APIKey == "" {
		return nil
	}
	key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if ok && key == s.options.APIKey {
		return nil
	}
	e := &apiError{status: http.StatusUnauthorized, Type: "invalid_request_error", Code: new("invalid_api_key")}
	e.Message = "You didn't provide an API key."
	if ok {
		e.Message = fmt.Sprintf("Incorrect API key provided: %s.", key)
	}
	return e
}

func unknownModel(name string) error {
	return &apiError{
		status: http.StatusNotFound, Type: "invalid_request_error", Code: new("model_not_found"),
		Message: fmt.Sprintf("The model `%s` does not exist or you do not have access to it.", name),
	}
}

func (s *Server) listModels(w http.ResponseWriter, r *http.Request) {
	if err := s.authorize(r); err != nil {
		writeError(w, asAPIError(err))
		return
	}
	type entry struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	models := s.current().models
	if len(models) == 0 {
		models = []string{"scripted"}
	}
	data := make([]entry, 0, len(models))
	for _, id := range models {
		data = append(data, entry{ID: id, Object: "model", Created: created, OwnedBy: "nestor"})
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": data})
}

func (s *Server) listRequests(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"total": s.recorder.count(), "requests": s.Requests()})
}

func (s *Server) handleReset(w http.ResponseWriter, _ *http.Request) {
	s.Reset()
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) handleScript(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	if err != nil {
		writeError(w, badRequest("", "read the script: %v", err))
		return
	}
	script, err := Parse("request", data)
	if err != nil {
		writeError(w, badRequest("", "%v", err))
		return
	}
	s.Add(script)
	w.WriteHeader(http.StatusNoContent)
}

func asAPIError(err error) *apiError {
	if e := new(apiError); errors.As(err, &e) {
		return e
	}
	return &apiError{status: http.StatusInternalServerError, Type: "server_error", Message: err.Error()}
}

func writeError(w http.ResponseWriter, e *apiError) {
	e.retryAfter.setHeader(w.Header())
	writeJSON(w, e.status, map[string]any{"error": e})
}

// writeJSON sends a value. An error can only be a client that has gone, which is the client's affair.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
