// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/nestor-dev/nestor/internal/health"
)

// stateTTL is how long a state is shared. The page asks again after three seconds, so that a person with several pages causes little more
// load than with one.
const stateTTL = 2 * time.Second

// stateKey identifies what a state depends on. Two people never share one, because they may not see the same.
type stateKey struct {
	identity  [sha256.Size]byte
	namespace string
}

func newStateKey(config *rest.Config, namespace string) stateKey {
	credentials := []string{config.BearerToken, config.BearerTokenFile, config.Username, config.Password, config.Impersonate.UserName,
		config.CertFile, string(config.CertData), fmt.Sprint(config.Impersonate.Groups, config.Impersonate.UID, config.Impersonate.Extra)}
	return stateKey{identity: sha256.Sum256(fmt.Appendf(nil, "%q", credentials)), namespace: namespace}
}

// stateCache shares states between the pages of one person. The zero value is ready to use.
type stateCache struct {
	mu     sync.Mutex
	states map[stateKey]*sharedState
}

type sharedState struct {
	read     chan struct{} // closed when the rest is set
	problems []health.Problem
	err      error
	readAt   time.Time
}

// expired reports whether a state must be read again. An error is not kept.
func (s *sharedState) expired() bool {
	select {
	case <-s.read:
		return s.err != nil || time.Since(s.readAt) > stateTTL
	default:
		return false
	}
}

// get returns a state that is at most stateTTL old. Requests that arrive while it is read share the result.
func (c *stateCache) get(key stateKey, read func() ([]health.Problem, error)) ([]health.Problem, error) {
	c.mu.Lock()
	shared, ok := c.states[key]
	if ok && !shared.expired() {
		c.mu.Unlock()
		<-shared.read
		return shared.problems, shared.err
	}
	for other, state := range c.states {
		if state.expired() {
			delete(c.states, other)
		}
	}
	if c.states == nil {
		c.states = map[stateKey]*sharedState{}
	}
	shared = &sharedState{read: make(chan struct{})}
	c.states[key] = shared
	c.mu.Unlock()
	defer close(shared.read)
	shared.problems, shared.err = read()
	shared.readAt = time.Now()
	return shared.problems, shared.err
}
