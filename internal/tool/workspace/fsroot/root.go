// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package fsroot

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Root is a directory tree that file accesses cannot leave.
type Root struct {
	root *os.Root
}

func Open(dir string) (*Root, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open workspace directory: %w", err)
	}
	return &Root{root: root}, nil
}

// Close releases the root. Files and directories that are open stay usable.
func (r *Root) Close() { _ = r.root.Close() }

// OpenFile opens a regular file for reading and returns its FileInfo. Symbolic links are followed as long as they
// stay inside the root.
func (r *Root) OpenFile(name string) (*os.File, fs.FileInfo, error) {
	// Opening a device can have side effects, so it is checked before; the check after opening is the one that
	// counts.
	info, err := r.root.Stat(name)
	if err != nil {
		return nil, nil, explain("open", name, err)
	}
	if err := regular(name, info); err != nil {
		return nil, nil, err
	}
	f, err := r.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, explain("open", name, err)
	}
	info, err = f.Stat()
	if err == nil {
		err = regular(name, info)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// ReadFile returns the content of a regular file of at most limit bytes.
func (r *Root) ReadFile(name string, limit int64) ([]byte, error) {
	f, info, err := r.OpenFile(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return readAll(f, name, info.Size(), limit)
}

// OpenDir opens a directory for listing or walking. Symbolic links are followed as long as they stay inside the root.
func (r *Root) OpenDir(name string) (*Dir, error) {
	f, err := r.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, explain("open directory", name, err)
	}
	return newDir(f), nil
}

// Stat returns the FileInfo of a name, following links inside the root.
func (r *Root) Stat(name string) (fs.FileInfo, error) {
	info, err := r.root.Stat(name)
	if err != nil {
		return nil, explain("look up", name, err)
	}
	return info, nil
}

// Readlink returns the target of a symbolic link and reports whether it is inside the root.
func (r *Root) Readlink(name string) (target string, inside bool) {
	target, err := r.root.Readlink(name)
	if err != nil {
		return "", false
	}
	_, err = r.root.Stat(name)
	return target, err == nil
}

// explain keeps the system's error without its second mention of the path.
func explain(verb, name string, err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return fmt.Errorf("%s %s: %w", verb, Display(name), err)
}

func regular(name string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return fmt.Errorf("%s is a %s, not a regular file", Display(name), Kind(info.Mode()))
}

func Kind(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "regular file"
	case mode.IsDir():
		return "directory"
	case mode&fs.ModeSymlink != 0:
		return "symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "named pipe"
	case mode&fs.ModeSocket != 0:
		return "socket"
	default:
		return "device"
	}
}

// IsBinary reports whether a file that begins with head is binary, by the rule of git and grep: a NUL byte near the
// beginning.
func IsBinary(head []byte) bool {
	const most = 8000
	return bytes.IndexByte(head[:min(len(head), most)], 0) >= 0
}
