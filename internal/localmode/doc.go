// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package localmode runs all of Nestor on this machine, in one process next to a control plane. `make demo` uses it.
//
//	local, err := localmode.Start(ctx, localmode.Options{Dir: ".demo", Out: os.Stdout})
//	...
//	err = local.Wait(ctx) // until ctx ends, or a part fails
//	err = errors.Join(err, local.Stop())
//
// The parts start in the order of [Local.steps] and stop in the reverse order. A part that must not fail unnoticed reports its error to
// Local.failed; Wait returns it. The state is stored in Options.Dir, and a later Start uses it again.
//
// [Tour] plays a story on a running Local as a user would, through the Kubernetes API alone.
package localmode
