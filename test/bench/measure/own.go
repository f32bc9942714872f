// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

// OwnCPU returns the CPU time of this process. It is more precise than CPUSeconds, which counts hundredths of a
// second.
func OwnCPU() (time.Duration, error) {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0, fmt.Errorf("read the processor time of this process: %w", err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), nil
}

// ResetPeak resets the peak memory of this process.
func ResetPeak() error {
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		return fmt.Errorf("reset the peak memory: %w", err)
	}
	return nil
}
