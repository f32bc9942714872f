// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gitpush_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/tool/workspace/gitclone"
	"github.com/nestor-dev/nestor/internal/tool/workspace/gitpush"
	"github.com/nestor-dev/nestor/test/gitserver"
	"github.com/nestor-dev/nestor/test/programs"
)

// TestMain lets the test binary act as git's credential helper.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == gitclone.HelperArgument {
		if err := gitclone.AnswerGit(os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const (
	password = "hunter2"
	branch   = "nestor/review"
	owner    = "0b6a7c2e-8d57-4f7e-9d0e-000000000001"
)

// upstream is a git server that requires a password.
type upstream struct {
	t    *testing.T
	dir  string // a bare repository
	url  string
	base string
	// after, if set, runs after the server has handled a push.
	mu    sync.Mutex
	after func(http.ResponseWriter)
}

func newUpstream(t *testing.T) *upstream {
	t.Helper()
	programs.Need(t, "git")
	root := t.TempDir()
	u := &upstream{t: t, dir: filepath.Join(root, "app.git")}
	programs.Script(t, root, `git init -q -b main w && cd w && printf 'one\ntwo\n' > f && echo '*.txt filter=evil eol=crlf' > .gitattributes && git add . && git commit -qm first &&
		cd .. && git clone -q --bare w app.git`)
	u.base = programs.Script(t, u.dir, "git rev-parse main")
	backend, err := gitserver.Backend(t.Context(), root, "robot")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gitserver.WithPassword("robot", password, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u.mu.Lock()
		after := u.after
		u.mu.Unlock()
		if after != nil && strings.HasSuffix(r.URL.Path, "/git-receive-pack") && r.Method == http.MethodPost {
			backend.ServeHTTP(httptest.NewRecorder(), r)
			after(w)
			return
		}
		backend.ServeHTTP(w, r)
	})))
	t.Cleanup(server.Close)
	u.url = server.URL + "/app.git"
	return u
}

func (u *upstream) publisher() *gitpush.Publisher {
	u.t.Helper()
	program, err := os.Executable()
	if err != nil {
		u.t.Fatal(err)
	}
	credentials := u.t.TempDir()
	for name, content := range map[string]string{"username": "robot", "password": password} {
		if err := os.WriteFile(filepath.Join(credentials, name), []byte(content), 0o600); err != nil {
			u.t.Fatal(err)
		}
	}
	return &gitpush.Publisher{Branch: branch, Owner: owner,
		Source: gitclone.Source{Dir: u.t.TempDir(), URL: u.url, Ref: "main", Credentials: credentials, Program: program}}
}

func (u *upstream) patch(commands string) []byte {
	u.t.Helper()
	dir := u.t.TempDir()
	programs.Script(u.t, dir, "git clone -q "+u.dir+" c")
	out := programs.Script(u.t, filepath.Join(dir, "c"), "{ git checkout -q "+u.base+" && "+commands+" && git add -A -f; } >/dev/null && git diff --cached --binary --full-index "+u.base)
	return []byte(out + "\n")
}

func (u *upstream) request(call, message, commands string) gitpush.Request {
	u.t.Helper()
	return gitpush.Request{Call: call, Base: u.base, Message: message, Time: time.Unix(1_700_000_000, 0), Patch: u.patch(commands)}
}

func (u *upstream) refs() string {
	return programs.Script(u.t, u.dir, "git for-each-ref --format='%(refname) %(objectname)'")
}

