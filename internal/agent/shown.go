// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

// Shown: the status of a tool run's object contains that the run has started; see Config.AwaitShown.
type Shown struct{}

func (Shown) fact() {}

// AwaitsShown reports whether the tool must wait until the object of the run shows that it has started.
func (s State) AwaitsShown() bool {
	return s.Config.AwaitShown && !s.Shown && !s.Phase.Terminal()
}
