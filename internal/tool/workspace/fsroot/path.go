// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package fsroot

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode"

	"github.com/nestor-dev/nestor/internal/shorten"
)

// Limits of Linux file systems, checked here for better messages.
const (
	maxPath = 4096
	maxName = 255
)

// Resolve joins a working directory and a name, both relative to the root, to a clean path relative to the root; the
// root itself is ".". It rejects paths that could leave the root.
func Resolve(cwd, name string) (string, error) {
	if err := check("cwd", cwd); err != nil {
		return "", err
	}
	if err := check("path", name); err != nil {
		return "", err
	}
	joined := path.Join(cwd, name)
	if len(joined) >= maxPath {
		return "", fmt.Errorf("path has %d bytes; at most %d are allowed", len(joined), maxPath-1)
	}
	if joined == "" {
		return ".", nil
	}
	return joined, nil
}

func check(what, name string) error {
	if strings.ContainsRune(name, 0) {
		return fmt.Errorf("%s contains a NUL byte", what)
	}
	if strings.HasPrefix(name, "/") {
		return fmt.Errorf("%s %s is absolute; use a path relative to the workspace, such as %q", what, clip(name), "src/main.go")
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return fmt.Errorf("%s %s contains %q; name the file by its path from the workspace's root (or from cwd, if given)", what, clip(name), "..")
		}
		if len(part) > maxName {
			return fmt.Errorf("%s has a component of %d bytes; a name has at most %d", what, len(part), maxName)
		}
	}
	return nil
}

// CheckWritable returns an error for a path that WriteFile rejects by its name. Git's own files are rejected: a hook
// or a config entry written there would run as a command the next time anyone uses git.
func CheckWritable(name string) error {
	if name == "." {
		return errors.New("path is the workspace itself; name a file in it")
	}
	for part := range strings.SplitSeq(name, "/") {
		if strings.EqualFold(part, ".git") {
			return fmt.Errorf("%s belongs to git and is not written directly; use git through bash", clip(name))
		}
	}
	return nil
}

// Display returns a path for results, quoted if it has characters that could be mistaken for the structure of the
// result.
func Display(name string) string {
	for _, r := range name {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return strconv.Quote(name)
		}
	}
	return name
}

func clip(name string) string {
	const limit = 120
	if len(name) > limit {
		return strconv.Quote(shorten.HeadBytes(name, limit)) + "..."
	}
	return strconv.Quote(name)
}
