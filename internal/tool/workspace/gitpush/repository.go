// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gitpush

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nestor-dev/nestor/internal/shorten"
	"github.com/nestor-dev/nestor/internal/tool/workspace/gitclone"
)

// Refs of the publisher's own repository.
const (
	tipRef  = "refs/nestor/tip"
	baseRef = "refs/nestor/base"
)

// maxHistory bounds how many commits of a branch are read to find a call.
const maxHistory = 1000

// author is the author and committer of published commits. The domain cannot exist.
const (
	authorName  = "Nestor"
	authorEmail = "nestor@nestor.invalid"
)

// repository is the publisher's own bare repository.
type repository struct {
	git           *gitclone.Connection
	dir, url, ref string
	branch        string
}

func (g repository) run(ctx context.Context, args ...string) (string, error) {
	return g.runWithInput(ctx, nil, nil, args...)
}

func (g repository) runWithInput(
	ctx context.Context, input []byte, variables []string, args ...string,
) (string, error) {
	out, err := g.git.Run(ctx, input, append([]string{"GIT_DIR=" + g.dir}, variables...), args...)
	return strings.TrimSpace(out), err
}

func (g repository) create(ctx context.Context, sha256 bool) error {
	args := []string{"init", "--quiet", "--bare", "--template="}
	if sha256 {
		args = append(args, "--object-format=sha256")
	}
	_, err := g.run(ctx, args...)
	return err
}

func (g repository) fetch(ctx context.Context, from, to string) error {
	_, err := g.run(ctx, "-c", "gc.auto=0", "fetch", "--quiet", "--no-tags", "--no-recurse-submodules",
		"--no-write-fetch-head", "--", g.url, "+"+from+":"+to)
	return err
}

// fetchTip fetches the branch and returns its commit, or "" if the server has no such branch.
func (g repository) fetchTip(ctx context.Context) (string, error) {
	full := "refs/heads/" + g.branch
	list, err := g.run(ctx, "ls-remote", "--refs", "--", g.url, full)
	if err != nil {
		return "", err
	}
	exists := false
	for line := range strings.Lines(list) {
		// Git also lists longer refs that end with this name.
		_, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		exists = exists || name == full
	}
	if !exists {
		return "", nil
	}
	if err := g.fetch(ctx, full, tipRef); err != nil {
		return "", err
	}
	return g.run(ctx, "rev-parse", "--verify", "--end-of-options", tipRef+"^{commit}")
}

// fetchBase fetches the commit that was cloned. Some servers do not serve a commit by its hash.
func (g repository) fetchBase(ctx context.Context, base string) error {
	if _, err := g.run(ctx, "cat-file", "-e", base+"^{commit}"); err == nil {
		return nil
	}
	refs := []string{base, "HEAD"}
	if g.ref != "" {
		refs = []string{base, "refs/heads/" + g.ref, "refs/tags/" + g.ref}
	}
	var failure error
	for _, ref := range refs {
		if failure = g.fetch(ctx, ref, baseRef); failure != nil {
			continue
		}
		if _, failure = g.run(ctx, "cat-file", "-e", base+"^{commit}"); failure == nil {
			return nil
		}
	}
	return fmt.Errorf("the commit %s, which the workspace was cloned from, cannot be read from the server: %w",
		base, failure)
}

// find returns the commit of a call in the history of the branch, or "".
func (g repository) find(ctx context.Context, tip string, want mark) (string, error) {
	if tip == "" {
		return "", nil
	}
	list, err := g.run(ctx, "log", "--first-parent", "--max-count="+strconv.Itoa(maxHistory), "-z",
		"--encoding=UTF-8", "--format=%H%n%B", tip, "--")
	if err != nil {
		return "", err
	}
	for entry := range strings.SplitSeq(list, "\x00") {
		commit, message, _ := strings.Cut(entry, "\n")
		if m := readMark(message); m.Owner == want.Owner && m.Call == want.Call {
			return strings.TrimSpace(commit), nil
		}
	}
	return "", nil
}

