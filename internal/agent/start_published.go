// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

// StartPublished is the fact that the status of a tool run's object shows that the run has started; see Config.AwaitStartPublished.
type StartPublished struct{}

func (StartPublished) fact() {}

// AwaitsStartPublished reports whether the tool must wait until the object of the run shows that it has started.
func (s State) AwaitsStartPublished() bool {
	return s.Config.AwaitStartPublished && !s.StartPublished && !s.Phase.Terminal()
}
