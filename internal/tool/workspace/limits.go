// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import "time"

type Limits struct {
	// FileBytes is the maximum size of a file for read, patch and write.
	FileBytes       int64
	SearchFileBytes int64
	// ImageBytes is the maximum size of an image for read_image.
	ImageBytes int64
	// OutputBytes is the maximum length of a text answer.
	OutputBytes int
	// SearchTime limits glob, grep and keyword_search.
	SearchTime time.Duration
	// ShellTime is the default time limit of a command, and MaxShellTime the longest that a call may request.
	ShellTime, MaxShellTime time.Duration
	// ShellProcesses is the maximum number of processes and threads of a command; 0 means no limit.
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
