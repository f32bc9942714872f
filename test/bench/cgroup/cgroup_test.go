// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/test/patience"
)

// TestAProcessIsLimited lets a shell count for a while and compares the throttled periods.
func TestAProcessIsLimited(t *testing.T) {
	g, err := New(fmt.Sprintf("nestor-bench-test-%d", os.Getpid()), 0.1)
	if errors.Is(err, ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "while :; do :; done")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
	})
	if err := g.Add(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience.Limit()); ; <-time.After(20 * time.Millisecond) {
		periods, throttled, err := g.Throttled()
		if err != nil {
			t.Fatal(err)
		}
		if throttled >= 3 && periods >= throttled {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("a process that is always busy was throttled in %d of %d periods", throttled, periods)
		}
	}
}

// TestFilesOfVersion2 checks what is written where cgroups v2 are mounted, in a directory with the same files.
func TestFilesOfVersion2(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "cgroup.subtree_control"), "cpuset memory\n")
	if _, err := newIn(root, "a", 0.25); !errors.Is(err, ErrUnavailable) {
		t.Errorf("without the cpu controller: %v", err)
	}
	write(t, filepath.Join(root, "cgroup.subtree_control"), "cpuset cpu memory\n")
	g, err := newIn(root, "a", 0.25)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Add(42); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"cpu.max": "25000 100000", "cgroup.procs": "42"} {
		if got, err := os.ReadFile(filepath.Join(root, "a", file)); err != nil || string(got) != want {
			t.Errorf("%s: %q (%v), want %q", file, got, err, want)
		}
	}
}

func TestWithoutCgroups(t *testing.T) {
	if _, err := newIn(t.TempDir(), "a", 1); !errors.Is(err, ErrUnavailable) {
		t.Errorf("%v, want ErrUnavailable", err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
