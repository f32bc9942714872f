// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

type Against string

const (
	// Commit compares with Tree.Base.
	Commit Against = "Commit"
	// Head compares with the commit that is checked out.
	Head Against = "Head"
	// Nothing compares with an empty directory.
	Nothing Against = "Nothing"
)

const (
	// MaxArchive is the maximum size of an archive, in bytes.
	MaxArchive = 32 << 20
	// MaxDiff is the maximum length of a summary's text, in bytes.
	MaxDiff = 1 << 20
	// MaxFiles is the maximum number of files in a summary.
	MaxFiles = 2000
	// maxCompared bounds the total size of the changed files, which git copies, and maxEntries their number.
	maxCompared = 256 << 20
	maxEntries  = 50_000
	// readTimeout is how long a comparison may take.
	readTimeout = 2 * time.Minute
)

// ErrTooLarge is wrapped by the error for changes that exceed a limit.
var ErrTooLarge = errors.New("the changes are too large")

// ErrNoBase is wrapped by the error for a tree without a commit to compare with.
var ErrNoBase = errors.New("there is no commit to compare with")

type Tree struct {
	Root string
	// State is a directory for git's own repository. Commands of agents must not be able to write it.
	State string
	// Against selects the base of the comparison; Base is the commit for Commit.
	Against Against
	Base    string

	mu sync.Mutex
}

type Summary struct {
	// BaseCommit is the commit that the tree was compared with, if there is one.
	BaseCommit string `json:"baseCommit,omitempty"`
	// Digest is the DigestOf the patch with the same changes; empty if there is none.
	Digest string `json:"digest,omitempty"`
	// TooLarge means that the changes are lost when the workspace stops; Message has the reason.
	TooLarge bool `json:"tooLarge,omitempty"`
	// Message describes what is missing in the summary.
	Message string `json:"message,omitempty"`
	// Files are the changed files, by path.
	Files []File `json:"files,omitempty"`
	// Diff is the unified diff, and DiffTruncated reports that it was cut.
	Diff          string `json:"diff,omitempty"`
	DiffTruncated bool   `json:"diffTruncated,omitempty"`
}

type File struct {
	Path   string `json:"path"`
	Change string `json:"change"`
	// From is the former path of a renamed file.
	From   string `json:"from,omitempty"`
	Binary bool   `json:"binary,omitempty"`
	// Additions and Deletions count lines; absent for a binary file.
	Additions *int64 `json:"additions,omitempty"`
	Deletions *int64 `json:"deletions,omitempty"`
}

const (
	Added    = "Added"
	Modified = "Modified"
	Deleted  = "Deleted"
	Renamed  = "Renamed"
)

// emptyTree is git's name for a tree without files.
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// base returns the commit to compare with; empty for none.
func (t *Tree) base() (string, error) {
	switch t.Against {
	case Commit:
		if !isObjectName(t.Base) {
			return "", fmt.Errorf("%w: %q is not a commit", ErrNoBase, t.Base)
		}
		return t.Base, nil
	case Head:
		return head(t.Root)
	}
	return "", nil
}

func (t *Tree) Read(ctx context.Context) (Summary, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	g, entries, err := t.compare(ctx)
	if errors.Is(err, ErrTooLarge) {
		return Summary{BaseCommit: g.base, TooLarge: true, Message: sentence(err)}, nil
	}
	if err != nil {
		return Summary{}, err
	}
	s := Summary{BaseCommit: g.base, Message: entries.message()}
	if s.Files, err = g.files(ctx); err != nil {
		return Summary{}, err
	}
	if len(s.Files) > MaxFiles {
		s.Message = join(s.Message, fmt.Sprintf("%d files were changed; the first %d are listed.", len(s.Files), MaxFiles))
		s.Files = s.Files[:MaxFiles]
	}
	if s.Diff, s.DiffTruncated, err = g.text(ctx); err != nil {
		return Summary{}, err
	}
	s.Digest, err = t.digest(ctx, g, s)
	return s, err
}

// digest returns the digest of the patch. It also identifies the diff, which is computed from the same index.
func (t *Tree) digest(ctx context.Context, g repository, s Summary) (string, error) {
	if t.Against == Nothing || len(s.Files) == 0 {
		return "", nil
	}
	patch, cut, err := g.patch(ctx)
	if err != nil || cut {
		return "", err
	}
	return DigestOf(patch), nil
}

// DigestOf returns the SHA-256 of a patch in hexadecimal digits.
func DigestOf(patch []byte) string {
	sum := sha256.Sum256(patch)
	return hex.EncodeToString(sum[:])
}

// Archive returns the changes as a patch, or as a tar for a tree without a commit. It is empty if nothing was changed.
func (t *Tree) Archive(ctx context.Context) ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if t.Against == Nothing {
		return pack(ctx, t.Root)
	}
	g, entries, err := t.compare(ctx)
	if err != nil {
		return nil, err
	}
	patch, cut, err := g.patch(ctx)
	if err != nil {
		return nil, err
	}
	if cut {
		return nil, fmt.Errorf("%w: their patch has more than %d MiB; %s", ErrTooLarge, MaxArchive>>20, entries.largest())
	}
	return patch, nil
}

// compare brings the index of git's own repository to the state of the files.
func (t *Tree) compare(ctx context.Context) (repository, entries, error) {
	base, err := t.base()
	if err != nil {
		return repository{}, entries{}, err
	}
	g, err := t.open(ctx, base)
	if err != nil {
		return g, entries{}, err
	}
	if err := g.run(ctx, "read-tree", "--reset", "-i", g.tree()); err != nil {
		return g, entries{}, fmt.Errorf("%w: the repository of the workspace does not have the commit %s any more, or is damaged: %w", ErrNoBase, base, err)
	}
	changed, err := g.changed(ctx, t.Root, t.Against != Nothing)
	if err != nil {
		return g, changed, err
	}
	return g, changed, g.update(ctx, changed)
}

// Restore puts a tree that was not used yet into the state of an archive. It may be repeated.
func (t *Tree) Restore(ctx context.Context, archive []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Against == Nothing {
		return unpack(ctx, t.Root, archive)
	}
	base, err := t.base()
	if err != nil {
		return err
	}
	g, err := t.open(ctx, base)
	if err != nil {
		return err
	}
	// The steps remove what an interrupted attempt left. The index is new, so that git writes every file.
	if err := os.Remove(filepath.Join(g.dir, "index")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("restore the changes: %w", err)
	}
	for _, step := range [][]string{{"read-tree", "--reset", "-u", g.tree()}, {"clean", "-ffdxq"}} {
		if err := g.run(ctx, step...); err != nil {
			return fmt.Errorf("restore the changes: %w", err)
		}
	}
	if len(archive) == 0 {
		return nil
	}
	if err := g.feed(ctx, archive, "apply", "--binary", "--whitespace=nowarn", "-"); err != nil {
		return fmt.Errorf("restore the changes: %w", err)
	}
	return nil
}
