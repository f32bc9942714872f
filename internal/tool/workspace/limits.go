// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import "time"

// Limits bound what a single call may take and return.
type Limits struct {
	// FileBytes is the size of a file that read, patch and write handle.
	FileBytes int64
	// SearchFileBytes is the size above which a search passes over a file.
	SearchFileBytes int64
	// ImageBytes is the size of an image that read_image returns.
	ImageBytes int64
	// OutputBytes is the length of a text answer.
	OutputBytes int
	// SearchTime is how long glob, grep and keyword_search may take.
	SearchTime time.Duration
	// ShellTime is the time limit of a command that asks for none, and
	// MaxShellTime the longest that one may ask for.
	ShellTime, MaxShellTime time.Duration
	// ShellProcesses is how many processes and threads a command may have at
	// once; 0 is no limit.
	ShellProcesses int
}

// DefaultLimits suit a model's context and a small pod.
func DefaultLimits() Limits {
	return Limits{
		FileBytes:       16 << 20,
		SearchFileBytes: 32 << 20,
		ImageBytes:      5 << 20,
		OutputBytes:     64 << 10,
		SearchTime:      time.Minute,
		ShellTime:       2 * time.Minute,
		MaxShellTime:    10 * time.Minute,
		ShellProcesses:  1024,
	}
}
