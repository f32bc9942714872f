// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package fsroot

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// WriteFile creates or replaces a file and reports whether it created it. Missing directories are created. The change
// is atomic, an existing file keeps its permissions, and nothing is written through a symbolic or hard link.
func (r *Root) WriteFile(name string, data []byte) (created bool, err error) {
	if err := CheckWritable(name); err != nil {
		return false, err
	}
	dir, err := r.openDirs(path.Dir(name), (*Dir).makeDir)
	if err != nil {
		return false, err
	}
	defer dir.Close()

	base := path.Base(name)
	perm, err := dir.replaceable(name, base)
	if err != nil {
		return false, err
	}
	if err := dir.replace(base, data, perm); err != nil {
		return false, explain("write", name, err)
	}
	return perm == nil, nil
}

// makeDir opens a directory, and creates it if it is missing.
func (d *Dir) makeDir(name string) (*Dir, error) {
	next, err := d.OpenDir(name)
	if !errors.Is(err, unix.ENOENT) {
		return next, err
	}
	// Another writer may have created it meanwhile.
	if err := unix.Mkdirat(d.fd, name, 0o777); err != nil && err != unix.EEXIST {
		return nil, err
	}
	return d.OpenDir(name)
}

func notADirectory(name string, err error) error {
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		return fmt.Errorf("%s is a symbolic link or not a directory; files are not written through links, so name the real path", Display(name))
	}
	return fmt.Errorf("create directory %s: %w", Display(name), err)
}

// replaceable returns the permissions of an entry that may be replaced, or nil if there is none. The name is the
// whole path, for messages.
func (d *Dir) replaceable(name, base string) (*os.FileMode, error) {
	var stat unix.Stat_t
	err := unix.Fstatat(d.fd, base, &stat, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	if err != nil {
		return nil, explain("look up", name, err)
	}
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		perm := os.FileMode(stat.Mode).Perm()
		return &perm, nil
	case unix.S_IFLNK:
		return nil, fmt.Errorf("%s is a symbolic link; files are not written through links, so name the file it points to", Display(name))
	default:
		return nil, fmt.Errorf("%s exists and is not a regular file", Display(name))
	}
}

// replace writes a temporary file beside the entry and renames it over it.
// Without perm the file gets the process's default permissions.
func (d *Dir) replace(base string, data []byte, perm *os.FileMode) (err error) {
	temp := ".nestor-" + rand.Text() + ".tmp"
	fd, err := openat(d.fd, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|openEntry, 0o666)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), temp)
	defer func() {
		if err != nil {
			_ = unix.Unlinkat(d.fd, temp, 0)
		}
	}()
	err = fill(f, data, perm)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return unix.Renameat(d.fd, temp, d.fd, base)
}

func fill(f *os.File, data []byte, perm *os.FileMode) error {
	// Set permissions first, so that the new content of a private file is never readable by others.
	if perm != nil {
		if err := f.Chmod(*perm); err != nil {
			return err
		}
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Sync()
}
