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

// A pod has no field for its number of processes, and the kubelet's limit (podPidsLimit) is the same for every pod of
// a node. So the supervisor counts the processes of its command and kills the command if there are too many.
//
// The kernel's limit (RLIMIT_NPROC) counts the processes of a user on the whole node, and many images share a user.
// It is set much higher: it stops a command that forks faster than it is counted, without letting the pods of a node
// affect each other.
const kernelLimitFactor = 8

const countInterval = 100 * time.Millisecond

// niceness lowers the priority of commands, so that the supervisor can always run.
const niceness = 10

// bash returns the command for a command line. A limit of 0 means none.
func bash(line string, limit int) *exec.Cmd {
	if limit <= 0 {
		return exec.Command("bash", "-c", line) //nolint:noctx // ended by killAll, with all of its descendants
	}
	const limited = `ulimit -u "$1" 2>/dev/null; exec bash -c "$0"`
	return exec.Command("bash", "-c", limited, line, strconv.Itoa(limit*kernelLimitFactor)) //nolint:noctx // as above
}

func lowerPriority(pid int) { _ = syscall.Setpriority(syscall.PRIO_PROCESS, pid, niceness) }

// watchProcesses sends the number of processes and threads below this process once it exceeds the limit. It runs
// until then; the process ends with the command.
func watchProcesses(limit int, tooMany chan<- int) {
	for range time.Tick(countInterval) {
		if count := tasks(os.Getpid()); count > limit {
			tooMany <- count
			return
		}
	}
}
