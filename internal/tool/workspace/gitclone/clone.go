// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gitclone

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/nestor-dev/nestor/internal/tool/workspace/giturl"
)

// Source is what to clone, and where to.
type Source struct {
	Dir   string // the workspace's root; must exist
	URL   string // https, http or ssh; file if there are no credentials
	Ref   string // a branch, a tag or a commit; empty for the default branch
	Depth int    // commits of history; 0 for all
	// Credentials is a directory with the files username and password, or
	// ssh-privatekey and known_hosts; empty for none.
	Credentials string
	// Program answers git's requests for credentials (see [AnswerGit]); usually
	// os.Executable().
	Program string
}

// unfinished is in the workspace's root while it is being cloned.
const unfinished = ".nestor-cloning"

// Clone fetches the source into the directory. A directory that has been cloned
// is left alone, so that a restart loses no work; what an interrupted clone left
// is cloned again.
//
// It never runs git in a repository that it finds: commands may have written the
// repository's configuration, which can name programs for git to run, and here
// they would run beside the credentials.
func Clone(ctx context.Context, s Source) error {
	remote, err := s.validate()
	if err != nil {
		return err
	}
	if s.cloned() {
		return nil
	}
	if err := s.begin(); err != nil {
		return err
	}
	git, cleanup, err := s.prepare(remote)
	if err != nil {
		return err
	}
	defer cleanup()
	for _, step := range [][]string{{"init", "--quiet"}, {"remote", "add", "--", "origin", s.URL}} {
		if err := git.run(ctx, step...); err != nil {
			return err
		}
	}
	if err := git.checkout(ctx, s.Ref, s.Depth); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(s.Dir, unfinished)); err != nil {
		return fmt.Errorf("finish the clone: %w", err)
	}
	return nil
}

func (s Source) cloned() bool {
	_, repository := os.Lstat(filepath.Join(s.Dir, ".git"))
	_, mark := os.Lstat(filepath.Join(s.Dir, unfinished))
	return repository == nil && errors.Is(mark, os.ErrNotExist)
}

// begin leaves the mark and no repository.
func (s Source) begin() error {
	mark, err := os.OpenFile(filepath.Join(s.Dir, unfinished), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		err = mark.Close()
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("begin the clone: %w", err)
	}
	if err := os.RemoveAll(filepath.Join(s.Dir, ".git")); err != nil {
		return fmt.Errorf("remove what an earlier clone left: %w", err)
	}
	return nil
}

// local is the scheme of a repository on this machine.
const local = "file://"

func (s Source) validate() (giturl.Remote, error) {
	if s.URL == "" {
		return giturl.Remote{}, errors.New("url is empty; name the repository to clone")
	}
	if err := checkRef(s.Ref); err != nil {
		return giturl.Remote{}, err
	}
	if strings.HasPrefix(s.URL, local) && s.Credentials == "" {
		return giturl.Remote{Scheme: "file"}, nil
	}
	return giturl.Parse(s.URL)
}

// checkRef refuses what would be taken for an option or for more than a name.
func checkRef(ref string) error {
	if strings.HasPrefix(ref, "-") || strings.HasPrefix(ref, "+") || strings.ContainsAny(ref, " :^\x00\n") {
		return fmt.Errorf("ref %q is not the name of a branch, a tag or a commit", ref)
	}
	return nil
}

// repository runs git in a directory with an environment of its own.
type repository struct {
	dir string
	env []string
	// private says that git has credentials, which the server may repeat.
	private bool
}

// checkout fetches a branch, to work on it, or else whatever the ref names.
func (r repository) checkout(ctx context.Context, ref string, depth int) error {
	fetch := []string{"-c", "gc.auto=0", "fetch", "--quiet", "--no-recurse-submodules"}
	if depth > 0 {
		fetch = append(fetch, "--depth", strconv.Itoa(depth))
	}
	fetch = append(fetch, "--", "origin")
	if ref == "" {
		name, err := r.defaultBranch(ctx)
		if err != nil {
			return err
		}
		ref = name
	}
	branch := "+refs/heads/" + ref + ":refs/remotes/origin/" + ref
	if r.run(ctx, append(fetch, branch)...) == nil {
		return r.run(ctx, "checkout", "--quiet", "--force", "-B", ref, "--track", "origin/"+ref)
	}
	if err := r.run(ctx, append(fetch, ref)...); err != nil {
		return err
	}
	return r.run(ctx, "checkout", "--quiet", "--force", "--detach", "FETCH_HEAD")
}

// defaultBranch asks the remote, which answers "ref: refs/heads/NAME<tab>HEAD".
func (r repository) defaultBranch(ctx context.Context) (string, error) {
	said, err := r.output(ctx, "ls-remote", "--symref", "origin", "HEAD")
	if err != nil {
		return "", err
	}
	first, _, _ := strings.Cut(said, "\t")
	name, ok := strings.CutPrefix(first, "ref: refs/heads/")
	if !ok {
		return "", errors.New("the repository names no default branch; give a ref")
	}
	return name, checkRef(name)
}

func (r repository) run(ctx context.Context, args ...string) error {
	_, err := r.output(ctx, args...)
	return err
}

// output runs git and returns what it said; an error has git's own words.
func (r repository) output(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = r.dir
	cmd.Env = r.env
	output, err := cmd.CombinedOutput()
	said := strings.TrimSpace(string(output))
	if err == nil {
		return said, nil
	}
	if r.private {
		said = withoutRemote(said)
	}
	if said == "" {
		said = err.Error()
	}
	if strings.Contains(said, "returned error: 30") {
		said += " (the server redirects, and credentials are not sent on: name the address that it redirects to)"
	}
	return "", fmt.Errorf("git %s: %s", verb(args), said)
}

// withoutRemote leaves out what a server said: the error is shown to people and
// models, and a server that repeats what it was sent would show them the
// credentials. Git's own words tell what failed.
func withoutRemote(said string) string {
	var kept []string
	for line := range strings.Lines(said) {
		if !strings.Contains(line, "remote:") && !strings.Contains(line, "remote error:") {
			kept = append(kept, strings.TrimSpace(line))
		}
	}
	return strings.Join(kept, "\n")
}

// verb is the command among git's arguments, after options with their values.
func verb(args []string) string {
	for len(args) > 2 && args[0] == "-c" {
		args = args[2:]
	}
	return args[0]
}
