// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package doors

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/test/npm"
	"github.com/nestor-dev/nestor/test/patience"
	"github.com/nestor-dev/nestor/test/stack"
)

// world is the stack that all tests share.
var world *stack.Stack

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(func() int {
		var err error
		world, err = stack.Start(context.Background(), stack.Options{
			Scripts: []string{filepath.Join("testdata", "doors.yaml"), "builtin:demo"}, ModelFlags: []string{"--no-delay"}, Gateway: true,
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		code := m.Run()
		if code != 0 {
			fmt.Fprintln(os.Stderr, world.OperatorLog())
		}
		if err := world.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return code
	}())
}

// room is a namespace of one test, with a model, a tool server and the role releaser, which asks for a version and needs an approval.
type room struct {
	*WithT
	t         *testing.T
	stack     *stack.Stack
	namespace string
	// token is that of a user who may run tasks and talk.
	token string
	box   *toolbox
}

var rooms atomic.Int64

// newRoom returns a room in the shared stack.
func newRoom(t *testing.T) *room {
	t.Helper()
	return newRoomIn(t, world)
}

// newRoomIn returns a room in a stack.
func newRoomIn(t *testing.T, in *stack.Stack) *room {
	t.Helper()
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(patience.Limit())
	g.SetDefaultEventuallyPollingInterval(25 * time.Millisecond)
	r := &room{WithT: g, t: t, stack: in, namespace: fmt.Sprintf("room-%d", rooms.Add(1)), box: startToolbox(t)}
	r.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}})
	r.Expect(r.stack.Provider(t.Context(), r.namespace, "default")).To(Succeed())
	server := &v1alpha1.ToolServer{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "box"}}
	server.Spec.URL = r.box.URL
	role := &v1alpha1.AgentRole{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "releaser"}}
	role.Spec.Description, role.Spec.SystemPrompt = "Releases things.", "You release things."
	role.Spec.Tools = &v1alpha1.ToolPolicy{Allow: []v1alpha1.ToolGlob{"box__*"}}
	role.Spec.AsTool = &v1alpha1.RoleAsTool{Name: "release"}
	orchestrator := &v1alpha1.AgentRole{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "orchestrator"}}
	orchestrator.Spec.Delegation = &v1alpha1.Delegation{Roles: []v1alpha1.Name{"releaser"}}
	r.create(server, role, orchestrator)
	var err error
	r.token, err = r.stack.Token(t.Context(), r.namespace, "alice", "nestor-runner", "nestor-user")
	r.Expect(err).NotTo(HaveOccurred())
	r.Eventually(func() (bool, error) {
		err := r.stack.API.Get(t.Context(), client.ObjectKeyFromObject(server), server)
		return server.Status.ToolCount > 0, err
	}).Should(BeTrue(), "the tools are listed")
	return r
}

// create creates objects as an administrator.
func (r *room) create(objects ...client.Object) {
	r.t.Helper()
	for _, object := range objects {
		r.Expect(r.stack.API.Create(r.t.Context(), object)).To(Succeed())
	}
}

// tasks returns the standalone tasks of the room.
func (r *room) tasks() []v1alpha1.AgentTask {
	r.t.Helper()
	var list v1alpha1.AgentTaskList
	r.Expect(r.stack.API.List(r.t.Context(), &list, client.InNamespace(r.namespace))).To(Succeed())
	return slices.DeleteFunc(list.Items, func(task v1alpha1.AgentTask) bool {
		return task.Spec.Chat != "" || task.Labels[v1alpha1.LabelParent] != ""
	})
}

// npm runs a script with clients from npm, and returns what it prints. The script gets the gateway's address, the token and the namespace.
func (r *room) npm(script string, env ...string) string {
	r.t.Helper()
	env = append([]string{"NESTOR_URL=" + r.stack.GatewayURL, "NESTOR_TOKEN=" + r.token, "NESTOR_NAMESPACE=" + r.namespace}, env...)
	return npm.Program{Dir: "door-clients", Script: script, Env: env}.Output(r.t.Context(), r.t)
}

// toolbox is an MCP server that writes, which needs an approval.
type toolbox struct {
	*httptest.Server
	// entered receives a value when a write begins, and then release is awaited; both are nil unless a test holds writes.
	entered, release chan struct{}

	mu      sync.Mutex
	written []string
}

// hold makes writes wait. The returned channels tell that one began, and let them continue when closed.
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

// files returns what was written.
func (b *toolbox) files() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.written)
}
