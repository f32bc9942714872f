// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gitclone

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Source is what to clone, and where to.
type Source struct {
	Dir   string // the workspace's root; must exist
	URL   string // https, http, ssh, git@host:path, or file
	Ref   string // a branch, a tag or a commit; empty for the default branch
	Depth int    // commits of history; 0 for all
	// Credentials is a directory with the files username and password, or
	// ssh-privatekey and known_hosts; empty for none.
	Credentials string
	// AskPass is the program that answers git's questions (see [Answer]); usually
	// os.Executable().
	AskPass string
}

// Clone fetches the source into the directory. A directory that has a commit
// checked out already is left alone, so that a restart loses no work; what an
// interrupted clone left is completed.
func Clone(ctx context.Context, s Source) error {
	if err := s.validate(); err != nil {
		return err
	}
	git, cleanup, err := s.prepare()
	if err != nil {
		return err
	}
	defer cleanup()
	if git.run(ctx, "rev-parse", "--quiet", "--verify", "HEAD") == nil {
		return nil
	}
	if err := git.run(ctx, "init", "--quiet"); err != nil {
		return err
	}
	if err := git.setRemote(ctx, s.URL); err != nil {
		return err
	}
	return git.checkout(ctx, s.Ref, s.Depth)
}

func (s Source) validate() error {
	if s.URL == "" {
		return errors.New("url is empty; name the repository to clone")
	}
	// Both would be taken for options.
	if strings.HasPrefix(s.URL, "-") || strings.HasPrefix(s.Ref, "-") {
		return errors.New("url and ref must not begin with a dash")
	}
	if strings.ContainsAny(s.Ref, " :\x00\n") {
		return fmt.Errorf("ref %q is not the name of a branch, a tag or a commit", s.Ref)
	}
	parsed, err := url.Parse(s.URL)
	if err != nil && strings.Contains(s.URL, "://") {
		return errors.New("url cannot be parsed") // the parser's message would repeat it
	}
	if err == nil && parsed.User != nil {
		if _, has := parsed.User.Password(); has || parsed.Scheme != "ssh" {
			return errors.New("url contains credentials; put them into the credentials directory instead")
		}
	}
	return nil
}

// repository runs git in a directory with an environment of its own.
type repository struct {
	dir string
	env []string
}

// prepare builds git's environment; cleanup removes the copy of the key.
func (s Source) prepare() (git repository, cleanup func(), err error) {
	git = repository{dir: s.Dir, env: []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + os.TempDir(),
		"LANG=C.UTF-8",
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_TERMINAL_PROMPT=0",
		// Others can run commands.
		"GIT_ALLOW_PROTOCOL=https:http:ssh:git:file",
	}}
	cleanup = func() {}
	if s.Credentials == "" {
		return git, cleanup, nil
	}
	git.env = append(git.env, "GIT_ASKPASS="+s.AskPass, AskPassVariable+"="+s.Credentials)
	key, err := os.ReadFile(filepath.Join(s.Credentials, "ssh-privatekey"))
	if errors.Is(err, os.ErrNotExist) {
		return git, cleanup, nil
	}
	if err != nil {
		return git, cleanup, fmt.Errorf("read ssh key: %w", err)
	}
	// Ssh refuses a key that others may read, which a mounted Secret's may be.
	dir, err := os.MkdirTemp("", "nestor-clone-")
	if err != nil {
		return git, cleanup, fmt.Errorf("create directory for ssh key: %w", err)
	}
	cleanup = func() { _ = os.RemoveAll(dir) }
	private := filepath.Join(dir, "key")
	if err := os.WriteFile(private, key, 0o600); err != nil {
		return git, cleanup, fmt.Errorf("copy ssh key: %w", err)
	}
	git.env = append(git.env, fmt.Sprintf(
		"GIT_SSH_COMMAND=ssh -i '%s' -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=yes -o UserKnownHostsFile='%s'",
		private, filepath.Join(s.Credentials, "known_hosts")))
	return git, cleanup, nil
}

func (r repository) setRemote(ctx context.Context, url string) error {
	if r.run(ctx, "remote", "get-url", "origin") == nil {
		return r.run(ctx, "remote", "set-url", "origin", url)
	}
	return r.run(ctx, "remote", "add", "origin", url)
}

// checkout fetches a branch, to work on it, or else whatever the ref names.
func (r repository) checkout(ctx context.Context, ref string, depth int) error {
	fetch := []string{"-c", "gc.auto=0", "fetch", "--quiet"}
	if depth > 0 {
		fetch = append(fetch, "--depth", strconv.Itoa(depth))
	}
	if ref == "" {
		name, err := r.defaultBranch(ctx)
		if err != nil {
			return err
		}
		ref = name
	}
	branch := "+refs/heads/" + ref + ":refs/remotes/origin/" + ref
	if r.run(ctx, append(fetch, "origin", branch)...) == nil {
		return r.run(ctx, "checkout", "--quiet", "-B", ref, "--track", "origin/"+ref)
	}
	if err := r.run(ctx, append(fetch, "origin", ref)...); err != nil {
		return err
	}
	return r.run(ctx, "checkout", "--quiet", "--detach", "FETCH_HEAD")
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
	return name, nil
}

func (r repository) run(ctx context.Context, args ...string) error {
	_, err := r.output(ctx, args...)
	return err
}

// output runs git and returns what it said; an error has git's own words.
func (r repository) output(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.hooksPath=" + os.DevNull}, args...)...)
	cmd.Dir = r.dir
	cmd.Env = r.env
	output, err := cmd.CombinedOutput()
	said := strings.TrimSpace(string(output))
	if err == nil {
		return said, nil
	}
	if said == "" {
		said = err.Error()
	}
	return "", fmt.Errorf("git %s: %s", verb(args), said)
}

// verb is the command among git's arguments, after options with their values.
func verb(args []string) string {
	for len(args) > 2 && args[0] == "-c" {
		args = args[2:]
	}
	return args[0]
}
