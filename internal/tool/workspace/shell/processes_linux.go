// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// adoptOrphans makes this process the parent of descendants whose own parents end.
func adoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become subreaper: %w", err)
	}
	return nil
}

// closeInherited keeps the command from inheriting files that the parent of the server left open. Before Linux 5.11
// it does nothing.
func closeInherited() {
	_ = unix.CloseRange(workingDirectory, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
}

// killAll kills the process group of the shell and all other descendants. Each round kills all that it finds;
// processes created meanwhile are reparented to this process when their parents die, and killed in the next round. It
// gives up after a while, which only a command that forks faster than it is killed can reach.
func killAll(group int) {
	deadline := time.Now().Add(gracePeriod / 2)
	for {
		_ = unix.Kill(-group, unix.SIGKILL)
		processes := descendants(os.Getpid())
		for _, pid := range processes {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		if len(processes) == 0 || time.Now().After(deadline) {
			return
		}
		// Reap a child that has ended, so that the next round does not find it. The shell itself may be reaped here
		// or by its waiter.
		_, _ = unix.Wait4(-1, nil, 0, nil)
		for {
			pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
			if pid <= 0 || err != nil {
				break
			}
		}
	}
}

// descendants lists all processes below a process.
func descendants(ancestor int) []int {
	var all []int
	walk(ancestor, func(pid, _ int) { all = append(all, pid) })
	return all
}

// tasks counts all processes and threads below a process.
func tasks(ancestor int) (count int) {
	walk(ancestor, func(_, threads int) { count += threads })
	return count
}

// walk visits all processes below a process, with the number of their threads.
func walk(ancestor int, visit func(pid, threads int)) {
	children := map[int][]int{}
	threads := map[int]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if parent, count, ok := readStatus(pid); ok {
			children[parent] = append(children[parent], pid)
			threads[pid] = count
		}
	}
	for queue := []int{ancestor}; len(queue) > 0; queue = queue[1:] {
		for _, pid := range children[queue[0]] {
			visit(pid, threads[pid])
		}
		queue = append(queue, children[queue[0]]...)
	}
}

// readStatus reads the parent and the number of threads, fields 4 and 20 of /proc/PID/stat. Field 2, the name, may
// contain anything but is in parentheses.
func readStatus(pid int) (parent, threads int, ok bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0, false
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 18 {
		return 0, 0, false
	}
	parent, err = strconv.Atoi(string(fields[1]))
	if err != nil {
		return 0, 0, false
	}
	threads, err = strconv.Atoi(string(fields[17]))
	return parent, threads, err == nil
}
