// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// A pod has no field for the number of its processes; what the kubelet allows (podPidsLimit) holds for every pod of the node. So the
// supervisor counts the processes of its command, and ends the command when there are too many.
//
// The kernel's own limit (RLIMIT_NPROC) counts the processes of a user, on the whole node and not in a pod, and many images have the same
// user. It is set, but high above the other one: it holds a command that forks faster than it is counted, and does not let the pods of a
// node hinder each other.
const kernelLimitFactor = 8

// countEvery is how often the processes are counted.
const countEvery = 100 * time.Millisecond

// niceness puts commands behind their supervisor, which must get to work among any number of them.
const niceness = 10

// bash is the command of a command line. A limit of 0 is none.
func bash(line string, limit int) *exec.Cmd {
	if limit <= 0 {
		return exec.Command("bash", "-c", line) //nolint:noctx // ended by killAll, with all of its descendants
	}
	const limited = `ulimit -u "$1" 2>/dev/null; exec bash -c "$0"`
	return exec.Command("bash", "-c", limited, line, strconv.Itoa(limit*kernelLimitFactor)) //nolint:noctx // as above
}

// behind lets a process, and what it starts, wait for others that have something to do.
func behind(pid int) { _ = syscall.Setpriority(syscall.PRIO_PROCESS, pid, niceness) }

// watchProcesses tells the number of processes and threads below this process once there are more than the limit. It goes on until then:
// the process ends with the command.
func watchProcesses(limit int, tooMany chan<- int) {
	for range time.Tick(countEvery) {
		if count := tasks(os.Getpid()); count > limit {
			tooMany <- count
			return
		}
	}
}
