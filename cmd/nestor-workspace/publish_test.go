// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/tool/workspace/gitpush"
	"github.com/nestor-dev/nestor/test/programs"
)

func TestPublishesAPatch(t *testing.T) {
	programs.Need(t, "git")
	dir := t.TempDir()
	programs.Script(t, dir, "git init -q -b main w && cd w && echo one > f && git add . && git commit -qm one && cd .. && git clone -q --bare w app.git")
	upstream := filepath.Join(dir, "app.git")
	for _, branch := range []string{"main", "", "--mirror", "nestor/../main"} {
		cmd := command(t, "publish", "--root", t.TempDir(), "--url", "file://"+upstream, "--owner", "o", "--branch", branch)
		cmd.Env = append(cmd.Env, tokenVariable+"="+token)
		if output, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(output), "it must begin with nestor/") {
			t.Errorf("branch %q: %v: %s", branch, err, output)
		}
	}
	cmd := command(t, "publish", "--root", t.TempDir(), "--listen", "127.0.0.1:0", "--url", "file://"+upstream, "--ref", "main", "--owner", "the-owner", "--branch", "nestor/x")
	cmd.Env = append(cmd.Env, tokenVariable+"="+token)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &pod{t: t, cmd: cmd}
	t.Cleanup(p.kill)
	lines := bufio.NewReader(stderr)
	first, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("publisher printed %q: %v", first, err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	var said struct{ Address string }
	if err := json.Unmarshal([]byte(first), &said); err != nil {
		t.Fatalf("publisher printed %q: %v", first, err)
	}
	p.address = said.Address
	body, err := json.Marshal(gitpush.Request{Call: "c1", Base: programs.Script(t, upstream, "git rev-parse main"), Message: "Two", Time: time.Unix(1, 0),
		Patch: []byte("diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n one\n+two\n")})
	if err != nil {
		t.Fatal(err)
	}
	var commits []string
	for range 2 {
		status, answer := p.ask(http.MethodPost, "/publish", body)
		var result gitpush.Result
		if err := json.Unmarshal(answer, &result); err != nil || status != http.StatusOK {
			t.Fatalf("%d %s", status, answer)
		}
		commits = append(commits, result.Commit)
	}
	tip := programs.Script(t, upstream, "git rev-parse nestor/x")
	if commits[0] != tip || commits[1] != tip {
		t.Errorf("answers %v, and the branch has %s", commits, tip)
	}
	if got := programs.Script(t, upstream, "git show nestor/x:f"); got != "one\ntwo" {
		t.Errorf("got %q", got)
	}
	if status, _ := p.ask(http.MethodPost, "/", []byte("{}")); status != http.StatusNotFound {
		t.Errorf("a publisher serves tools: %d", status)
	}
}