func (g repository) publishedBy(ctx context.Context, commit, owner, tree string) (bool, error) {
	message, err := g.run(ctx, "log", "--max-count=1", "--encoding=UTF-8", "--format=%B", commit, "--")
	mark := readMark(message)
	return mark.Owner == owner && mark.Tree == tree, err
}

// apply returns the tree of the base with the patch, or why the patch cannot be applied.
func (g repository) apply(ctx context.Context, base string, patch []byte) (tree, problem string, err error) {
	if _, err := g.run(ctx, "read-tree", base+"^{tree}"); err != nil {
		return "", "", err
	}
	if len(patch) > 0 {
		args := []string{"apply", "--cached", "--binary", "--whitespace=nowarn", "-"}
		if _, err := g.runWithInput(ctx, patch, nil, args...); err != nil {
			if ctx.Err() != nil {
				return "", "", ctx.Err()
			}
			const longest = 300
			cause := shorten.Tail(shorten.Line(err.Error()), longest)
			return "", "The changes cannot be committed, and nothing was pushed: " + cause + ".", nil
		}
	}
	tree, err = g.run(ctx, "write-tree")
	return tree, "", err
}

func (g repository) commitTree(ctx context.Context, commit string) (string, error) {
	return g.run(ctx, "rev-parse", "--verify", "--end-of-options", commit+"^{tree}")
}

// isAncestor reports whether a commit is in the history of another one, or is that one.
func (g repository) isAncestor(ctx context.Context, ancestor, descendant string) (bool, error) {
	missing, err := g.run(ctx, "rev-list", "--count", "--max-count=1", ancestor, "^"+descendant, "--")
	return missing == "0", err
}

// commit makes a commit that depends on nothing but its arguments.
func (g repository) commit(
	ctx context.Context, tree string, parents []string, message string, at time.Time,
) (string, error) {
	args := []string{"commit-tree", "--no-gpg-sign", "-F", "-"}
	for _, parent := range parents {
		args = append(args, "-p", parent)
	}
	date := fmt.Sprintf("@%d +0000", at.Unix())
	return g.runWithInput(ctx, []byte(message), []string{
		"GIT_AUTHOR_NAME=" + authorName, "GIT_AUTHOR_EMAIL=" + authorEmail, "GIT_AUTHOR_DATE=" + date,
		"GIT_COMMITTER_NAME=" + authorName, "GIT_COMMITTER_EMAIL=" + authorEmail, "GIT_COMMITTER_DATE=" + date,
	}, append(args, tree)...)
}

// push pushes a commit to the branch, as a fast-forward only. A problem is a refusal that a retry would not change.
func (g repository) push(ctx context.Context, commit string) (problem string, err error) {
	out, err := g.run(ctx, "push", "--porcelain", "--no-verify", "--no-follow-tags", "--no-signed",
		"--no-recurse-submodules", "--no-force", "--", g.url, commit+":refs/heads/"+g.branch)
	if err == nil {
		return "", nil
	}
	switch {
	case strings.Contains(out, "[rejected]"), strings.Contains(out, "[remote rejected]") && isRace(out):
		return "", errRejected
	case strings.Contains(out, "[remote rejected]"):
		return fmt.Sprintf("The git server does not accept the push to %s (%s), and nothing was pushed. "+
			"A person must change the rules of the server or the permissions of the credentials.",
			g.branch, findReason(out)), nil
	}
	return "", fmt.Errorf("push to %s: %w", g.branch, err)
}

// isRace reports whether a server refused a push because of another one.
func isRace(output string) bool {
	return strings.Contains(output, "cannot lock ref") || strings.Contains(output, "failed to update ref") ||
		strings.Contains(output, "reference already exists")
}

// reasons are the refusals that git servers report. Other output of a server is not repeated, because it may contain
// the data that was sent to it.
var reasons = []string{
	"pre-receive hook declined", "protected branch hook declined", "hook declined", "push declined",
	"deny updating a hidden ref", "permission denied", "branch is currently checked out",
}

func findReason(output string) string {
	for _, reason := range reasons {
		if strings.Contains(strings.ToLower(output), reason) {
			return reason
		}
	}
	return "it gave no known reason"
}