func publish(t *testing.T, p *gitpush.Publisher, r gitpush.Request) gitpush.Result {
	t.Helper()
	result, err := p.Publish(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestChangesBecomeOneCommit(t *testing.T) {
	u := newUpstream(t)
	p := u.publisher()
	first := publish(t, p, u.request("a1", "Fix f\n\nNestor-Owner: someone-else\nNestor-Call: a1\nNestor-Tree: abc", "echo three >> f && echo new > g.txt && chmod +x g.txt && ln -s f l && head -c 300 /dev/urandom > b"))
	if first.Commit == "" || first.Already || first.Refused != "" {
		t.Fatalf("%+v", first)
	}
	got := programs.Script(t, u.dir, "git log -1 --format='%P %an <%ae> %cn %at' "+branch)
	if want := u.base + " Nestor <nestor@nestor.invalid> Nestor 1700000000"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := programs.Script(t, u.dir, "git show "+branch+":f && git ls-tree "+branch+" g.txt l | cut -c1-6"); got != "one\ntwo\nthree\n100755\n120000" {
		t.Errorf("files: %q", got)
	}
	if got := programs.Script(t, u.dir, "git show "+branch+":g.txt | od -c | head -1"); !strings.Contains(got, `n   e   w  \n`) {
		t.Errorf("an attribute of the repository was used: %s", got)
	}
	if got := programs.Script(t, u.dir, "git rev-parse main"); got != u.base {
		t.Errorf("main moved to %s", got)
	}

	// A later call follows the first one, and the same changes again do not make a commit.
	second := publish(t, p, u.request("a2", "More", "echo four >> f"))
	if got := programs.Script(t, u.dir, "git log -1 --format='%H %P' "+branch); got != second.Commit+" "+first.Commit {
		t.Errorf("got %s, want %s after %s", got, second.Commit, first.Commit)
	}
	if got := programs.Script(t, u.dir, "git show "+branch+":f && git ls-tree --name-only "+branch); got != "one\ntwo\nfour\n.gitattributes\nf" {
		t.Errorf("the branch does not have the files of the workspace: %q", got)
	}
	if again := publish(t, p, u.request("a3", "The same", "echo four >> f")); again != (gitpush.Result{Commit: second.Commit, Already: true}) {
		t.Errorf("the same changes: %+v", again)
	}
	// The repetition of the first call finds its commit below the tip, even if the workspace has other changes by now.
	if again := publish(t, p, u.request("a1", "Fix f", "echo five >> f")); again != (gitpush.Result{Commit: first.Commit, Already: true}) {
		t.Errorf("a repeated call: %+v", again)
	}
	if check := publish(t, p, gitpush.Request{Call: "a2", OnlyCheck: true}); check != (gitpush.Result{Commit: second.Commit, Already: true}) {
		t.Errorf("a check: %+v", check)
	}
	if check := publish(t, p, gitpush.Request{Call: "a9", OnlyCheck: true}); check != (gitpush.Result{}) {
		t.Errorf("a check of a call that was not published: %+v", check)
	}
}

func TestReclonedWorkspaceIsMerged(t *testing.T) {
	u := newUpstream(t)
	first := publish(t, u.publisher(), u.request("a1", "one", "echo three >> f"))
	work := t.TempDir()
	programs.Script(t, work, "git clone -q "+u.dir+" c && cd c && echo m > m && git add m && git commit -qm moved && git push -q origin main")
	u.base = programs.Script(t, u.dir, "git rev-parse main")
	publish(t, u.publisher(), u.request("a2", "two", "echo four >> f"))
	if got := programs.Script(t, u.dir, "git log -1 --format=%P "+branch); got != first.Commit+" "+u.base {
		t.Errorf("parents %s, want %s %s", got, first.Commit, u.base)
	}
	if got := programs.Script(t, u.dir, "git ls-tree --name-only "+branch); got != ".gitattributes\nf\nm" {
		t.Errorf("files: %q", got)
	}
}

func TestCommitsOfOthersAreLeftAlone(t *testing.T) {
	foreign := "cd c && git checkout -q " + branch + " && "
	for name, commands := range map[string]string{
		"a commit on top":               foreign + "echo x > x && git add x && git commit -qm 'Review' && git push -q origin " + branch,
		"an amended commit":             foreign + "echo x > x && git add x && git commit -q --amend --no-edit && git push -qf origin " + branch,
		"an unrelated branch":           "cd c && git checkout -q --orphan o && git commit -qm other && git push -qf origin o:" + branch,
		"a commit of another chat":      foreign + "git commit -q --amend -m \"$(git log -1 --format=%B | sed 's/Owner: 0b/Owner: ff/')\" && git push -qf origin " + branch,
		"a mark that is not at the end": foreign + "git commit -q --allow-empty -m \"$(git log -1 --format=%B)\n\nSigned-off-by: a\" && git push -qf origin " + branch,
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t)
			publish(t, u.publisher(), u.request("a1", "one", "echo three >> f"))
			programs.Script(t, t.TempDir(), "git clone -q "+u.dir+" c && "+commands)
			before := u.refs()
			result := publish(t, u.publisher(), u.request("a2", "two", "echo four >> f"))
			if result.Commit != "" || !strings.Contains(result.Refused, "commits that were not published from this workspace") {
				t.Errorf("%+v", result)
			}
			if after := u.refs(); after != before {
				t.Errorf("the server's refs changed from\n%s\nto\n%s", before, after)
			}
		})
	}
}

