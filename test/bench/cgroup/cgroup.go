// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package cgroup limits the CPU time of processes as Kubernetes limits that of containers: a quota for each period of 100 ms.
package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// period is the period of the quota, as the kubelet sets it.
const period = 100 * time.Millisecond

// ErrUnavailable is returned if this process cannot limit the CPU time of others.
var ErrUnavailable = errors.New("CPU limits need root and the cpu controller of cgroups, v1 at /sys/fs/cgroup/cpu or v2 at /sys/fs/cgroup")

// Group limits the CPU time of its processes together.
type Group struct {
	dir string
	v2  bool
}

// New creates a group whose processes together use at most this number of cores.
func New(name string, cores float64) (*Group, error) { return newIn("/sys/fs/cgroup", name, cores) }

// newIn creates a group below the mount point of cgroups.
func newIn(root, name string, cores float64) (*Group, error) {
	g := &Group{dir: filepath.Join(root, "cpu", name)}
	files := map[string]string{"cpu.cfs_period_us": micros(period), "cpu.cfs_quota_us": micros(time.Duration(cores * float64(period)))}
	if controllers, err := os.ReadFile(filepath.Join(root, "cgroup.subtree_control")); err == nil {
		if !strings.Contains(" "+strings.TrimSpace(string(controllers))+" ", " cpu ") {
			return nil, fmt.Errorf("%w: cgroup.subtree_control has no cpu", ErrUnavailable)
		}
		g.v2, g.dir = true, filepath.Join(root, name)
		files = map[string]string{"cpu.max": micros(time.Duration(cores*float64(period))) + " " + micros(period)}
	} else if _, err := os.Stat(filepath.Join(root, "cpu", "cpu.cfs_quota_us")); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	for file, value := range files {
		if err := g.write(file, value); err != nil {
			return nil, errors.Join(fmt.Errorf("%w: %w", ErrUnavailable, err), g.Remove())
		}
	}
	return g, nil
}

func micros(d time.Duration) string { return strconv.FormatInt(d.Microseconds(), 10) }

func (g *Group) write(file, value string) error {
	return os.WriteFile(filepath.Join(g.dir, file), []byte(value), 0o644)
}

// Add moves a process with all its threads into the group.
func (g *Group) Add(pid int) error {
	if err := g.write("cgroup.procs", strconv.Itoa(pid)); err != nil {
		return fmt.Errorf("limit the CPU time of process %d: %w", pid, err)
	}
	return nil
}

// Throttled returns the number of periods in which a process of the group could run, and of those in which the group used all of its quota.
func (g *Group) Throttled() (periods, throttled int64, err error) {
	text, err := os.ReadFile(filepath.Join(g.dir, "cpu.stat"))
	if err != nil {
		return 0, 0, fmt.Errorf("read the CPU time of a group: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		into := map[string]*int64{"nr_periods": &periods, "nr_throttled": &throttled}[name]
		if into == nil {
			continue
		}
		if *into, err = strconv.ParseInt(value, 10, 64); err != nil {
			return 0, 0, fmt.Errorf("read the CPU time of a group: %w", err)
		}
	}
	return periods, throttled, nil
}

// Remove removes the group. Its processes must have ended.
func (g *Group) Remove() error {
	if err := os.Remove(g.dir); err != nil {
		return fmt.Errorf("remove the CPU limit: %w", err)
	}
	return nil
}
