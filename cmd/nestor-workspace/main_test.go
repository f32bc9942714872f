// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/tool/workspace/gitclone"
	"github.com/nestor-dev/nestor/internal/tool/workspace/shell"
	"github.com/nestor-dev/nestor/test/patience"
)

// beProgram makes the test binary act as nestor-workspace.
const beProgram = "BE_NESTOR_WORKSPACE"

func TestMain(m *testing.M) {
	if os.Getenv(beProgram) != "" || (len(os.Args) > 2 && os.Args[1] == shell.SupervisorArgument) {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const token = "0123456789abcdef0123456789abcdef"

func command(t *testing.T, arguments ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", arguments...)
	// A server that is killed leaves the home directory of its commands.
	cmd.Env = append(os.Environ(), beProgram+"=1", "TMPDIR="+t.TempDir())
	return cmd
}

func TestCommandLine(t *testing.T) {
	root := t.TempDir()
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte("short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no arguments":   {nil, 1, "--root is missing"},
		"help":           {[]string{"--help"}, 0, "-token-file"},
		"help as a word": {[]string{"help"}, 0, "To try it"},
		"clone help":     {[]string{"clone", "--help"}, 0, "ssh-privatekey"},
		"version":        {[]string{"version"}, 0, "nestor-workspace "},
		"version flag":   {[]string{"--version"}, 0, "nestor-workspace "},
		"no root":        {[]string{"--read-only"}, 1, "--root is missing"},
		"no token":       {[]string{"--root", root}, 1, "no token"},
		"short token":    {[]string{"--root", root, "--token-file", tokenFile}, 1, "too short"},
		"missing file":   {[]string{"--root", root, "--token-file", tokenFile + "x"}, 1, "read token"},
		"token as flag":  {[]string{"--root", root, "--token", token}, 1, "not defined: -token"},
		"stray argument": {[]string{"--root", root, "stray"}, 1, `unknown argument "stray"`},
		"clone rootless": {[]string{"clone", "--url", "https://example.com/x"}, 1, "--root is missing"},
		"clone urlless":  {[]string{"clone", "--root", root}, 1, "url is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			output, err := command(t, c.args...).CombinedOutput()
			code := 0
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				code = exit.ExitCode()
			}
			if code != c.code || !strings.Contains(string(output), c.want) {
				t.Errorf("exit code %d, want %d and %q in:\n%s", code, c.code, c.want, output)
			}
		})
	}
}

// server is a running nestor-workspace.
type server struct {
	cmd     *exec.Cmd
	session *mcp.ClientSession
	log     *bytes.Buffer
	ended   chan struct{}
}

// start runs nestor-workspace and connects to it. The token is passed as an environment variable, as in a pod.
func start(t *testing.T, cmd *exec.Cmd) *server {
	t.Helper()
	cmd.Env = append(cmd.Env, tokenVariable+"="+token)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &server{cmd: cmd, log: &bytes.Buffer{}, ended: make(chan struct{})}
	lines := bufio.NewReader(io.TeeReader(stderr, s.log))
	first, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("server printed %q: %v", first, err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, lines)
		close(s.ended)
	}()
	var said struct{ Address string }
	if err := json.Unmarshal([]byte(first), &said); err != nil {
		t.Fatalf("server printed %q: %v", first, err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_, _ = cmd.Process.Wait() // before its directories are removed
	})
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s.session, err = client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: "http://" + said.Address, HTTPClient: &http.Client{Transport: bearer{}}, MaxRetries: -1,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type bearer struct{}

func (bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return http.DefaultTransport.RoundTrip(r)
}

func (s *server) bash(t *testing.T, command string) string {
	t.Helper()
	result, err := s.session.CallTool(t.Context(), &mcp.CallToolParams{Name: "bash", Arguments: map[string]any{"command": command}})
	if err != nil {
		t.Fatal(err)
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("content is %#v", result.Content[0])
	}
	return text.Text
}

func TestServesUntilStopped(t *testing.T) {
	root := t.TempDir()
	s := start(t, command(t, "--root", root, "--listen", "127.0.0.1:0"))
	if got := s.bash(t, "echo $HOME; touch made"); strings.Contains(got, root) {
		t.Errorf("bash's home is in the workspace: %s", got)
	}
	if _, err := os.Stat(filepath.Join(root, "made")); err != nil {
		t.Error(err)
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-s.ended
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("ended with %v", err)
	}
	if strings.Contains(s.log.String(), token) {
		t.Errorf("the token is in the log:\n%s", s.log)
	}
}

func TestCommandsEndWithKilledServer(t *testing.T) {
	root := t.TempDir()
	alive := filepath.Join(root, "alive")
	if err := syscall.Mkfifo(alive, 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, command(t, "--root", root, "--listen", "127.0.0.1:0"))
	go func() {
		_, _ = s.session.CallTool(t.Context(), &mcp.CallToolParams{Name: "bash", Arguments: map[string]any{
			"command": "exec 9>alive; setsid sleep 1000 & echo begun >&9; wait",
		}})
	}()
	// The pipe is closed when the last process that has it open ends.
	pipe, err := os.Open(alive)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pipe.Close() })
	if _, err := io.ReadFull(pipe, make([]byte, len("begun\n"))); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := pipe.SetReadDeadline(time.Now().Add(patience.Limit())); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(pipe); err != nil {
		t.Errorf("the command still runs: %v", err)
	}
	_ = s.cmd.Wait()
}

func TestAnswersGitCredentialRequests(t *testing.T) {
	credentials := t.TempDir()
	if err := os.WriteFile(filepath.Join(credentials, "username"), []byte("robot\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ask := func(host string) (string, error) {
		cmd := command(t, gitclone.HelperArgument, "https://example.com", credentials, "get")
		cmd.Stdin = strings.NewReader("protocol=https\nhost=" + host + "\n\n")
		output, err := cmd.CombinedOutput()
		return string(output), err
	}
	if got, err := ask("example.com"); err == nil || !strings.Contains(got, "git requests a password, but the credentials have none") {
		t.Errorf("got %q, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(credentials, "password"), []byte("hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := ask("example.com"); err != nil || got != "username=robot\npassword=hunter2\n" {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := ask("evil.example"); err != nil || got != "" {
		t.Errorf("another host got %q, %v", got, err)
	}
}
