// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

// Shown says that the object of a tool run shows that it has begun; see Config.AwaitShown.
type Shown struct{}

func (Shown) fact() {}

// AwaitsShown says that the tool may not run yet, because the object of the run does not show that it has begun.
func (s State) AwaitsShown() bool {
	return s.Config.AwaitShown && !s.Shown && !s.Phase.Terminal()
}
