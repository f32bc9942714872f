// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/rundiff"
)

// Recorded reads all of a run, for a comparison.
func (r *Reader) Recorded(ctx context.Context, transcript string) (run rundiff.Run, err error) {
	if run.Transcript, err = r.Transcript(ctx, transcript); err != nil {
		return run, err
	}
	err = r.Log(ctx, transcript, Query{}, func(e historyv1.Entry) error {
		run.Entries = append(run.Entries, e)
		return nil
	})
	if err != nil {
		return run, err
	}
	run.Segments, err = r.Trace(ctx, transcript)
	return run, err
}
