// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package fsroot

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// openEntry are the flags for opening a directory entry: do not follow links, do not block, do not leak to child
// processes.
const openEntry = unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC

// Dir is an open directory inside a root. Its methods take the name of one of
// its entries and follow no symbolic link.
type Dir struct {
	f  *os.File
	fd int
}

func newDir(f *os.File) *Dir { return &Dir{f: f, fd: int(f.Fd())} }

func (d *Dir) Close() { _ = d.f.Close() }

// File returns the open directory, for passing it to another process. It is closed with the Dir.
func (d *Dir) File() *os.File { return d.f }

// ReadDir lists the entries in no particular order.
func (d *Dir) ReadDir() ([]fs.DirEntry, error) { return d.f.ReadDir(-1) }

func (d *Dir) OpenDir(name string) (*Dir, error) {
	fd, err := openat(d.fd, name, unix.O_RDONLY|unix.O_DIRECTORY|openEntry, 0)
	if err != nil {
		return nil, fmt.Errorf("open directory %s: %w", Display(name), err)
	}
	return newDir(os.NewFile(uintptr(fd), name)), nil
}

// ErrSkipped is returned by Dir.ReadFile if accepts rejects the file.
var ErrSkipped = errors.New("file skipped")

// ErrTooLarge is wrapped by the error for a file that exceeds the caller's limit.
var ErrTooLarge = errors.New("file is too large")

// headBytes is the size of the prefix that ReadFile passes to accepts.
const headBytes = 32 << 10

// ReadFile reads a regular file that is an entry of d. It reads into buf, grown as needed, so that a walk can reuse
// one buffer. If accepts is not nil, it gets the beginning of the file and reports whether to continue. A file of
// more than limit bytes is an error. ReadFile avoids os.File, whose bookkeeping costs more than reading a small file.
func (d *Dir) ReadFile(name string, buf []byte, limit int64, accepts func(head []byte) bool) ([]byte, error) {
	fd, err := openat(d.fd, name, unix.O_RDONLY|openEntry, 0)
	if err != nil {
		return buf[:0], err
	}
	defer func() { _ = unix.Close(fd) }()
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return buf[:0], err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return buf[:0], fmt.Errorf("%s is not a regular file", Display(name))
	}
	if stat.Size > limit {
		return buf[:0], tooLarge(name, stat.Size, limit)
	}
	// One byte more than the size, so that usually the first read also hits the end of the file.
	buf = slices.Grow(buf[:0], int(stat.Size)+1)
	buf, err = fillFrom(fd, buf, min(cap(buf), headBytes))
	if err != nil {
		return buf[:0], err
	}
	if accepts != nil && !accepts(buf) {
		return buf[:0], ErrSkipped
	}
	for int64(len(buf)) != stat.Size {
		before := len(buf)
		buf, err = fillFrom(fd, slices.Grow(buf, 1), cap(buf))
		if err != nil {
			return buf[:0], err
		}
		if int64(len(buf)) > limit {
			return buf[:0], tooLarge(name, int64(len(buf)), limit)
		}
		if len(buf) == before {
			break
		}
	}
	return buf, nil
}

// fillFrom appends one read to buf, up to a length of end.
func fillFrom(fd int, buf []byte, end int) ([]byte, error) {
	for {
		n, err := unix.Read(fd, buf[len(buf):end])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return buf, err
		}
		return buf[:len(buf)+n], nil
	}
}

func openat(dir int, name string, flags int, perm uint32) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags, perm)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func readAll(r io.Reader, name string, size, limit int64) ([]byte, error) {
	if size > limit {
		return nil, tooLarge(name, size, limit)
	}
	// The limit also holds for a file that grows while it is read.
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, explain("read", name, err)
	}
	if int64(len(data)) > limit {
		return nil, tooLarge(name, int64(len(data)), limit)
	}
	return data, nil
}

func tooLarge(name string, size, limit int64) error {
	return fmt.Errorf("%w: %s has %d bytes; the limit is %d", ErrTooLarge, Display(name), size, limit)
}
