// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
)

// Shared is something that the first test that needs it starts, and that lasts as long as another test, the owner.
type Shared[V any] struct {
	once    sync.Once
	value   V
	failure string
}

// Get returns the value, and starts it if this is the first call. If the start fails, each test that needs it fails.
func (s *Shared[V]) Get(t, owner testing.TB, start func(testing.TB) V) V {
	t.Helper()
	s.once.Do(func() {
		done := make(chan struct{})
		starter := &starter{TB: owner}
		go func() {
			defer close(done)
			s.value = start(starter)
		}()
		<-done
		s.failure = starter.failure
	})
	if s.failure != "" {
		t.Fatal("it was not started: " + s.failure)
	}
	return s.value
}

// starter is the owner during a start. A failure ends the start only: a test that ends another test ends the program.
type starter struct {
	testing.TB
	failure string
}

func (s *starter) Error(args ...any)                 { s.failure += fmt.Sprintln(args...) }
func (s *starter) Errorf(format string, args ...any) { s.failure += fmt.Sprintf(format+"\n", args...) }
func (s *starter) Fail()                             { s.failure += "it failed\n" }

func (s *starter) FailNow() {
	s.Fail()
	runtime.Goexit()
}

func (s *starter) Fatal(args ...any) {
	s.Error(args...)
	runtime.Goexit()
}

func (s *starter) Fatalf(format string, args ...any) {
	s.Errorf(format, args...)
	runtime.Goexit()
}

func (s *starter) Skip(args ...any) { s.Fatal(args...) }
