// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/test/programs"
)

// pod is a workspace as in a pod: the directories survive a restart of the server.
type pod struct {
	t                 *testing.T
	root, base, state string
	address           string
	cmd               *exec.Cmd
}

// clonePod fills a new pod as its init container does.
func clonePod(t *testing.T, upstream string, arguments ...string) *pod {
	t.Helper()
	p := &pod{t: t, root: t.TempDir(), base: filepath.Join(t.TempDir(), "commit"), state: t.TempDir()}
	cmd := command(t, append([]string{"clone", "--root", p.root, "--url", "file://" + upstream, "--ref", "main", "--base-file", p.base}, arguments...)...)
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("clone: %v: %s", err, output)
	}
	return p
}

func (p *pod) serve() {
	p.t.Helper()
	p.cmd = command(p.t, "--root", p.root, "--listen", "127.0.0.1:0", "--state", p.state, "--base-file", p.base, "--await-restore")
	p.cmd.Env = append(p.cmd.Env, tokenVariable+"="+token)
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(p.kill)
	lines := bufio.NewReader(stderr)
	first, err := lines.ReadString('\n')
	if err != nil {
		p.t.Fatalf("server printed %q: %v", first, err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	var said struct{ Address string }
	if err := json.Unmarshal([]byte(first), &said); err != nil {
		p.t.Fatalf("server printed %q: %v", first, err)
	}
	p.address = said.Address
}

func (p *pod) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	_ = p.cmd.Wait()
}

// ask sends a request with the token.
func (p *pod) ask(method, path string, body []byte) (int, []byte) {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), method, "http://"+p.address+path, bytes.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	response, err := (&http.Client{Transport: bearer{}}).Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return response.StatusCode, data
}

// TestChangesSurviveAPod takes the changes of one pod to the next, as the operator does, with crashes of the server and
// a branch that moves on.
func TestChangesSurviveAPod(t *testing.T) {
	programs.Need(t, "git")
	upstream := t.TempDir()
	programs.Script(t, upstream, "git init -q -b main . && echo one > f && echo '*.log' > .gitignore && git add . && git commit -qm one")
	first := clonePod(t, upstream)
	first.serve()
	for _, request := range [][2]string{{"GET", "/changes"}, {"GET", "/changes/archive"}, {"POST", "/"}} {
		if status, _ := first.ask(request[0], request[1], []byte("{}")); status != http.StatusServiceUnavailable {
			t.Errorf("%s before the restoring: %d, want 503", request, status)
		}
	}
	if status, body := first.ask("PUT", "/changes/archive", nil); status != http.StatusNoContent {
		t.Fatalf("restore nothing: %d %s", status, body)
	}
	programs.Script(t, first.root, "echo two >> f && mkdir d && echo new > d/g && echo x > debug.log && git add f && git commit -qm own")
	status, archive := first.ask("GET", "/changes/archive", nil)
	if status != http.StatusOK || !bytes.Contains(archive, []byte("+two")) {
		t.Fatalf("archive: %d %s", status, archive)
	}
	first.kill()

	base := programs.Script(t, upstream, "git rev-parse HEAD")
	programs.Script(t, upstream, "echo zero > f && git commit -qam moved")
	next := clonePod(t, upstream, "--commit", base)
	next.serve()
	if status, body := next.ask("PUT", "/changes/archive", archive); status != http.StatusNoContent {
		t.Fatalf("restore: %d %s", status, body)
	}
	if got := programs.Script(t, next.root, "cat f d/g && git rev-parse HEAD"); got != "one\ntwo\nnew\n"+base {
		t.Errorf("restored: %q", got)
	}
	if status, again := next.ask("GET", "/changes/archive", nil); status != http.StatusOK || !bytes.Equal(again, archive) {
		t.Errorf("the archive of the restored files: %d\n%s\nwant\n%s", status, again, archive)
	}
	// The server crashes; the files stay, and a repeated request does not change them.
	programs.Script(t, next.root, "echo three >> f")
	next.kill()
	next.serve()
	if status, _ := next.ask("PUT", "/changes/archive", archive); status != http.StatusNoContent {
		t.Errorf("a repeated restore: %d", status)
	}
	if got := programs.Script(t, next.root, "cat f"); got != "one\ntwo\nthree" {
		t.Errorf("after a repeated restore: %q", got)
	}
	// A patch that does not fit is refused, and the pod serves nothing.
	other := clonePod(t, upstream)
	other.serve()
	if status, body := other.ask("PUT", "/changes/archive", archive); status != http.StatusUnprocessableEntity || !bytes.Contains(body, []byte("restore the changes")) {
		t.Errorf("a patch of another commit: %d %s", status, body)
	}
	if status, _ := other.ask("GET", "/changes", nil); status != http.StatusServiceUnavailable {
		t.Errorf("after a refused restore: %d, want 503", status)
	}
	// A commit that no longer exists is named.
	cmd := command(t, "clone", "--root", t.TempDir(), "--url", "file://"+upstream, "--ref", "main", "--commit", strings.Repeat("ab", 20))
	if output, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(output), "is no longer in the repository") {
		t.Errorf("a missing commit: %v: %s", err, output)
	}
}
