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

type Source struct {
	Dir   string // the workspace's root; must exist
	URL   string // https, http or ssh; file if there are no credentials
	Ref   string // a branch, a tag or a commit; empty for the default branch
	Depth int    // commits of history; 0 for all
	// Credentials is a directory with the files username and password, or
	// ssh-privatekey and known_hosts; empty for none.
	Credentials string
	// Commit is a commit to check out instead of the newest one of Ref; empty for that.
	Commit string
	// BaseFile receives the name of the commit that was checked out; empty for none.
	BaseFile string
	// Program answers git's requests for credentials (see [AnswerGit]); usually os.Executable().
	Program string
}

// unfinished marks a workspace's root while it is being cloned.
const unfinished = ".nestor-cloning"

// Clone clones the source into the directory. A directory that has been cloned is left alone, so that a restart loses
// no work; an interrupted clone is repeated.
//
// It never runs git in an existing repository: commands may have written the repository's configuration, which can
// name programs for git to run, and these would run with access to the credentials.
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
	if err := git.checkoutCommit(ctx, s.Commit); err != nil {
		return err
	}
	if err := s.recordBase(ctx, git); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(s.Dir, unfinished)); err != nil {
		return fmt.Errorf("finish the clone: %w", err)
	}
	return nil
}

// recordBase writes the commit to the base file, from a repository that no command has changed yet.
func (s Source) recordBase(ctx context.Context, git repository) error {
	if s.BaseFile == "" {
		return nil
	}
	commit, err := git.output(ctx, "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	if err := os.WriteFile(s.BaseFile, []byte(commit+"\n"), 0o600); err != nil {
		return fmt.Errorf("record the commit: %w", err)
	}
	return nil
}

func (s Source) cloned() bool {
	_, repository := os.Lstat(filepath.Join(s.Dir, ".git"))
	_, mark := os.Lstat(filepath.Join(s.Dir, unfinished))
	return repository == nil && errors.Is(mark, os.ErrNotExist)
}

// begin creates the mark and removes an unfinished repository.
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
	if err := errors.Join(checkRef(s.Ref), checkRef(s.Commit)); err != nil {
		return giturl.Remote{}, err
	}
	if strings.HasPrefix(s.URL, local) && s.Credentials == "" {
		return giturl.Remote{Scheme: "file"}, nil
	}
	return giturl.Parse(s.URL)
}

// checkRef rejects refs that git could take for an option or a refspec.
func checkRef(ref string) error {
	if strings.HasPrefix(ref, "-") || strings.HasPrefix(ref, "+") || strings.ContainsAny(ref, " :^\x00\n") {
		return fmt.Errorf("ref %q is not the name of a branch, a tag or a commit", ref)
	}
	return nil
}

// repository runs git in a directory with its own environment.
type repository struct {
	dir string
	env []string
	// private means that git has credentials, which the server may repeat.
	private bool
}

// checkout fetches and checks out a branch, or else the tag or commit that the ref names.
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

// checkoutCommit moves the checked-out branch to a commit, if one is given. The commit may not be in the history of a
// rewritten branch, but the server may still have it.
func (r repository) checkoutCommit(ctx context.Context, commit string) error {
	if commit == "" {
		return nil
	}
	if r.run(ctx, "cat-file", "-e", commit+"^{commit}") != nil {
		if err := r.run(ctx, "-c", "gc.auto=0", "fetch", "--quiet", "--no-recurse-submodules", "--", "origin", commit); err != nil {
			return fmt.Errorf("the commit %s, the base of the saved changes, is no longer in the repository: %w", commit, err)
		}
	}
	return r.run(ctx, "reset", "--quiet", "--hard", commit)
}

// defaultBranch queries the remote, which answers "ref: refs/heads/NAME<tab>HEAD".
func (r repository) defaultBranch(ctx context.Context) (string, error) {
	stderr, err := r.output(ctx, "ls-remote", "--symref", "origin", "HEAD")
	if err != nil {
		return "", err
	}
	first, _, _ := strings.Cut(stderr, "\t")
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

// output runs git and returns its output; an error contains git's message.
func (r repository) output(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = r.dir
	cmd.Env = r.env
	output, err := cmd.CombinedOutput()
	stderr := strings.TrimSpace(string(output))
	if err == nil {
		return stderr, nil
	}
	return "", r.explain(args, stderr, err)
}

// explain returns the error of a git command, with its message but without the credentials.
func (r repository) explain(args []string, stderr string, err error) error {
	if r.private {
		stderr = stripRemoteLines(stderr)
	}
	if stderr == "" {
		stderr = err.Error()
	}
	if strings.Contains(stderr, "returned error: 30") {
		stderr += " (the server redirects, and credentials are not sent on: name the address that it redirects to)"
	}
	return fmt.Errorf("git %s: %s", verb(args), stderr)
}

// stripRemoteLines removes the server's messages: the error is shown to people and models, and a server that repeats
// its input would reveal the credentials. Git's own messages remain.
func stripRemoteLines(stderr string) string {
	var local []string
	for line := range strings.Lines(stderr) {
		if !strings.Contains(line, "remote:") && !strings.Contains(line, "remote error:") {
			local = append(local, strings.TrimSpace(line))
		}
	}
	return strings.Join(local, "\n")
}

// verb returns the git command among the arguments, after options with their values.
func verb(args []string) string {
	for len(args) > 2 && args[0] == "-c" {
		args = args[2:]
	}
	return args[0]
}