func TestBranchBehindClonedCommit(t *testing.T) {
	u := newUpstream(t)
	old := u.base
	programs.Script(t, t.TempDir(), "git clone -q "+u.dir+" c && cd c && git push -q origin main:refs/heads/"+branch+" && echo m > m && git add m && git commit -qm moved && git push -q origin main")
	u.base = programs.Script(t, u.dir, "git rev-parse main")
	publish(t, u.publisher(), u.request("a1", "one", "echo three >> f"))
	if got := programs.Script(t, u.dir, "git log --format=%H "+branch+"~2"); got != old {
		t.Errorf("the branch does not follow its old commit: %s", got)
	}
}

func TestNothingIsPushed(t *testing.T) {
	u := newUpstream(t)
	before := u.refs()
	if result := publish(t, u.publisher(), gitpush.Request{Call: "a1", Base: u.base, Message: "m"}); !strings.Contains(result.Refused, "nothing to publish") {
		t.Errorf("no changes: %+v", result)
	}
	for name, patch := range map[string]string{
		"that does not fit": "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-zero\n+one\n",
		"of the repository": "diff --git a/.git/config b/.git/config\nnew file mode 100644\n--- /dev/null\n+++ b/.git/config\n@@ -0,0 +1 @@\n+x\n",
		"outside of it":     "diff --git a/../x b/../x\nnew file mode 100644\n--- /dev/null\n+++ b/../x\n@@ -0,0 +1 @@\n+x\n",
		"that is none":      "hello\n",
		"of another's .git": "diff --git a/git~1/hooks/x b/git~1/hooks/x\nnew file mode 100755\n--- /dev/null\n+++ b/git~1/hooks/x\n@@ -0,0 +1 @@\n+x\n",
	} {
		result, err := u.publisher().Publish(t.Context(), gitpush.Request{Call: "a1", Base: u.base, Message: "m", Patch: []byte(patch)})
		if err == nil && (result.Commit != "" || result.Refused == "") {
			t.Errorf("a patch %s: %+v", name, result)
		}
	}
	for _, name := range []string{"", "main", "refs/heads/nestor/x", "nestor", "nestor/", "nestor/../main", "nestor/a..b", "nestor/-x", "nestor/.x", "nestor/x.lock", "nestor/x.lock/y", "nestor/x.", "nestor//x",
		"nestor/x:refs/heads/main", "+nestor/x", "--mirror", "nestor/x y", "nestor/x\nmain", "nestor/@{u}", "nestor/x*", "NESTOR/x", "nestor/x\x00"} {
		p := u.publisher()
		p.Branch = name
		if result, err := p.Publish(t.Context(), u.request("a1", "m", "echo x > x")); err == nil {
			t.Errorf("branch %q: %+v", name, result)
		}
	}
	for name, change := range map[string]func(*gitpush.Request){
		"message":   func(r *gitpush.Request) { r.Message = " \n" },
		"long":      func(r *gitpush.Request) { r.Message = strings.Repeat("x", gitpush.MaxMessage+1) },
		"NUL":       func(r *gitpush.Request) { r.Message = "a\x00b" },
		"call":      func(r *gitpush.Request) { r.Call = "a\nNestor-Owner: x" },
		"base":      func(r *gitpush.Request) { r.Base = "--all" },
		"base gone": func(r *gitpush.Request) { r.Base = strings.Repeat("ab", 20) },
	} {
		r := u.request("a1", "m", "echo x > x")
		change(&r)
		if result, err := u.publisher().Publish(t.Context(), r); err == nil {
			t.Errorf("%s: %+v", name, result)
		}
	}
	wrong := u.publisher()
	if err := os.WriteFile(filepath.Join(wrong.Source.Credentials, "password"), []byte("wrong"), 0o600); err != nil {
		t.Fatal(err)
	}
	if result, err := wrong.Publish(t.Context(), u.request("a1", "m", "echo x > x")); err == nil {
		t.Errorf("wrong password: %+v", result)
	}
	if after := u.refs(); after != before {
		t.Errorf("the server's refs changed from\n%s\nto\n%s", before, after)
	}
}

