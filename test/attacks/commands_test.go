// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/test/world"
)

const workspaceToken = "0123456789abcdef0123456789abcdef"

// workspaceServer runs the server of a workspace pod, and returns its bash tool.
func (w *target) workspaceServer(t *testing.T, root string, flags ...string) (bash func(command string) string) {
	t.Helper()
	g := NewWithT(t)
	cmd := exec.CommandContext(t.Context(), filepath.Join(w.Dir, "nestor-workspace"), append([]string{"--root", root, "--listen", "127.0.0.1:0"}, flags...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir(), "NESTOR_WORKSPACE_TOKEN=" + workspaceToken, "CANARY=the crown jewels"}
	log, err := cmd.StderrPipe()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(cmd.Start()).To(Succeed())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	first, err := bufio.NewReader(log).ReadBytes('\n')
	g.Expect(err).NotTo(HaveOccurred())
	var output struct{ Address string }
	g.Expect(json.Unmarshal(first, &output)).To(Succeed())
	session, err := mcp.NewClient(&mcp.Implementation{Name: "attack", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: "http://" + output.Address, HTTPClient: &http.Client{Transport: withToken(workspaceToken)}, MaxRetries: -1,
	}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	return func(command string) string {
		t.Helper()
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "bash", Arguments: map[string]any{"command": command}})
		g.Expect(err).NotTo(HaveOccurred())
		text, ok := result.Content[0].(*mcp.TextContent)
		g.Expect(ok).To(BeTrue())
		return text.Text
	}
}

type withToken string

func (token withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(r)
}

var _ = class(
	"commands",
	attack{
		name:    "a command starts unlimited processes",
		attempt: "a command starts many processes in the background",
		defence: "the supervisor ends a command with more than --max-bash-processes processes and threads",
		run: func(t *testing.T, w *target) {
			g, root := NewWithT(t), t.TempDir()
			bash := w.workspaceServer(t, root, "--max-bash-processes", "100")
			output := bash(`for i in $(seq 1 5000); do sleep 1000 & done; echo all >` + root + `/all; wait`)
			g.Expect(output).To(And(ContainSubstring("processes and threads at once, and may have 100"), ContainSubstring("exit code 137")))
			g.Expect(filepath.Join(root, "all")).NotTo(BeAnExistingFile())
			g.Expect(bash("echo still here")).To(ContainSubstring("still here"))
		},
		control: func(t *testing.T, w *target) {
			g, root := NewWithT(t), t.TempDir()
			output := w.workspaceServer(t, root, "--max-bash-processes", "100")(`for i in $(seq 1 20); do sleep 0.01 & done; wait; echo all`)
			g.Expect(output).To(And(ContainSubstring("all"), ContainSubstring("exit code 0")))
		},
	},
	attack{
		name:    "a process outlives its command",
		attempt: "a command leaves a process in a session of its own, which writes to the workspace later",
		defence: "the supervisor is the parent of all processes of a command, and ends them with it",
		run: func(t *testing.T, w *target) {
			g, root := world.Expecting(t), t.TempDir()
			bash := w.workspaceServer(t, root)
			bash(`setsid nohup bash -c 'echo $BASHPID > pid; exec sleep 1000' >/dev/null 2>&1 & until [ -s pid ]; do sleep 0.01; done`)
			pid, err := os.ReadFile(filepath.Join(root, "pid"))
			g.Expect(err).NotTo(HaveOccurred())
			g.Eventually(func() error {
				_, err := os.Stat(filepath.Join("/proc", strings.TrimSpace(string(pid)), "exe"))
				return err
			}).Should(MatchError(os.ErrNotExist))
		},
		control: func(t *testing.T, w *target) {
			root := t.TempDir()
			output := w.workspaceServer(t, root)(`setsid sleep 1000 & pid=$!; sleep 0.05; [ -e /proc/$pid ] && echo it runs`)
			NewWithT(t).Expect(output).To(ContainSubstring("it runs"))
		},
	},
	attack{
		name:    "a command reads the environment of the server",
		attempt: "a command prints its environment, to find the token and other variables of the pod",
		defence: "commands get a minimal environment, and the server removes the token from its own",
		run: func(t *testing.T, w *target) {
			output := w.workspaceServer(t, t.TempDir())("env; set")
			NewWithT(t).Expect(output).To(And(ContainSubstring("PATH="), Not(ContainSubstring(workspaceToken)), Not(ContainSubstring("jewels"))))
		},
		control: func(t *testing.T, w *target) {
			output := w.workspaceServer(t, t.TempDir(), "--allow-env", "CANARY")("env")
			NewWithT(t).Expect(output).To(ContainSubstring("jewels"))
		},
	},
)
