// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// smallDisk mounts a small file system that can be filled without affecting others. It needs root; without, the ledger
// uses the normal disk, which is not filled, and the run logs that.
func smallDisk(t *testing.T) string {
	dir := t.TempDir()
	mount := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=512m,mode=700", "nestor-chaos", dir)
	if words, err := mount.CombinedOutput(); err != nil {
		t.Logf("the ledger's disk cannot be filled, because mounting failed: %v %s", err, words)
		return ""
	}
	t.Cleanup(func() {
		if err := exec.Command("umount", "--lazy", dir).Run(); err != nil {
			t.Errorf("unmount the ledger's disk: %v", err)
		}
	})
	return dir
}

// fillDisk uses all free space, and returns a function that frees it.
func fillDisk(dir string) (free func() error, err error) {
	path := filepath.Join(dir, "ballast")
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("fill the disk: %w", err)
	}
	block := make([]byte, 64<<10)
	for size := len(block); size > 0; {
		if _, err = file.Write(block[:size]); err != nil {
			size /= 2 // down to the last byte
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return nil, errors.Join(fmt.Errorf("fill the disk: %w", err), file.Close(), os.Remove(path))
	}
	return func() error { return errors.Join(file.Close(), os.Remove(path)) }, nil
}
