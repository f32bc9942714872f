// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gitclone_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/tool/workspace/gitclone"
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

func git(t *testing.T, dir string, arguments ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", arguments...)
	cmd.Dir = dir
	cmd.Env = programs.GitEnviron()
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v: %s", arguments, err, output)
	}
	return strings.TrimSpace(string(output))
}

// upstream creates a repository with the default branch trunk, a branch topic/a and a tag v1.
func upstream(t *testing.T) (dir string) {
	t.Helper()
	programs.Need(t, "git")
	dir = t.TempDir()
	git(t, dir, "init", "--quiet", "--initial-branch=trunk")
	for _, step := range []struct{ content, then string }{{"first", "tag v1"}, {"second", "branch topic/a"}, {"third", ""}} {
		if err := os.WriteFile(filepath.Join(dir, "f.txt"), []byte(step.content), 0o644); err != nil {
			t.Fatal(err)
		}
		git(t, dir, "add", ".")
		git(t, dir, "commit", "--quiet", "-m", step.content)
		if step.then != "" {
			git(t, dir, strings.Fields(step.then)...)
		}
	}
	return dir
}

func source(t *testing.T, url, ref string) gitclone.Source {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return gitclone.Source{Dir: t.TempDir(), URL: url, Ref: ref, Program: program}
}

func clone(t *testing.T, s gitclone.Source) {
	t.Helper()
	if err := gitclone.Clone(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "f.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestClonesBranchTagAndCommit(t *testing.T) {
	dir := upstream(t)
	commit := git(t, dir, "rev-parse", "v1")
	for ref, want := range map[string][2]string{"": {"third", "trunk"}, "trunk": {"third", "trunk"}, "topic/a": {"second", "topic/a"}, "v1": {"first", "HEAD"}, commit: {"first", "HEAD"}} {
		t.Run(ref, func(t *testing.T) {
			s := source(t, "file://"+dir, ref)
			clone(t, s)
			if got := [2]string{content(t, s.Dir), git(t, s.Dir, "rev-parse", "--abbrev-ref", "HEAD")}; got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// TestCloneIntoForeignDirectory clones as a pod does: the directory of a volume belongs to root, and git runs as
// another user.
func TestCloneIntoForeignDirectory(t *testing.T) {
	dir := upstream(t)
	handler, err := gitserver.Handler(t.Context(), filepath.Dir(dir), "robot", "hunter2")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	program, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	// Git has this variable for its own tests of the same check.
	wrapper := "#!/bin/sh\nGIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec " + program + " \"$@\"\n"
	bin := t.TempDir()
	writeFile(t, filepath.Join(bin, "git"), wrapper)
	s := source(t, server.URL+"/"+filepath.Base(dir)+"/.git", "")
	s.Credentials = t.TempDir()
	for name, content := range map[string]string{"username": "robot", "password": "hunter2"} {
		writeFile(t, filepath.Join(s.Credentials, name), content)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	clone(t, s)
	if got := content(t, s.Dir); got != "third" {
		t.Errorf("the file has %q", got)
	}
}

func TestDepthCutsHistory(t *testing.T) {
	s := source(t, "file://"+upstream(t), "trunk")
	s.Depth = 1
	clone(t, s)
	if n := git(t, s.Dir, "rev-list", "--count", "HEAD"); n != "1" {
		t.Errorf("%s commits", n)
	}
}

func TestSecondCloneKeepsWork(t *testing.T) {
	s := source(t, "file://"+upstream(t), "trunk")
	clone(t, s)
	writeFile(t, filepath.Join(s.Dir, "f.txt"), "work")
	clone(t, s)
	if got := content(t, s.Dir); got != "work" {
		t.Errorf("the work became %q", got)
	}
}

func TestInterruptedCloneIsCompleted(t *testing.T) {
	dir := upstream(t)
	s := source(t, "file://"+dir+"-missing", "trunk")
	if err := gitclone.Clone(t.Context(), s); err == nil {
		t.Fatal("no error")
	}
	s.URL = "file://" + dir
	clone(t, s)
	if got := content(t, s.Dir); got != "third" {
		t.Errorf("got %q", got)
	}
}

// TestCredentialsStayInFiles uses a real git server that requires a password.
func TestCredentialsStayInFiles(t *testing.T) {
	handler, path := backend(t, upstream(t))
	url := serve(t, withPassword(handler)) + path

	s := source(t, url, "trunk")
	if err := gitclone.Clone(t.Context(), s); err == nil {
		t.Fatal("cloned without credentials")
	}
	s.Credentials = t.TempDir()
	for name, value := range map[string]string{"username": "robot\n", "password": "wrong-" + password} {
		writeFile(t, filepath.Join(s.Credentials, name), value)
	}
	err := gitclone.Clone(t.Context(), s)
	if err == nil || strings.Contains(err.Error(), password) {
		t.Fatalf("with a wrong password: %v", err)
	}
	writeFile(t, filepath.Join(s.Credentials, "password"), password+"\n")
	clone(t, s)
	if got := content(t, s.Dir); got != "third" {
		t.Errorf("got %q", got)
	}
	config, err := os.ReadFile(filepath.Join(s.Dir, ".git/config"))
	if err != nil || strings.Contains(string(config), password) || strings.Contains(string(config), "robot") {
		t.Errorf("the credentials are in the configuration: %s, %v", config, err)
	}
}

func TestInvalidSourcesAreRejected(t *testing.T) {
	for name, s := range map[string]gitclone.Source{
		"no url":                {},
		"option as url":         {URL: "--upload-pack=touch pwned"},
		"option as ref":         {URL: "https://example.com/x", Ref: "--upload-pack=id"},
		"password":              {URL: "https://me:hunter2@example.com/x"},
		"token as user":         {URL: "https://hunter2@example.com/x"},
		"broken url":            {URL: "https://me:hunter2@exam ple.com/%zz"},
		"refspec":               {URL: "https://example.com/x", Ref: "a:b"},
		"external command":      {URL: "ext::sh -c touch% pwned", Ref: "a"},
		"short form":            {URL: "git@example.com:x", Ref: "a"},
		"two hosts":             {URL: "https://example.com?@evil.example/x"},
		"ssh option":            {URL: "ssh://-oProxyCommand=touch%20pwned/x"},
		"file with credentials": {URL: "file:///etc", Credentials: "/nowhere"},
		"forced refspec":        {URL: "https://example.com/x", Ref: "+main"},
	} {
		t.Run(name, func(t *testing.T) {
			s.Dir = t.TempDir()
			err := gitclone.Clone(t.Context(), s)
			if err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error is %v", err)
			}
			if _, err := os.Stat(filepath.Join(s.Dir, "pwned")); err == nil {
				t.Error("a command ran")
			}
		})
	}
}
