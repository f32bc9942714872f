// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package kubewrites_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nestor-dev/nestor/internal/kubewrites"
)

// apiServer simulates a server with a number of CPUs, on each of which a write takes a fixed time. Further writes
// wait.
type apiServer struct {
	took       time.Duration
	processors chan struct{}
	status     int
}

func newServer(processors int, took time.Duration) *apiServer {
	return &apiServer{took: took, processors: make(chan struct{}, processors), status: http.StatusOK}
}

func (s *apiServer) write() (*http.Response, error) {
	s.processors <- struct{}{}
	defer func() { <-s.processors }()
	time.Sleep(s.took) //nolint:forbidigo // fake time of synctest
	return &http.Response{StatusCode: s.status, Body: http.NoBody}, nil
}

// load runs many writers for a while.
func load(gate *kubewrites.Gate, server *apiServer, writers int, during time.Duration) {
	end := time.Now().Add(during)
	for range writers {
		go func() {
			for time.Now().Before(end) {
				_, _ = gate.Do(context.Background(), kubewrites.Result, server.write) //nolint:bodyclose // it has none
			}
		}()
	}
	time.Sleep(during + time.Minute) //nolint:forbidigo // fake time of synctest
	synctest.Wait()
}

func TestGateAdaptsToTheServer(t *testing.T) {
	for name, tc := range map[string]struct {
		processors    int
		took          time.Duration
		writers       int
		atLeast, most int
	}{
		"a small machine":              {2, 5 * time.Millisecond, 500, kubewrites.Floor, 8},
		"a larger one":                 {8, 5 * time.Millisecond, 500, 12, 32},
		"a cluster":                    {100, 20 * time.Millisecond, 500, kubewrites.Ceiling, kubewrites.Ceiling},
		"few writes raise nothing":     {100, 20 * time.Millisecond, 3, 16, 16},
		"one processor, always behind": {1, 50 * time.Millisecond, 500, kubewrites.Floor, kubewrites.Floor},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gate := kubewrites.Adaptive()
				server := newServer(tc.processors, tc.took)
				load(gate, server, 1, time.Second) // learn the shortest duration
				load(gate, server, tc.writers, 20*time.Second)
				if got := gate.Stats(); got.Limit < tc.atLeast || got.Limit > tc.most || got.InFlight != 0 || got.Waiting != 0 {
					t.Errorf("the gate is at %+v, want a limit from %d to %d", got, tc.atLeast, tc.most)
				}
			})
		})
	}
}

func TestGateAdaptsToSlowerServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := kubewrites.Adaptive()
		load(gate, newServer(100, 5*time.Millisecond), 100, 20*time.Second)
		slower := newServer(100, 50*time.Millisecond) // another control plane, far away
		load(gate, slower, 100, 10*time.Second)
		load(gate, slower, 100, 2*time.Minute)
		if got := gate.Stats().Limit; got != kubewrites.Ceiling {
			t.Errorf("the limit is %d, want %d: all writes take that long now", got, kubewrites.Ceiling)
		}
	})
}

func TestOverloadLowersTheLimit(t *testing.T) {
	for status, want := range map[int]int{http.StatusTooManyRequests: 8, http.StatusServiceUnavailable: 8, http.StatusConflict: 16} {
		synctest.Test(t, func(t *testing.T) {
			gate := kubewrites.Adaptive()
			server := newServer(100, 20*time.Millisecond)
			load(gate, server, 1, time.Second)
			server.status = status
			load(gate, server, 1, 10*time.Millisecond)
			if got := gate.Stats().Limit; got != want {
				t.Errorf("after a status %d the limit is %d, want %d", status, got, want)
			}
		})
	}
}

// TestOneRoundLowersLimitOnce: writes that were sent before the limit was lowered are just as slow, and
// must not lower it again.
func TestOneRoundLowersLimitOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := kubewrites.Adaptive()
		load(gate, newServer(1, 20*time.Millisecond), 1, time.Second)
		busy := newServer(100, 400*time.Millisecond)
		load(gate, busy, 16, 100*time.Millisecond)
		if got := gate.Stats().Limit; got != 12 {
			t.Errorf("after sixteen slow writes at once the limit is %d, want 12", got)
		}
	})
}

func TestFixedGateKeepsItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := kubewrites.Fixed(3)
		load(gate, newServer(1, 50*time.Millisecond), 50, 5*time.Second)
		if got := gate.Stats().Limit; got != 3 {
			t.Errorf("the limit is %d, want 3", got)
		}
	})
}

// TestResultsAreAdmittedBeforeStarts: results overtake the starts that wait, but one of four writes is a start.
func TestResultsAreAdmittedBeforeStarts(t *testing.T) {
	for name, tc := range map[string]struct{ waiting, want string }{
		"one result":       {"ssssr", "rssss"},
		"in order":         {"srsr", "rrss"},
		"starts proceed":   {"ssrrrrrrrr", "rrrsrrrsrr"},
		"nothing to do":    {"", ""},
		"only starts":      {"sss", "sss"},
		"more starts left": {"sssrr", "rrsss"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gate, server := kubewrites.Fixed(1), newServer(1, time.Second)
				var admitted strings.Builder
				write := func(kind kubewrites.Kind, letter rune) {
					_, err := gate.Do(t.Context(), kind, func() (*http.Response, error) { //nolint:bodyclose // it has none
						admitted.WriteRune(letter)
						return server.write()
					})
					if err != nil {
						t.Error(err)
					}
				}
				go write(kubewrites.Result, '-') // in flight
				synctest.Wait()
				for _, letter := range tc.waiting {
					go write(map[rune]kubewrites.Kind{'s': kubewrites.Start, 'r': kubewrites.Result}[letter], letter)
					synctest.Wait()
				}
				time.Sleep(time.Minute) //nolint:forbidigo // fake time of synctest
				if got := admitted.String(); got != "-"+tc.want {
					t.Errorf("admitted %s, want -%s", got, tc.want)
				}
			})
		})
	}
}

// TestCancelledWriteTakesNoTurn: a write that is cancelled while it waits does not use up a slot.
func TestCancelledWriteTakesNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := kubewrites.Fixed(1)
		server := newServer(1, time.Second)
		ended := make(chan error, 3)
		write := func(ctx context.Context) {
			_, err := gate.Do(ctx, kubewrites.Result, server.write) //nolint:bodyclose // it has none
			ended <- err
		}
		go write(t.Context())
		synctest.Wait()
		hasty, leave := context.WithCancel(t.Context())
		go write(hasty)
		synctest.Wait()
		go write(t.Context())
		synctest.Wait()
		if got := gate.Stats(); got != (kubewrites.Stats{Limit: 1, InFlight: 1, Waiting: 2}) {
			t.Errorf("the gate is at %+v", got)
		}
		leave()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the write that was given up ended with %v", err)
		}
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		if got := gate.Stats(); got != (kubewrites.Stats{Limit: 1}) {
			t.Errorf("the gate is at %+v", got)
		}
	})
}
