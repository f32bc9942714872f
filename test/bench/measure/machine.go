// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/nestor-dev/nestor/test/bench/report"
)

// Machine describes this machine. Unknown fields stay empty.
func Machine() report.Machine {
	m := report.Machine{Cores: runtime.NumCPU(), Go: runtime.Version(), Processor: runtime.GOARCH}
	if name := field("/proc/cpuinfo", "model name"); name != "" {
		m.Processor = name
	}
	if kilobytes, err := strconv.ParseInt(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB"), 10, 64); err == nil {
		m.MemoryBytes = kilobytes << 10
	}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(release))
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		first, _, _ := strings.Cut(string(load), " ")
		m.Load, _ = strconv.ParseFloat(first, 64)
	}
	return m
}

// field returns the value of the first line "key: value" of a file.
func field(path, key string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
