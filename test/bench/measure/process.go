// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package measure reads the cost of a run from the processes, the API server and the ledger.
package measure

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// clockTicks is the unit of the times in /proc: USER_HZ, which Linux fixes at 100 for programs.
const clockTicks = 100

// CPUSeconds returns the CPU time of a process, in user and kernel mode.
func CPUSeconds(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read the processor time of process %d: %w", pid, err)
	}
	return parseStat(string(text))
}

// ControlPlane returns the processes of the cluster with this kubeconfig, by their names in the report.
func ControlPlane(kubeconfig string) (map[string]int, error) {
	run := filepath.Join(filepath.Dir(kubeconfig), "run") // where the cluster's guard stores the process IDs
	pids := map[string]int{}
	for name, program := range map[string]string{"API server": "kube-apiserver", "etcd": "etcd", "garbage collector": "controllers"} {
		text, err := os.ReadFile(filepath.Join(run, program+".pid"))
		if err != nil {
			return nil, fmt.Errorf("find the process of the %s: %w", name, err)
		}
		if pids[name], err = strconv.Atoi(strings.TrimSpace(string(text))); err != nil {
			return nil, fmt.Errorf("find the process of the %s: %w", name, err)
		}
	}
	return pids, nil
}

// parseStat returns fields 14 and 15. The second field is a name that may contain spaces and parentheses.
func parseStat(text string) (float64, error) {
	end := strings.LastIndexByte(text, ')')
	fields := strings.Fields(text[end+1:])
	if end < 0 || len(fields) < 13 {
		return 0, fmt.Errorf("read a processor time: %q is not in the format of /proc/PID/stat", text)
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read a processor time: %w", err)
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read a processor time: %w", err)
	}
	return float64(user+system) / clockTicks, nil
}

// MachineCPUSeconds returns the CPU time of everything on the machine, including time stolen by a hypervisor.
func MachineCPUSeconds() (float64, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, fmt.Errorf("read the processor time of the machine: %w", err)
	}
	return parseMachine(string(text))
}

// parseMachine sums the first line: user, nice, system, idle, iowait, irq, softirq, steal. Guests are part of user and nice.
func parseMachine(text string) (float64, error) {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, fmt.Errorf("read the processor time of the machine: %q is not how /proc/stat begins", line)
	}
	busy := int64(0)
	for i, field := range fields[1:9] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read the processor time of the machine: %w", err)
		}
		if idle := i == 3 || i == 4; !idle {
			busy += ticks
		}
	}
	return float64(busy) / clockTicks, nil
}

// Memory is the resident memory of a process in bytes: current and peak.
type Memory struct{ Now, Peak int64 }

// ResidentMemory reads the memory of a process.
func ResidentMemory(pid int) (Memory, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Memory{}, fmt.Errorf("read the memory of process %d: %w", pid, err)
	}
	return parseMemory(string(text))
}

func parseMemory(text string) (Memory, error) {
	var m Memory
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		into, wanted := map[string]*int64{"VmRSS": &m.Now, "VmHWM": &m.Peak}[key]
		if !wanted {
			continue
		}
		kilobytes, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
		if err != nil {
			return Memory{}, fmt.Errorf("read %s: %w", key, err)
		}
		*into = kilobytes << 10
	}
	if m.Now == 0 || m.Peak == 0 {
		return Memory{}, fmt.Errorf("read a memory size: the process has ended, or this is not Linux")
	}
	return m, nil
}
