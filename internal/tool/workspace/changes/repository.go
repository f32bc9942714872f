// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nestor-dev/nestor/internal/shorten"
)

// repository is git's own repository for a tree. Only its objects come from the workspace.
type repository struct {
	dir, root, base string
}

// config is the whole configuration of the repository. File names that other systems do not allow are valid here.
const config = `[core]
	repositoryformatversion = %d
	bare = false
	filemode = true
	protectHFS = false
	protectNTFS = false
	quotePath = false
[gc]
	auto = 0
`

// open creates the repository if it does not exist.
func (t *Tree) open(ctx context.Context, base string) (repository, error) {
	if _, err := exec.LookPath("git"); err != nil {
		return repository{}, errors.New("git is not installed where the workspace runs, so that its changes cannot be read")
	}
	root, err := filepath.Abs(t.Root)
	if err != nil {
		return repository{}, fmt.Errorf("find the root: %w", err)
	}
	g := repository{dir: filepath.Join(t.State, "repository"), root: root, base: base}
	version, format := 0, ""
	if len(base) == 64 {
		version, format = 1, "[extensions]\n\tobjectFormat = sha256\n"
	}
	for _, dir := range []string{"objects/info", "refs/heads", "info"} {
		if err := os.MkdirAll(filepath.Join(g.dir, dir), 0o700); err != nil {
			return g, fmt.Errorf("create a repository: %w", err)
		}
	}
	files := map[string]string{"HEAD": "ref: refs/heads/none\n", "config": fmt.Sprintf(config, version) + format}
	if base != "" {
		if strings.ContainsAny(root, "\n\"") {
			return g, errors.New("the path of the workspace contains a quote or a line break")
		}
		files["objects/info/alternates"] = filepath.Join(root, ".git", "objects") + "\n"
	}
	for name, content := range files {
		if err := writeIfChanged(filepath.Join(g.dir, name), content); err != nil {
			return g, fmt.Errorf("create a repository: %w", err)
		}
	}
	// This process is the only user of the repository, so an existing lock belongs to a process that was killed.
	if err := os.Remove(filepath.Join(g.dir, "index.lock")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return g, fmt.Errorf("open the repository: %w", err)
	}
	return g, ctx.Err()
}

func writeIfChanged(path, content string) error {
	if old, err := os.ReadFile(path); err == nil && string(old) == content {
		return nil
	}
	return os.WriteFile(path, []byte(content), 0o600)
}

func (g repository) tree() string {
	if g.base == "" {
		return emptyTree
	}
	return g.base + "^{tree}"
}

func (g repository) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = g.root
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + g.dir, "LANG=C.UTF-8", "GIT_DIR=" + g.dir, "GIT_WORK_TREE=" + g.root,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_LITERAL_PATHSPECS=1",
	}
	return cmd
}

func (g repository) run(ctx context.Context, args ...string) error { return g.feed(ctx, nil, args...) }

func (g repository) feed(ctx context.Context, input []byte, args ...string) error {
	cmd := g.command(ctx, args...)
	cmd.Stdin = bytes.NewReader(input)
	output, err := cmd.CombinedOutput()
	if err != nil {
		return failure(ctx, args[0], string(output), err)
	}
	return nil
}

// output runs git and returns its output, and whether it was cut at limit bytes.
func (g repository) output(ctx context.Context, limit int64, args ...string) (out []byte, cut bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := g.command(ctx, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, false, fmt.Errorf("run git: %w", err)
	}
	out, readErr := io.ReadAll(io.LimitReader(pipe, limit+1))
	if int64(len(out)) > limit {
		cancel()
		_ = cmd.Wait() // it was killed
		return out[:limit], true, nil
	}
	if err := errors.Join(readErr, cmd.Wait()); err != nil {
		return nil, false, failure(ctx, args[0], stderr.String(), err)
	}
	return out, false, nil
}

func failure(ctx context.Context, verb, output string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("git %s: %w", verb, ctx.Err())
	}
	const longest = 300
	if text := shorten.Tail(shorten.Line(output), longest); text != "" {
		return fmt.Errorf("git %s: %s", verb, text)
	}
	return fmt.Errorf("git %s: %w", verb, err)
}

