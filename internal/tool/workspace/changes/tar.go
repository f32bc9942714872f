// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// pack returns a tar of everything in a directory; empty if there is nothing.
func pack(ctx context.Context, dir string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	defer func() { _ = root.Close() }()
	p := packer{root: root}
	out := tar.NewWriter(&p.buffer)
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrPermission) && name != "." {
			return skipUnreadable(entry) // the summary names what cannot be read
		}
		if err != nil || name == "." {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return p.add(out, name, entry)
	})
	if err != nil {
		return nil, fmt.Errorf("pack the workspace: %w", err)
	}
	if p.count == 0 {
		return nil, nil
	}
	if err := out.Close(); err != nil {
		return nil, fmt.Errorf("pack the workspace: %w", err)
	}
	return p.buffer.Bytes(), nil
}

func skipUnreadable(entry fs.DirEntry) error {
	if entry != nil && entry.IsDir() {
		return fs.SkipDir
	}
	return nil
}

type packer struct {
	root   *os.Root
	buffer bytes.Buffer
	count  int
}

func (p *packer) add(out *tar.Writer, name string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was removed meanwhile
	}
	if err != nil {
		return err
	}
	header := &tar.Header{Name: name, Mode: int64(info.Mode().Perm()), ModTime: info.ModTime(), Format: tar.FormatPAX}
	switch {
	case info.IsDir():
		header.Typeflag, header.Name = tar.TypeDir, name+"/"
	case info.Mode()&fs.ModeSymlink != 0:
		header.Typeflag = tar.TypeSymlink
		if header.Linkname, err = p.root.Readlink(name); err != nil {
			return err
		}
	case info.Mode().IsRegular():
		return p.addFile(out, header, name)
	default:
		return nil // pipes, sockets and devices
	}
	p.count++
	return out.WriteHeader(header)
}

func (p *packer) addFile(out *tar.Writer, header *tar.Header, name string) error {
	f, err := p.root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	if int64(p.buffer.Len())+info.Size() > MaxArchive {
		return fmt.Errorf("%w: the files have more than %d MiB; %s alone has %d KiB", ErrTooLarge, MaxArchive>>20, name, info.Size()>>10)
	}
	header.Typeflag, header.Size = tar.TypeReg, info.Size()
	if err := out.WriteHeader(header); err != nil {
		return err
	}
	p.count++
	if _, err := io.CopyN(out, f, info.Size()); err != nil {
		return fmt.Errorf("%s changes while it is read: %w", name, err)
	}
	return nil
}

// unpack replaces the content of a directory by a tar's. Links in the tar cannot lead a later file out of the
// directory.
func unpack(ctx context.Context, dir string, archive []byte) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the workspace: %w", err)
	}
	defer func() { _ = root.Close() }()
	old, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return fmt.Errorf("read the workspace: %w", err)
	}
	for _, entry := range old {
		if err := root.RemoveAll(entry.Name()); err != nil {
			return fmt.Errorf("empty the workspace: %w", err)
		}
	}
	var dirs []*tar.Header
	for in := tar.NewReader(bytes.NewReader(archive)); len(archive) > 0; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = place(root, header, in)
		}
		if err != nil {
			return fmt.Errorf("restore the files: %w", err)
		}
		if header.Typeflag == tar.TypeDir {
			dirs = append(dirs, header)
		}
	}
	// A directory that may not be written gets its mode after its files.
	for _, header := range dirs {
		if err := root.Chmod(filepath.Clean(header.Name), fs.FileMode(header.Mode).Perm()); err != nil {
			return fmt.Errorf("restore the files: %w", err)
		}
	}
	return nil
}

func place(root *os.Root, header *tar.Header, content io.Reader) error {
	name, mode := filepath.Clean(header.Name), fs.FileMode(header.Mode).Perm()
	switch header.Typeflag {
	case tar.TypeDir:
		return root.MkdirAll(name, 0o755)
	case tar.TypeSymlink:
		return root.Symlink(header.Linkname, name)
	case tar.TypeReg:
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, content)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		return root.Chmod(name, mode)
	}
	return nil
}
