// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gitpush_test

import (
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/tool/workspace/gitpush"
	"github.com/nestor-dev/nestor/test/programs"
)

func TestProtectedPaths(t *testing.T) {
	for path, protected := range map[string]bool{
		".github/workflows/ci.yml": true, ".GitHub/Workflows/ci.yml": true, ".github": true, ".gitlab-ci.yml": true, ".GitLab-CI.yaml": true,
		"sub/.gitlab-ci.yml": true, ".circleci/config.yml": true, "Jenkinsfile": true, "deploy/Jenkinsfile.release": true, "release.jenkinsfile": true,
		"azure-pipelines.yml": true, ".azure-pipelines/x.yml": true, ".woodpecker.yaml": true, ".woodpecker/x.yml": true, ".drone.yml": true,
		".buildkite/pipeline.yml": true, ".travis.yml": true, "bitbucket-pipelines.yml": true, ".gitea/workflows/x.yml": true,
		".forgejo/workflows/x.yml": true, "CODEOWNERS": true, "docs/CODEOWNERS": true, ".gitlab/CODEOWNERS": true, "codeowners": true, "OWNERS": true,
		".tekton/push.yaml": true, ".gitlab/agents/a/config.yaml": true,
		"netlify.toml": true, "site/netlify.toml": true, "vercel.json": true, "amplify.yml": true, "render.yaml": true,
		"wrangler.toml": true, "wrangler.jsonc": true, ".readthedocs.yaml": true,

		"f": false, "docs/ci.md": false, "vendor/x/.github/workflows/ci.yml": false, "github/x.yml": false, ".githubx/x": false,
		".gitignore": false, "my-jenkinsfile": false, "codeowners.md": false, "pipelines.yml": false,
	} {
		if got := len(gitpush.Allowed{}.Refused([]string{path})) > 0; got != protected {
			t.Errorf("%s: protected %t, want %t", path, got, protected)
		}
	}
}

func TestAllowedPaths(t *testing.T) {
	allowed, err := gitpush.ParseAllowed([]string{".github/workflows/docs-*.yml", ".woodpecker/**", "CODEOWNERS"})
	if err != nil {
		t.Fatal(err)
	}
	got := allowed.Refused([]string{
		".github/workflows/docs-site.yml", ".github/workflows/docs-x/a.yml", ".GITHUB/workflows/docs-site.yml",
		".github/dependabot.yml", ".woodpecker/a/b.yml", "docs/CODEOWNERS", "f",
	})
	want := ".github/workflows/docs-x/a.yml .GITHUB/workflows/docs-site.yml .github/dependabot.yml"
	if strings.Join(got, " ") != want {
		t.Errorf("refused %q", got)
	}
	if _, err := gitpush.ParseAllowed([]string{strings.Repeat("{a,b}", 20)}); err == nil {
		t.Error("an expensive glob is accepted")
	}
}

func TestProtectedChangesAreNotPushed(t *testing.T) {
	u := newUpstream(t)
	before := programs.Script(t, u.dir, "git for-each-ref")
	for name, commands := range map[string]string{
		"added":            "mkdir -p .github/workflows && echo x > .github/workflows/x.yml",
		"another case":     "mkdir .GitHub && echo x > .GitHub/x.yml",
		"renamed":          "git mv f Jenkinsfile",
		"a symbolic link":  "mkdir ci && echo x > ci/x.yml && ln -s ci .github",
		"a linked file":    "echo x > build.groovy && ln -s build.groovy Jenkinsfile",
		"an unusual name":  `mkdir '.github' && echo x > "$(printf '.github/a\nb')"`,
		"among many":       "for i in 1 2 3 4 5 6 7 8 9; do echo x > $i; done && mkdir docs && echo '* @me' > docs/CODEOWNERS",
		"only permissions": "echo x > .travis.yml && chmod +x .travis.yml",
	} {
		t.Run(name, func(t *testing.T) {
			p := u.publisher()
			request := u.request("c-"+strings.ReplaceAll(name, " ", "-"), "m", commands)
			result := publish(t, p, request)
			if result.Commit != "" || !strings.Contains(result.Refused, "workspace.git.push.allowPaths") {
				t.Errorf("%+v", result)
			}
			if after := programs.Script(t, u.dir, "git for-each-ref"); after != before {
				t.Errorf("refs are now %s", after)
			}
		})
	}
}

func TestProtectedLinkFilesAreNotPushed(t *testing.T) {
	u := newUpstream(t)
	u.commitToMain("mkdir ci && echo x > ci/build && ln -s ci/build steps && ln -s steps Jenkinsfile")
	result := publish(t, u.publisher(), u.request("c1", "m", "echo y > ci/build"))
	if result.Commit != "" || !strings.Contains(result.Refused, `"ci/build"`) {
		t.Errorf("%+v", result)
	}
	if result := publish(t, u.publisher(), u.request("c2", "m", "echo y > ci/other")); result.Commit == "" {
		t.Errorf("%+v", result)
	}
}

func TestDeletedProtectedFilesAreNotPushed(t *testing.T) {
	u := newUpstream(t)
	u.commitToMain("echo '* @team' > CODEOWNERS")
	if result := publish(t, u.publisher(), u.request("c1", "m", "git rm -q CODEOWNERS")); !strings.Contains(result.Refused, `"CODEOWNERS"`) {
		t.Errorf("%+v", result)
	}
	if result := publish(t, u.publisher(), u.request("c2", "m", "git mv CODEOWNERS owners.txt")); !strings.Contains(result.Refused, `"CODEOWNERS"`) {
		t.Errorf("%+v", result)
	}
}

func TestAllowedChangesArePushed(t *testing.T) {
	u := newUpstream(t)
	p := u.publisher()
	var err error
	if p.Allowed, err = gitpush.ParseAllowed([]string{".github/workflows/*.yml"}); err != nil {
		t.Fatal(err)
	}
	result := publish(t, p, u.request("c1", "m", "mkdir -p .github/workflows && echo x > .github/workflows/x.yml"))
	if result.Commit == "" {
		t.Fatalf("%+v", result)
	}
	if got := programs.Script(t, u.dir, "git show "+branch+":.github/workflows/x.yml"); got != "x" {
		t.Errorf("got %q", got)
	}
}

// commitToMain commits the result of commands to the branch that is cloned.
func (u *upstream) commitToMain(commands string) {
	u.t.Helper()
	dir := u.t.TempDir()
	programs.Script(u.t, dir, "git clone -q "+u.dir+" c && cd c && "+commands+" && git add -A && git commit -qm more && git push -q origin HEAD:main")
	u.base = programs.Script(u.t, u.dir, "git rev-parse main")
}
