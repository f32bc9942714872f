// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package fsroot

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// ReadReplaced returns the content that WriteFile would replace, of at most limit bytes. Unlike ReadFile it follows no
// symbolic link, and reads neither git's own files nor hard links, which may lead out of the root. The error wraps
// fs.ErrNotExist if WriteFile would create the file, and ErrTooLarge.
func (r *Root) ReadReplaced(name string, limit int64) ([]byte, error) {
	if err := CheckWritable(name); err != nil {
		return nil, err
	}
	dir, err := r.openDirs(path.Dir(name), (*Dir).OpenDir)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	base := path.Base(name)
	perm, err := dir.replaceable(name, base)
	if err != nil {
		return nil, err
	}
	if perm == nil {
		return nil, explain("open", name, fs.ErrNotExist)
	}
	if err := dir.checkOneName(name, base); err != nil {
		return nil, err
	}
	// Whatever is there by now is opened without following it.
	data, err := dir.ReadFile(base, nil, limit, nil)
	if err != nil && !errors.Is(err, ErrTooLarge) {
		return nil, explain("read", name, err)
	}
	return data, err
}

// checkOneName returns an error for a file that has hard links.
func (d *Dir) checkOneName(name, base string) error {
	var stat unix.Stat_t
	if err := unix.Fstatat(d.fd, base, &stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return explain("look up", name, err)
	}
	if stat.Nlink > 1 {
		return fmt.Errorf("%s has hard links, so its content may be that of a file elsewhere; it is not shown", Display(name))
	}
	return nil
}

// openDirs opens a directory below the root without following links. open opens or creates one level.
func (r *Root) openDirs(name string, open func(above *Dir, name string) (*Dir, error)) (*Dir, error) {
	dir, err := r.OpenDir(".")
	if err != nil || name == "." {
		return dir, err
	}
	at := ""
	for part := range strings.SplitSeq(name, "/") {
		at = path.Join(at, part)
		next, err := open(dir, part)
		dir.Close()
		if errors.Is(err, unix.ENOENT) {
			return nil, explain("open directory", at, fs.ErrNotExist)
		}
		if err != nil {
			return nil, notADirectory(at, err)
		}
		dir = next
	}
	return dir, nil
}
