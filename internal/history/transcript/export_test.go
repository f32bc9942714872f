// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package transcript

import api "github.com/nestor-dev/nestor/api/history/v1beta1"

// Segments returns the trace of an agent whose steps these are.
func Segments(steps []Step) []api.Segment {
	var t tracer
	for _, step := range steps {
		t.add(step)
	}
	return t.open()
}
