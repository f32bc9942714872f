// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package files

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/nestor-dev/nestor/internal/tool/workspace/fsroot"
)

// MaxText is the maximum size of a file whose content is returned.
const MaxText = 1 << 20

// State describes the content of a file.
type State string

const (
	// Text: the content is there, and is valid UTF-8.
	Text State = "Text"
	// Binary: it is not text.
	Binary State = "Binary"
	// TooLarge: it has more than MaxText bytes.
	TooLarge State = "TooLarge"
	// Missing: there is no such file, and write would create it.
	Missing State = "Missing"
)

type File struct {
	// Path is the path from the root of the workspace.
	Path    string `json:"path"`
	State   State  `json:"state"`
	Content string `json:"content,omitempty"`
}

// ErrRefused is wrapped by the error for a path that write could not replace. The error's text is for people.
var ErrRefused = errors.New("the file cannot be read")

// ErrUnavailable is wrapped by the error for files that cannot be read now. The error's text is for people.
var ErrUnavailable = errors.New("the files cannot be read now")

type refusal struct{ cause error }

func (r refusal) Error() string { return r.cause.Error() }

func (r refusal) Unwrap() []error { return []error{ErrRefused, r.cause} }

func Refuse(text string) error { return refusal{errors.New(text)} }

// Resolve returns the path from the workspace's root for a name relative to cwd, as the tools resolve it.
func Resolve(cwd, name string) (string, error) {
	resolved, err := fsroot.Resolve(cwd, name)
	if err == nil {
		err = fsroot.CheckWritable(resolved)
	}
	if err != nil {
		return "", refusal{err}
	}
	return resolved, nil
}

func Read(root *fsroot.Root, cwd, name string) (File, error) {
	resolved, err := Resolve(cwd, name)
	if err != nil {
		return File{}, err
	}
	data, err := root.ReadReplaced(resolved, MaxText)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return File{Path: resolved, State: Missing}, nil
	case errors.Is(err, fsroot.ErrTooLarge):
		return File{Path: resolved, State: TooLarge}, nil
	case err != nil:
		return File{}, refusal{err}
	}
	return withContent(resolved, data), nil
}

// ReadTar reads a file from the tar of a workspace that began empty.
func ReadTar(archive []byte, cwd, name string) (File, error) {
	resolved, err := Resolve(cwd, name)
	if err != nil {
		return File{}, err
	}
	for in := tar.NewReader(bytes.NewReader(archive)); len(archive) > 0; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return File{}, fmt.Errorf("read the saved files: %w", err)
		}
		entry := path.Clean(header.Name)
		switch {
		case entry == resolved && header.Typeflag == tar.TypeReg:
			return readEntry(in, header, resolved)
		case entry == resolved, strings.HasPrefix(resolved, entry+"/") && header.Typeflag != tar.TypeDir:
			return File{}, Refuse(fmt.Sprintf("%s is a %s; name a regular file", fsroot.Display(entry), fsroot.Kind(header.FileInfo().Mode())))
		}
	}
	return File{Path: resolved, State: Missing}, nil
}

func readEntry(in io.Reader, header *tar.Header, name string) (File, error) {
	if header.Size > MaxText {
		return File{Path: name, State: TooLarge}, nil
	}
	data, err := io.ReadAll(in)
	if err != nil {
		return File{}, fmt.Errorf("read the saved files: %w", err)
	}
	return withContent(name, data), nil
}

// withContent returns a file. Text that is not valid UTF-8 would not reach people as it is.
func withContent(name string, data []byte) File {
	if fsroot.IsBinary(data) || !utf8.Valid(data) {
		return File{Path: name, State: Binary}
	}
	return File{Path: name, State: Text, Content: string(data)}
}
