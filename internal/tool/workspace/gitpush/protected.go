// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gitpush

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/nestor-dev/nestor/internal/tool/workspace/pathmatch"
)

// Some files of a repository control CI systems and preview hosts, which often have secrets, and the required reviews.
// Those systems read them from every pushed branch, before any review. So they are published only if the workspace
// allows their paths. Names are compared without case, because some systems do so.

// protectedDirectories are directories of the repository's root that git hosts and CI systems read.
var protectedDirectories = []string{
	".azure-pipelines", ".azuredevops", ".bitbucket", ".buildkite", ".builds", ".circleci", ".drone", ".forgejo",
	".gitea", ".github", ".gitlab", ".harness", ".prow", ".semaphore", ".teamcity", ".tekton", ".woodpecker", ".zuul.d", "zuul.d",
}

// protectedNames are patterns for names of files, in any directory: the path is configurable in many systems.
var protectedNames = []string{
	".appveyor.y*ml", ".build.y*ml", ".cirrus.*", ".drone.*", ".gitlab-ci.y*ml", ".onedev-buildspec.y*ml",
	".readthedocs.y*ml", ".travis.y*ml", ".woodpecker.y*ml", ".zuul.y*ml", "*.jenkinsfile", "amplify.y*ml",
	"appveyor.y*ml", "azure-pipelines*.y*ml", "bitbucket-pipelines.y*ml", "bitrise.y*ml", "buildkite.y*ml",
	"buildspec.y*ml", "cloudbuild.json", "cloudbuild.y*ml", "codemagic.y*ml", "codeowners", "jenkinsfile*",
	"netlify.toml", "now.json", "owners", "owners_aliases", "readthedocs.y*ml", "render.y*ml", "screwdriver.y*ml",
	"vercel.json", "wrangler.json*", "wrangler.toml", "zuul.y*ml",
}

// isProtected reports whether a path is published only if the workspace allows it.
func isProtected(name string) bool {
	name = strings.ToLower(name)
	top, _, _ := strings.Cut(name, "/")
	return slices.Contains(protectedDirectories, top) || slices.ContainsFunc(protectedNames, func(pattern string) bool {
		matches, _ := path.Match(pattern, path.Base(name)) // the patterns are valid
		return matches
	})
}

// Allowed are the protected paths that may be published.
type Allowed []*pathmatch.Glob

func ParseAllowed(globs []string) (Allowed, error) {
	var all Allowed
	for _, text := range globs {
		glob, err := pathmatch.CompileGlob(text)
		if err != nil {
			return nil, fmt.Errorf("the path %q that may be published: %w", text, err)
		}
		all = append(all, glob)
	}
	return all, nil
}

func (a Allowed) Refused(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(name string) bool {
		return !isProtected(name) || slices.ContainsFunc(a, func(g *pathmatch.Glob) bool { return g.Match(name) })
	})
}

// Refusal explains to a model that paths must not be published.
func Refusal(paths []string) string {
	const named = 5
	var list []string
	for _, name := range paths[:min(named, len(paths))] {
		list = append(list, strconv.QuoteToGraphic(name))
	}
	text := strings.Join(list, ", ")
	if more := len(paths) - named; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return "Nothing was published, because the changes include " + text + ": such files decide what CI systems run or who " +
		"reviews changes. Undo these changes and publish the others, or ask a person for a chat or task whose " +
		"workspace.git.push.allowPaths names the paths."
}

// refusedPaths returns the changed paths between two trees that must not be published, including the files that
// protected symbolic links lead to.
func (g repository) refusedPaths(ctx context.Context, allowed Allowed, before, after string) ([]string, error) {
	changed, err := g.changedPaths(ctx, before, after)
	if err != nil {
		return nil, err
	}
	targets, err := g.protectedTargets(ctx, allowed, after)
	if err != nil {
		return nil, err
	}
	refused := allowed.Refused(changed)
	for _, name := range changed {
		leadsTo := func(target string) bool {
			return target == "." || name == target || strings.HasPrefix(name, target+"/")
		}
		if !slices.Contains(refused, name) && slices.ContainsFunc(targets, leadsTo) {
			refused = append(refused, name)
		}
	}
	return refused, nil
}

// changedPaths returns all paths that differ between two trees; a renamed file has two.
func (g repository) changedPaths(ctx context.Context, before, after string) (paths []string, err error) {
	out, err := g.run(ctx, "diff-tree", "-r", "-z", "--raw", "--no-renames", before, after)
	fields := strings.Split(out, "\x00")
	for i := 1; i < len(fields); i += 2 {
		paths = append(paths, fields[i])
	}
	return paths, err
}

// protectedTargets returns the targets of the protected symbolic links of a tree. It follows links to other links.
func (g repository) protectedTargets(ctx context.Context, allowed Allowed, tree string) (targets []string, err error) {
	out, err := g.run(ctx, "ls-tree", "-r", "-z", "--full-tree", tree)
	if err != nil {
		return nil, err
	}
	links, names := map[string]string{}, []string{}
	for entry := range strings.SplitSeq(out, "\x00") {
		const symbolicLink = "120000 blob "
		rest, isLink := strings.CutPrefix(entry, symbolicLink)
		if object, name, ok := strings.Cut(rest, "\t"); ok && isLink {
			links[name] = object
			names = append(names, name)
		}
	}
	queue := allowed.Refused(names)
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		object, isLink := links[name]
		if !isLink {
			continue
		}
		delete(links, name)
		text, err := g.run(ctx, "cat-file", "blob", object)
		if err != nil {
			return nil, err
		}
		target := path.Join(path.Dir(name), text)
		targets = append(targets, target)
		queue = append(queue, target)
	}
	return targets, nil
}