func TestServerRefusalHidesItsText(t *testing.T) {
	u := newUpstream(t)
	programs.Script(t, u.dir, "printf '#!/bin/sh\\necho the password is "+password+" >&2\\nexit 1\\n' > hooks/pre-receive && chmod +x hooks/pre-receive")
	before := u.refs()
	result := publish(t, u.publisher(), u.request("a1", "m", "echo x > x"))
	if !strings.Contains(result.Refused, "does not accept the push to nestor/review (pre-receive hook declined)") || strings.Contains(result.Refused, password) {
		t.Errorf("%+v", result)
	}
	if after := u.refs(); after != before {
		t.Errorf("the server's refs changed: %s", after)
	}
}

// A push whose answer is lost is found on the branch: the attempt that follows, in this call or in a later one, makes
// no second commit.
func TestLostPushAnswerIsNotRepeated(t *testing.T) {
	u := newUpstream(t)
	u.after = func(w http.ResponseWriter) { http.Error(w, "gone", http.StatusBadGateway) }
	first := publish(t, u.publisher(), u.request("a1", "one", "echo three >> f"))
	if !first.Already || first.Commit != programs.Script(t, u.dir, "git rev-parse "+branch) {
		t.Errorf("%+v", first)
	}
	ctx, cancel := context.WithCancel(t.Context())
	u.after = func(http.ResponseWriter) { cancel() }
	if result, err := u.publisher().Publish(ctx, u.request("a2", "two", "echo four >> f")); err == nil {
		t.Fatalf("a call that was cancelled after its push: %+v", result)
	}
	u.after = nil
	tip := programs.Script(t, u.dir, "git rev-parse "+branch)
	if again := publish(t, u.publisher(), u.request("a2", "two", "echo four >> f")); again != (gitpush.Result{Commit: tip, Already: true}) {
		t.Errorf("the repeated call: %+v, want %s", again, tip)
	}
	if n := programs.Script(t, u.dir, "git rev-list --count main.."+branch); n != "2" {
		t.Errorf("%s commits", n)
	}
}

// Two attempts of one call at the same time, as after a crash of the operator, make one commit.
func TestConcurrentAttemptsMakeOneCommit(t *testing.T) {
	u := newUpstream(t)
	request := u.request("a1", "one", "echo three >> f")
	publishers := []*gitpush.Publisher{u.publisher(), u.publisher(), u.publisher()}
	results := make([]gitpush.Result, len(publishers))
	failures := make([]error, len(publishers))
	var all sync.WaitGroup
	for i, p := range publishers {
		all.Go(func() {
			r := request
			r.Time = r.Time.Add(time.Duration(i) * time.Second)
			results[i], failures[i] = p.Publish(t.Context(), r)
		})
	}
	all.Wait()
	tip := programs.Script(t, u.dir, "git rev-parse "+branch)
	for i, result := range results {
		if failures[i] != nil || result.Commit != tip {
			t.Errorf("attempt %d: %+v, %v; the branch has %s", i, result, failures[i], tip)
		}
	}
	if n := programs.Script(t, u.dir, "git rev-list --count main.."+branch); n != "1" {
		t.Errorf("%s commits", n)
	}
}
