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

// smallDisk makes a file system of its own that can be filled without harm to anybody else. It needs root; without, the
// ledger stands among the other files, its disk is not filled, and the run says so.
func smallDisk(t *testing.T) string {
	dir := t.TempDir()
	mount := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", "size=512m,mode=700", "nestor-chaos", dir)
	if words, err := mount.CombinedOutput(); err != nil {
		t.Logf("the disk of the ledger cannot be filled here, because nothing can be mounted: %v %s", err, words)
		return ""
	}
	t.Cleanup(func() {
		if err := exec.Command("umount", "--lazy", dir).Run(); err != nil {
			t.Errorf("unmount the ledger's disk: %v", err)
		}
	})
	return dir
}

// fillDisk uses up all the space, and returns how to free it.
func fillDisk(dir string) (free func() error, err error) {
	path := filepath.Join(dir, "ballast")
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("fill the disk: %w", err)
	}
	block := make([]byte, 64<<10)
	for size := len(block); size > 0; {
		if _, err = file.Write(block[:size]); err != nil {
			size /= 2 // to the last byte
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return nil, errors.Join(fmt.Errorf("fill the disk: %w", err), file.Close(), os.Remove(path))
	}
	return func() error { return errors.Join(file.Close(), os.Remove(path)) }, nil
}
