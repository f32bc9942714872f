// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package a2a

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
	"github.com/nestor-dev/nestor/test/stack"
)

// world is the stack that all tests share.
var world *stack.Stack

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(func() int {
		var err error
		world, err = stack.Start(context.Background(), stack.Options{
			Scripts: []string{filepath.Join("testdata", "model.yaml"), "builtin:demo"}, ModelFlags: []string{"--no-delay"}, Gateway: true,
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

// room is a namespace of one test with the role releaser, which asks for a version and needs an approval.
type room struct {
	*WithT
	t         *testing.T
	namespace string
	// token is that of a user who may run tasks and talk.
	token string

	mu      sync.Mutex
	written []string
}

var rooms atomic.Int64

func newRoom(t *testing.T) *room {
	t.Helper()
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(2 * time.Minute)
	g.SetDefaultEventuallyPollingInterval(25 * time.Millisecond)
	r := &room{WithT: g, t: t, namespace: fmt.Sprintf("room-%d", rooms.Add(1))}
	r.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}})
	r.Expect(world.Provider(t.Context(), r.namespace, "default")).To(Succeed())
	server := &v1alpha1.ToolServer{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "box"}}
	server.Spec.URL = r.serveTools()
	role := &v1alpha1.AgentRole{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "releaser"}}
	role.Spec.Description, role.Spec.SystemPrompt = "Releases things.", "You release things."
	role.Spec.Tools = &v1alpha1.ToolPolicy{Allow: []v1alpha1.ToolGlob{"box__*"}}
	r.create(server, role)
	var err error
	r.token, err = world.Token(t.Context(), r.namespace, "alice", "nestor-runner", "nestor-user")
	r.Expect(err).NotTo(HaveOccurred())
	r.Eventually(func() (int32, error) {
		err := world.API.Get(t.Context(), client.ObjectKeyFromObject(server), server)
		return server.Status.ToolCount, err
	}).Should(BeNumerically(">", 0), "the tools are listed")
	return r
}

// serveTools serves a tool that writes, which needs an approval.
func (r *room) serveTools() string {
	server := mcp.NewServer(&mcp.Implementation{Name: "box", Version: "1"}, nil)
	type input struct {
		Path string `json:"path"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "write", Description: "Writes a file."}, func(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.written = append(r.written, in.Path)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "wrote " + in.Path}}}, nil, nil
	})
	box := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true}))
	r.t.Cleanup(func() {
		box.CloseClientConnections() // the operator follows the list of tools
		box.Close()
	})
	return box.URL
}

// files returns what was written.
func (r *room) files() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.written)
}

// create creates objects as an administrator.
func (r *room) create(objects ...client.Object) {
	r.t.Helper()
	for _, object := range objects {
		r.Expect(world.API.Create(r.t.Context(), object)).To(Succeed())
	}
}

// tasks returns the tasks of the room.
func (r *room) tasks() []v1alpha1.AgentTask {
	r.t.Helper()
	var list v1alpha1.AgentTaskList
	r.Expect(world.API.List(r.t.Context(), &list, client.InNamespace(r.namespace))).To(Succeed())
	return list.Items
}

// url returns the address of an agent.
func (r *room) url(role string) string { return world.GatewayURL + "/a2a/" + r.namespace + "/" + role }
