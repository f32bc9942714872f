// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/history"
)

// transcript is what a server has recorded: five entries, with two deltas before the third and the outcome in the last.
var transcript = func() []historyv1.Entry {
	var entries []historyv1.Entry
	for seq := int64(1); seq <= 5; seq++ {
		if seq == 3 {
			for _, text := range []string{"He", "llo"} {
				entries = append(entries, historyv1.Entry{Kind: historyv1.EntryDelta, ModelCall: "c1", Delta: &historyv1.Delta{Text: text}})
			}
		}
		entries = append(entries, historyv1.Entry{Seq: seq, Kind: historyv1.EntryAssistant, Content: fmt.Sprint(seq)})
	}
	entries[len(entries)-1].Outcome = &historyv1.Outcome{Result: "done"}
	return entries
}()

// lossyServer serves the transcript and drops the first connections, each after the given number of entries.
type lossyServer struct {
	drops []int
	// aborts breaks connections in the middle of an entry instead of ending them.
	aborts   bool
	requests []string
}

func (s *lossyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests = append(s.requests, r.URL.RawQuery)
	left := len(transcript) + 1
	if len(s.drops) > 0 {
		left, s.drops = s.drops[0], s.drops[1:]
	}
	since, _ := strconv.ParseInt(r.FormValue("since"), 10, 64)
	passed := since == 0
	for _, e := range transcript {
		if !passed {
			passed = e.Seq == since
			continue
		}
		line, _ := json.Marshal(e)
		if left--; left < 0 {
			if s.aborts {
				_, _ = w.Write(line[:len(line)/2])
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
			return
		}
		_, _ = w.Write(append(line, '\n'))
	}
}

func readerOf(t *testing.T, handler http.Handler) *history.Reader {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return history.NewReader(&rest.Config{Host: server.URL}, nil, "default")
}

func atOnce(ctx context.Context, _ int) bool { return ctx.Err() == nil }

// TestFollow_ConnectionDroppedAtEveryEvent: every recorded entry arrives once and in order, wherever connections break.
func TestFollow_ConnectionDroppedAtEveryEvent(t *testing.T) {
	for _, aborts := range []bool{false, true} {
		for first := range len(transcript) + 1 {
			for second := range len(transcript) + 1 {
				server := &lossyServer{drops: []int{first, second}, aborts: aborts}
				var got []int64
				reply := ""
				err := Transcript{Reader: readerOf(t, server), Name: "subagent.one", Query: history.Query{Deltas: true}, Wait: atOnce}.Follow(t.Context(), func(e historyv1.Entry) error {
					if e.Kind == historyv1.EntryDelta {
						if e.Delta.Text == "He" {
							reply = "" // it begins again
						}
						reply += e.Delta.Text
						return nil
					}
					got = append(got, e.Seq)
					return nil
				})
				if err != nil || cmp.Diff([]int64{1, 2, 3, 4, 5}, got) != "" || reply != "Hello" {
					t.Errorf("dropped after %d and %d (aborted: %t): %v, entries %v, reply %q; requests %v", first, second, aborts, err, got, reply, server.requests)
				}
			}
		}
	}
}

// TestFollow_TailOnlyOnce: a connection that replaces another continues after the last entry and not with the newest ones.
func TestFollow_TailOnlyOnce(t *testing.T) {
	server := &lossyServer{drops: []int{1}}
	follower := Transcript{Reader: readerOf(t, server), Name: "subagent.one", Query: history.Query{Tail: 7}, Wait: atOnce}
	if err := follower.Follow(t.Context(), func(historyv1.Entry) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if len(server.requests) != 2 || !strings.Contains(server.requests[0], "tail=7") || strings.Contains(server.requests[1], "tail") || !strings.Contains(server.requests[1], "since=1") {
		t.Errorf("requests %q", server.requests)
	}
}

// TestFollow_Errors: a transcript that has not started and a server that is down are waited for, and denied access is not.
func TestFollow_Errors(t *testing.T) {
	for code, retried := range map[int]bool{404: true, 503: true, 500: true, 401: false, 403: false} {
		attempts, served := 0, &lossyServer{}
		reader := readerOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if attempts++; attempts > 2 {
				served.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: int32(code),
				Reason: map[int]metav1.StatusReason{404: "NotFound", 503: "ServiceUnavailable", 500: "InternalError", 401: "Unauthorized", 403: "Forbidden"}[code], Details: &metav1.StatusDetails{Name: "subagent.one"}})
		}))
		reported := 0
		follower := Transcript{Reader: reader, Name: "subagent.one", Wait: atOnce, OnError: func(error) error { reported++; return nil }}
		err := follower.Follow(t.Context(), func(historyv1.Entry) error { return nil })
		if (err == nil) != retried || retried && reported != 2 || !retried && attempts != 1 {
			t.Errorf("%d: %v after %d attempts, %d reported", code, err, attempts, reported)
		}
	}
}

func TestFollow_EndsWithItsCaller(t *testing.T) {
	stop := errors.New("enough")
	reader := readerOf(t, &lossyServer{})
	if err := (Transcript{Reader: reader, Name: "a"}).Follow(t.Context(), func(historyv1.Entry) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	err := Transcript{Reader: reader, Name: "a"}.Follow(ctx, func(historyv1.Entry) error {
		cancel(stop)
		return nil
	})
	if !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}
