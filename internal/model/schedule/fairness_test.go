// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/model/schedule"
)

// TestNamespacesAreServedEqually gives one namespace a hundred times the load of another. While both wait, both must
// be served equally, within a tenth, whichever limit is scarce.
func TestNamespacesAreServedEqually(t *testing.T) {
	const small, large = 200, 100 * 200
	for name, tc := range map[string]struct {
		provider schedule.Provider
		tokens   func(namespace string) int64
		measure  func(tokens int64) int64
	}{
		"concurrency": {
			provider: schedule.Provider{Concurrent: 8},
			measure:  func(int64) int64 { return 1 },
		},
		"requests a minute": {
			provider: schedule.Provider{RequestsPerMinute: 60},
			measure:  func(int64) int64 { return 1 },
		},
		"tokens a minute, with calls of different size": {
			provider: schedule.Provider{TokensPerMinute: 100_000},
			tokens: func(namespace string) int64 {
				if namespace == "large" {
					return 3000
				}
				return 1000
			},
			measure: func(tokens int64) int64 { return tokens },
		},
		"all of them": {
			provider: schedule.Provider{Concurrent: 20, RequestsPerMinute: 300, TokensPerMinute: 300_000},
			measure:  func(int64) int64 { return 1 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(1, 2))
				tc.provider.Name = "p"
				s := schedule.New(schedule.Options{})
				defer s.Close()
				s.SetProvider(tc.provider)

				var mu sync.Mutex
				served := map[string]int64{}
				done := make(chan struct{})
				left := small
				submit := func(namespace string, i int) {
					ticket := schedule.Ticket{Provider: "p", Namespace: namespace, Chat: fmt.Sprint(i % 7), Tokens: 1000}
					if tc.tokens != nil {
						ticket.Tokens = tc.tokens(namespace)
					}
					mustSubmit(t, s, ticket, func(g *schedule.Grant) {
						mu.Lock()
						defer mu.Unlock()
						time.AfterFunc(time.Duration(500+random.IntN(1000))*time.Millisecond, func() { g.Release(schedule.Result{}) })
						if left > 0 {
							served[namespace] += tc.measure(ticket.Tokens)
						}
						if namespace == "small" {
							left--
						}
						if left == 0 && namespace == "small" {
							close(done)
						}
					})
				}
				for i := range large {
					submit("large", i)
				}
				mu.Lock()
				clear(served) // only one namespace was waiting until now
				mu.Unlock()
				for i := range small {
					submit("small", i)
				}
				<-done
				mu.Lock()
				defer mu.Unlock()
				ratio := float64(served["large"]) / float64(served["small"])
				t.Logf("served: %v, ratio %.3f", served, ratio)
				if ratio < 0.9 || ratio > 1.1 {
					t.Errorf("the large namespace got %.3f times the service of the small one, want 0.9 to 1.1", ratio)
				}
			})
		})
	}
}

// TestChatsTakeTurnsInsideNamespace gives one chat ten times the load of another.
func TestChatsTakeTurnsInsideNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := schedule.New(schedule.Options{})
		s.SetProvider(schedule.Provider{Name: "p", Concurrent: 1})
		var mu sync.Mutex
		var order []string
		submit := func(chat string, n int) {
			for i := range n {
				mustSubmit(t, s, schedule.Ticket{Provider: "p", Namespace: "ns", Chat: chat}, func(g *schedule.Grant) {
					mu.Lock()
					defer mu.Unlock()
					order = append(order, fmt.Sprintf("%s%d", chat, i+1))
					time.AfterFunc(time.Second, func() { g.Release(schedule.Result{}) })
				})
			}
		}
		submit("a", 6)
		submit("b", 2)
		submit("c", 1)
		advance(time.Minute)
		if diff := cmp.Diff([]string{"a1", "b1", "c1", "a2", "b2", "a3", "a4", "a5", "a6"}, order); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}

func TestBusyChatYieldsToIdleOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := schedule.New(schedule.Options{})
		s.SetProvider(schedule.Provider{Name: "p", Concurrent: 3})
		var mu sync.Mutex
		running := map[string]int{}
		count := func(chat string, by int) {
			mu.Lock()
			defer mu.Unlock()
			running[chat] += by
		}
		submit := func(chat string, n int) {
			for range n {
				mustSubmit(t, s, schedule.Ticket{Provider: "p", Namespace: "ns", Chat: chat}, func(g *schedule.Grant) {
					count(chat, 1)
					time.AfterFunc(time.Minute, func() { count(chat, -1); g.Release(schedule.Result{}) })
				})
			}
		}
		submit("busy", 10)
		submit("idle", 2)
		advance(90 * time.Second)
		if running["busy"] != 1 || running["idle"] != 2 {
			t.Errorf("running: %v", running)
		}
	})
}

func mustSubmit(t testing.TB, s *schedule.Scheduler, ticket schedule.Ticket, granted func(*schedule.Grant)) *schedule.QueuedCall {
	t.Helper()
	call, err := s.Submit(ticket, granted)
	if err != nil {
		t.Fatal(err)
	}
	return call
}

// advance advances the fake time and waits until all goroutines are blocked.
func advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
