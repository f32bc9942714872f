// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package localmode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/nestor-dev/nestor/internal/version"
)

// format changes when a newer demo cannot use the state of an older one.
const format = 4

// needed is the free space that the demo requires: etcd alone reserves 128 MB.
const needed = 300 << 20

// stateFile marks a directory as a demo's, and contains the version that wrote it.
const stateFile = "nestor-demo.json"

type state struct {
	Format  int    `json:"format"`
	Version string `json:"version"`
}

// openState checks the directory of the demo and opens the log in it.
func (l *Local) openState(context.Context) error {
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		return fmt.Errorf("create the directory: %w", err)
	}
	if err := checkState(l.Dir); err != nil {
		return err
	}
	if err := checkSpace(l.Dir, needed); err != nil {
		return err
	}
	log, err := os.OpenFile(l.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	l.log = log
	l.onStop(log.Close)
	logger := logr.FromSlogHandler(slog.NewTextHandler(log, nil))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	text, err := json.Marshal(state{Format: format, Version: version.String()})
	if err != nil {
		return fmt.Errorf("encode the state's version: %w", err)
	}
	if err := os.WriteFile(filepath.Join(l.Dir, stateFile), append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the state's version: %w", err)
	}
	return nil
}

// checkState returns an error if the directory is not a demo's, or belongs to another version.
func checkState(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, os.ErrNotExist) {
		return checkEmpty(dir)
	}
	if err != nil {
		return fmt.Errorf("read the state's version: %w", err)
	}
	var stored state
	if err := json.Unmarshal(text, &stored); err != nil {
		return fmt.Errorf("%s in %s cannot be read: run `make demo-clean`, or set DEMO_DIR to another directory", stateFile, dir)
	}
	if stored.Format != format {
		return fmt.Errorf("the state in %s is of another version (%s, format %d; this one has format %d): run `make demo-clean` to start over, or set DEMO_DIR to another directory",
			dir, stored.Version, stored.Format, format)
	}
	return nil
}

func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("read the directory: %w", err)
	}
	if len(entries) == 0 {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, "cluster", "etcd")); err == nil {
		return fmt.Errorf("the state in %s is of an earlier version: run `make demo-clean` to start over, or set DEMO_DIR to another directory", dir)
	}
	return fmt.Errorf("%s is not empty and was not made by the demo: set DEMO_DIR to a new directory", dir)
}

// checkSpace returns an error if the directory has too little free space: etcd would fail later, and with a less clear error.
func checkSpace(dir string, need uint64) error {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return nil //nolint:nilerr // if the free space is unknown, assume that it is enough
	}
	if free := fs.Bavail * uint64(fs.Bsize); free < need {
		return fmt.Errorf("%s has %d MB left and the demo needs %d MB: free some, or set DEMO_DIR to a directory elsewhere", dir, free>>20, need>>20)
	}
	return nil
}
