// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Server has the resources used by a PostgreSQL server: CPU seconds, and bytes of its write-ahead log.
type Server struct {
	CPUSeconds float64
	LogBytes   int64
}

// PostgreSQL returns the usage of the ledger's server; it reports false if the ledger is a file. The server must run
// on this machine.
func (l *Ledger) PostgreSQL(ctx context.Context) (used Server, is bool, err error) {
	if !l.server {
		return used, false, nil
	}
	if used.LogBytes, err = l.number(ctx, "SELECT (pg_current_wal_lsn() - '0/0')::bigint"); err != nil {
		return used, true, err
	}
	pid, err := l.number(ctx, "SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::bigint")
	if err != nil {
		return used, true, err
	}
	used.CPUSeconds, err = processTreeCPU(int(pid))
	return used, true, err
}

// processTreeCPU returns the CPU time of a process and its children, including those that have ended.
func processTreeCPU(pid int) (float64, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, fmt.Errorf("list the processes: %w", err)
	}
	sum := 0.0
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) || err != nil && strings.Contains(err.Error(), "no such process") {
			continue // it has ended
		}
		if err != nil {
			return 0, fmt.Errorf("read the processor time of a process: %w", err)
		}
		own, parent := strings.Split(path, "/")[2] == strconv.Itoa(pid), parentPID(string(text)) == pid
		if !own && !parent {
			continue
		}
		seconds, err := parseStat(string(text))
		if err != nil {
			return 0, err
		}
		sum += seconds
		if own {
			sum += endedChildren(string(text))
		}
	}
	return sum, nil
}

// parentPID returns field 4 of a stat file, and endedChildren fields 16 and 17; see parseStat.
func parentPID(text string) int {
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}

func endedChildren(text string) float64 {
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 15 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[13], 10, 64)
	system, _ := strconv.ParseInt(fields[14], 10, 64)
	return float64(user+system) / clockTicks
}
