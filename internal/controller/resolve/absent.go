// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// absentFor is how long the API server's word that a role does not exist is trusted: by then the cache has caught up.
const absentFor = 2 * time.Second

// Absent remembers which roles do not exist, so that the many agents with built-in roles need not ask the API server each.
type Absent struct {
	mu    sync.Mutex
	noted map[types.NamespacedName]time.Time
}

func (a *Absent) recently(name types.NamespacedName) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return time.Since(a.noted[name]) < absentFor
}

func (a *Absent) note(name types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for other, at := range a.noted {
		if time.Since(at) >= absentFor {
			delete(a.noted, other)
		}
	}
	if a.noted == nil {
		a.noted = map[types.NamespacedName]time.Time{}
	}
	a.noted[name] = time.Now()
}
