// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package doors

import (
	"context"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/npm"
	"github.com/nestor-dev/nestor/test/stack"
	"github.com/nestor-dev/nestor/test/world"
)

var shared *world.World

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(world.Main(m, options("builtin:demo"), func(w *world.World) { shared = w }))
}

// options returns the options of a stack whose model plays the script of this package and the given scripts.
func options(scripts ...string) stack.Options {
	return stack.Options{Scripts: append([]string{filepath.Join("testdata", "doors.yaml")}, scripts...), ModelFlags: []string{"--no-delay"}, Gateway: true}
}

// room is a namespace of one test, with a model, a tool server and the role releaser, which asks for a version and
// needs an approval.
type room struct {
	*world.Room
	t *testing.T
	// token is that of a user who may run tasks and talk.
	token string
	box   *toolbox
}

func newRoom(t *testing.T) *room {
	t.Helper()
	return newRoomIn(t, shared)
}

func newRoomIn(t *testing.T, in *world.World) *room {
	t.Helper()
	r := &room{Room: in.Room(t), t: t, box: startToolbox(t)}
	server := &v1beta1.ToolServer{ObjectMeta: metav1.ObjectMeta{Name: "box"}}
	server.Spec.URL = r.box.URL
	role := &v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Name: "releaser"}}
	role.Spec.Description, role.Spec.SystemPrompt = "Releases things.", "You release things."
	role.Spec.Tools = &v1beta1.RoleTools{Allow: []v1beta1.ToolGlob{"box__*"}}
	role.Spec.AsTool = &v1beta1.RoleAsTool{Name: "release"}
	orchestrator := &v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Name: "orchestrator"}}
	orchestrator.Spec.Delegation = &v1beta1.Delegation{Roles: []v1beta1.Name{"releaser"}}
	r.Create(server, role, orchestrator)
	var err error
	r.token, err = r.Token(t.Context(), r.Namespace, "alice", "nestor-runner", "nestor-user")
	r.Expect(err).NotTo(HaveOccurred())
	r.Eventually(func() (bool, error) {
		err := r.Get("box", server)
		return server.Status.ToolCount > 0, err
	}).Should(BeTrue(), "the tools are listed")
	return r
}

// npm runs a script with clients from npm, and returns its output.
func (r *room) npm(script string, env ...string) string {
	r.t.Helper()
	env = append([]string{"NESTOR_URL=" + r.GatewayURL, "NESTOR_TOKEN=" + r.token, "NESTOR_NAMESPACE=" + r.Namespace}, env...)
	return npm.Program{Dir: "door-clients", Script: script, Env: env}.Output(r.t.Context(), r.t)
}

// toolbox is an MCP server that writes, which needs an approval.
type toolbox struct {
	*httptest.Server
	// entered receives a value when a write begins, and the write then waits for release; both are nil unless a test
	// holds writes.
	entered, release chan struct{}

	mu      sync.Mutex
	written []string
}

// hold makes writes wait. The first channel reports that a write began; closing the second one resumes the writes.
func (b *toolbox) hold() (entered <-chan struct{}, release chan<- struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entered, b.release = make(chan struct{}, 10), make(chan struct{})
	return b.entered, b.release
}

// wait waits until writes may continue.
func (b *toolbox) wait(ctx context.Context) {
	b.mu.Lock()
	entered, release := b.entered, b.release
	b.mu.Unlock()
	if release == nil {
		return
	}
	entered <- struct{}{}
	select {
	case <-release:
	case <-ctx.Done():
	}
}

func startToolbox(t *testing.T) *toolbox {
	t.Helper()
	b := &toolbox{}
	server := mcp.NewServer(&mcp.Implementation{Name: "toolbox", Version: "1"}, nil)
	type input struct {
		Path string `json:"path"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "write", Description: "Writes a file."}, func(ctx context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
		b.wait(ctx)
		b.mu.Lock()
		defer b.mu.Unlock()
		b.written = append(b.written, in.Path)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "wrote " + in.Path}}}, nil, nil
	})
	b.Server = httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(func() {
		b.CloseClientConnections() // the operator keeps one open
		b.Close()
	})
	return b
}

func (b *toolbox) files() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.written)
}
