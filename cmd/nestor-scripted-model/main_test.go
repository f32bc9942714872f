// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const request = `{"model":"scripted","messages":[{"role":"user","content":"hi"}]}`

// start runs the command until the test ends and returns its first line of output, and a function that stops it.
func start(t *testing.T, args ...string) (string, func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	finished := make(chan error, 1)
	go func() {
		err := run(ctx, args, write, io.Discard)
		finished <- errors.Join(err, write.Close())
	}()
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		cancel()
		t.Fatalf("the command printed nothing: %v, %v", err, <-finished)
	}
	return strings.TrimSpace(line), func() error {
		cancel()
		return <-finished
	}
}

func scriptFile(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "script.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestCommandServesAndStops(t *testing.T) {
	url, stop := start(t, "--listen", "127.0.0.1:0", "--print-url", "--script", scriptFile(t, "rules: [{match: {lastMessage: hi}, reply: {text: Hello from the file., latency: 1h}}]"), "--script", "builtin:demo", "--no-delay")
	response, err := http.Post(url+"/chat/completions", "application/json", strings.NewReader(request))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || !bytes.Contains(body, []byte("Hello from the file.")) {
		t.Errorf("got %s, %v", body, err)
	}
	if err := stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
}

func TestCommandStopsWhileReplyHangs(t *testing.T) {
	url, stop := start(t, "--listen", "127.0.0.1:0", "--print-url", "--script", scriptFile(t, "fallback: {text: Hello., chunkSize: 1, fault: {kind: hang, after: 2}}"))
	response, err := http.Post(url+"/chat/completions", "application/json", strings.NewReader(strings.Replace(request, "{", `{"stream":true,`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	if _, err := io.ReadAll(response.Body); err == nil {
		t.Error("the reply ended as if it were complete")
	}
}

func TestCommandExplainsErrors(t *testing.T) {
	bad := scriptFile(t, "rules:\n- match: {rol: x}\n  reply: {}")
	for _, tc := range []struct {
		args        []string
		wantMessage string
	}{
		{[]string{"--script", bad}, bad + ":2: field rol not found"},
		{[]string{"--script", bad + "x"}, "no such file"},
		{[]string{"--script", "builtin:none"}, `there is no built-in script "none"; there are `},
		{[]string{"--listen", "127.0.0.1:99999"}, "listen: "},
		{[]string{"demo.yaml"}, `unexpected argument "demo.yaml"; give scripts with --script`},
		{[]string{"--nope"}, "flag provided but not defined"},
	} {
		err := run(t.Context(), tc.args, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), tc.wantMessage) {
			t.Errorf("%v: got %v, want %q", tc.args, err, tc.wantMessage)
		}
	}
}

func TestCommandListsItsScripts(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"--list"}, &out, io.Discard); err != nil || !strings.Contains(out.String(), "demo\n") {
		t.Errorf("got %q, %v", out.String(), err)
	}
}
