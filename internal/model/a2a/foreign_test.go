// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/test/patience"
)

// The agent on the A2A SDK for JavaScript, which make a2a-sdk installs, and the file that makes it end with the test.
const (
	jsAgent = "../../../hack/a2a-sdk/agent.mjs"
	preload = "../../../hack/mcp-servers/loopback.cjs"
)

// jsServer is a running agent on the A2A SDK for JavaScript.
type jsServer struct {
	url string

	mu    sync.Mutex
	lines []string
}

// said returns the lines of the agent that begin with a text.
func (s *jsServer) said(prefix string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []string
	for _, line := range s.lines {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			found = append(found, rest)
		}
	}
	return found
}

// awaitSaid returns the lines of the agent that begin with a text when there are as many. The agent may print one after it has answered.
func (s *jsServer) awaitSaid(t *testing.T, prefix string, count int) []string {
	t.Helper()
	if !patience.Until(func() bool { return len(s.said(prefix)) >= count }) {
		t.Fatalf("the agent printed %q, want %d lines with %q", s.said(prefix), count, prefix)
	}
	return s.said(prefix)
}

// startJS starts the agent. If the SDK is missing, it skips the test, or fails it in CI.
func startJS(t *testing.T, arguments ...string) *jsServer {
	t.Helper()
	node, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(filepath.Join(filepath.Dir(jsAgent), "node_modules", "@a2a-js", "sdk"))
	}
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatalf("the A2A SDK is needed in CI: install node and run make a2a-sdk: %v", err)
	}
	if err != nil {
		t.Skipf("the A2A SDK is missing: install node and run make a2a-sdk: %v", err)
	}
	loopback, err := filepath.Abs(preload)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), node, append([]string{"--require", loopback, jsAgent}, arguments...)...)
	// The server exits when this pipe is closed, even if the test is killed.
	if _, err := command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stderr, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill() // it may have ended with the test's context
		_ = command.Wait()
	})
	server := &jsServer{}
	address := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if url, ok := strings.CutPrefix(lines.Text(), "loopback: "); ok {
				address <- url
			}
			server.mu.Lock()
			server.lines = append(server.lines, lines.Text())
			server.mu.Unlock()
		}
		close(address)
	}()
	if server.url = <-address; server.url == "" {
		t.Fatalf("the agent ended before it listened: %q", server.lines)
	}
	return server
}

// TestForeignAgent lets the client talk to an agent on the SDK of another language.
func TestForeignAgent(t *testing.T) {
	for name, arguments := range map[string][]string{"JSON-RPC": nil, "without streaming": {"--no-streaming"}, "REST": {"--rest"}} {
		t.Run(name, func(t *testing.T) {
			server := startJS(t, arguments...)
			client := clientOf(t, server.url, nil)
			req := request("weather please")
			asked := complete(t, client, req)
			again := complete(t, clientOf(t, server.url, nil), req) // as after a crash
			if asked.ID != again.ID || argument(t, asked, "ask_user", "question") != "Which city?" {
				t.Errorf("asked %+v, then %+v", asked, again)
			}
			answer := next(req, asked, "m2", "Berlin")
			for range 2 {
				if reply := complete(t, client, answer); reply.Text != "It is sunny in Berlin." {
					t.Errorf("the answer is %+v", reply)
				}
			}
			if messages := server.awaitSaid(t, "message: ", 2); len(messages) != 2 || messages[0] != messageID(req)+" task" || messages[1] != messageID(answer)+" answer" {
				t.Errorf("the agent got %q", messages)
			}
		})
	}
}

// TestForeignAgentIsCancelled cancels the work of an agent on the SDK of another language.
func TestForeignAgentIsCancelled(t *testing.T) {
	server := startJS(t)
	asked := complete(t, clientOf(t, server.url, nil), request("weather please"))
	if err := clientOf(t, server.url, nil).Cancel(t.Context(), next(request("weather please"), asked, "", "")); err != nil {
		t.Fatal(err)
	}
	if cancelled := server.awaitSaid(t, "cancelled: ", 1); len(cancelled) != 1 || cancelled[0] != asked.ID {
		t.Errorf("cancelled %q, want %s", cancelled, asked.ID)
	}
	req := request("work hard")
	req.Conversation, req.Tools = "another", nil
	if reply, err := clientOf(t, server.url, nil).Complete(t.Context(), req, nil); err != nil || reply.Outcome() != model.OutcomeAnswer {
		t.Errorf("nothing to cancel: %+v, %v", reply, err)
	}
}