// update writes the changed files into the index.
func (g repository) update(ctx context.Context, e entries) error {
	if len(e.gone) > 0 {
		if err := g.feed(ctx, terminated(e.gone), "update-index", "-z", "--force-remove", "--stdin"); err != nil {
			return err
		}
	}
	if len(e.present) == 0 {
		return nil
	}
	return g.feed(ctx, terminated(e.present), "update-index", "-z", "--add", "--replace", "--stdin")
}

func terminated(paths []string) []byte { return []byte(strings.Join(paths, "\x00") + "\x00") }

// maxList bounds git's lists of paths.
const maxList = 64 << 20

// list runs git and returns its fields, which are separated by NUL.
func (g repository) list(ctx context.Context, args ...string) ([]string, error) {
	out, cut, err := g.output(ctx, maxList, args...)
	if err != nil || len(out) == 0 {
		return nil, err
	}
	if cut {
		return nil, fmt.Errorf("%w: the list of files has more than %d MiB", ErrTooLarge, maxList>>20)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), nil
}

func (g repository) files(ctx context.Context) ([]File, error) {
	fields, err := g.list(ctx, "diff-index", "--cached", "-z", "-M", "--name-status", g.tree())
	if err != nil {
		return nil, err
	}
	var files []File
	for len(fields) > 1 {
		f := File{Change: parseStatus(fields[0]), Path: fields[1]}
		fields = fields[2:]
		if f.Change == Renamed && len(fields) > 0 {
			f.From, f.Path, fields = f.Path, fields[0], fields[1:]
		}
		files = append(files, f)
	}
	counts, err := g.counts(ctx)
	if err != nil {
		return nil, err
	}
	for i := range files {
		f := &files[i]
		if c, ok := counts[f.Path]; ok {
			f.Additions, f.Deletions, f.Binary = c.added, c.deleted, c.added == nil
		}
		f.Path, f.From = strings.ToValidUTF8(f.Path, "\uFFFD"), strings.ToValidUTF8(f.From, "\uFFFD")
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

func parseStatus(status string) string {
	switch status[:min(1, len(status))] {
	case "A":
		return Added
	case "D":
		return Deleted
	case "R":
		return Renamed
	}
	return Modified
}

type lineCounts struct{ added, deleted *int64 }

// counts returns the numbers of lines by path; a binary file has none.
func (g repository) counts(ctx context.Context) (map[string]lineCounts, error) {
	fields, err := g.list(ctx, "diff-index", "--cached", "-z", "-M", "--numstat", g.tree())
	if err != nil {
		return nil, err
	}
	counts := map[string]lineCounts{}
	for len(fields) > 0 {
		parts := strings.SplitN(fields[0], "\t", 3)
		fields = fields[1:]
		if len(parts) != 3 {
			continue
		}
		if path := parts[2]; path == "" && len(fields) > 1 { // a renamed file: the old and the new path follow
			parts[2], fields = fields[1], fields[2:]
		}
		var c lineCounts
		if added, err := strconv.ParseInt(parts[0], 10, 64); err == nil {
			c.added = &added
		}
		if deleted, err := strconv.ParseInt(parts[1], 10, 64); err == nil {
			c.deleted = &deleted
		}
		counts[parts[2]] = c
	}
	return counts, nil
}

// patch returns all changes for git apply, and whether they are too large.
func (g repository) patch(ctx context.Context) (patch []byte, cut bool, err error) {
	return g.output(ctx, MaxArchive, "diff-index", "--cached", "-p", "--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv", g.tree())
}

// text returns the unified diff for people, cut after a whole line.
func (g repository) text(ctx context.Context) (diff string, truncated bool, err error) {
	out, cut, err := g.output(ctx, MaxDiff, "diff-index", "--cached", "-p", "-M", "--no-ext-diff", "--no-textconv", g.tree())
	if err != nil {
		return "", false, err
	}
	if cut {
		out = out[:bytes.LastIndexByte(out, '\n')+1]
	}
	return strings.ToValidUTF8(string(out), "\uFFFD"), cut, nil
}
