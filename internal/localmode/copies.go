// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package localmode

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// projects is the directory with the copies of the sample project.
func (l *Local) projects() string { return filepath.Join(l.Dir, "projects") }

// project returns the directory of a chat's copy. With the UID, a later chat of the same name starts with a new copy.
func (l *Local) project(name string, uid types.UID) string {
	return filepath.Join(l.projects(), name+"-"+string(uid[:min(len(uid), 8)]))
}

// ownCopy returns the copy of the sample project that a chat works on, so that the changes of chats do not mix. Other directories are
// used as they are.
func (l *Local) ownCopy(path string, owner client.Object) (string, error) {
	if path != l.Sample {
		return path, nil
	}
	l.copying.Lock()
	defer l.copying.Unlock()
	own := l.project(owner.GetName(), owner.GetUID())
	if _, err := os.Stat(own); !errors.Is(err, fs.ErrNotExist) {
		return own, err
	}
	// An interrupted copy has another name.
	part := own + ".part"
	if err := os.RemoveAll(part); err != nil {
		return "", fmt.Errorf("remove an interrupted copy: %w", err)
	}
	if err := os.CopyFS(part, os.DirFS(path)); err != nil {
		return "", fmt.Errorf("copy the sample project: %w", err)
	}
	return own, os.Rename(part, own)
}
