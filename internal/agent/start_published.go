// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

// StartPublished is the fact that the status of a tool run's object shows that the run has started; see Config.WaitForStartPublished.
type StartPublished struct{}

func (StartPublished) fact() {}

// WaitsForStartPublished reports whether the tool must wait until the object of the run shows that it has started.
func (s State) WaitsForStartPublished() bool {
	return s.Config.WaitForStartPublished && !s.StartPublished && !s.Phase.Terminal()
}
