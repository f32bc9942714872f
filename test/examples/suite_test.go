// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// folder contains the examples, a directory for each.
var folder = filepath.Join("..", "..", "examples")

// world is the stack that all examples share.
var world *stack.Stack

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(func() int {
		var err error
		world, err = stack.Start(context.Background(), stack.Options{
			Scripts: []string{filepath.Join("testdata", "model.yaml")}, ModelFlags: []string{"--no-delay"}, Gateway: true,
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

// room is a namespace in which an example is applied.
type room struct {
	*WithT
	t         *testing.T
	namespace string
}

// newRoom creates a namespace with a model.
func newRoom(t *testing.T, namespace string) *room {
	t.Helper()
	r := &room{WithT: NewWithT(t), t: t, namespace: namespace}
	r.SetDefaultEventuallyTimeout(2 * time.Minute)
	r.SetDefaultEventuallyPollingInterval(25 * time.Millisecond)
	r.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	r.Expect(world.Provider(t.Context(), namespace, "default")).To(Succeed())
	return r
}

func (r *room) create(objects ...client.Object) {
	r.t.Helper()
	for _, object := range objects {
		r.Expect(world.API.Create(r.t.Context(), object)).To(Succeed())
	}
}

// apply applies an example as its page says, with kubectl and Kustomize. The tool server of the page is one of this test.
func (r *room) apply(example string) {
	r.t.Helper()
	rendered := r.kubectl(nil, "kustomize", filepath.Join(folder, example))
	rendered = strings.ReplaceAll(rendered, "https://mcp.example.com/mcp", serveTools(r.t))
	r.kubectl([]byte(rendered), "apply", "-n", r.namespace, "-f", "-")
}

// awaitTriggers waits until the triggers are ready.
func (r *room) awaitTriggers() {
	r.t.Helper()
	for name := range strings.SplitSeq(r.kubectl(nil, "get", "-n", r.namespace, "agenttriggers", "-o", "name"), "\n") {
		if name != "" {
			r.kubectl(nil, "wait", "-n", r.namespace, "--for=condition=Ready", name, "--timeout=2m")
		}
	}
}

func (r *room) kubectl(input []byte, args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), world.Cluster.Kubectl, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+world.Cluster.Kubeconfig)
	cmd.Stdin = bytes.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	r.Expect(err).NotTo(HaveOccurred(), "kubectl %v: %s", args, stderr.String())
	return string(out)
}

// tasks returns the tasks of a trigger.
func (r *room) tasks(trigger string) func() ([]v1alpha1.AgentTask, error) {
	return func() ([]v1alpha1.AgentTask, error) {
		var list v1alpha1.AgentTaskList
		err := world.API.List(r.t.Context(), &list, client.InNamespace(r.namespace), client.MatchingLabels{v1alpha1.LabelTrigger: trigger})
		return list.Items, err
	}
}

// trigger returns a trigger.
func (r *room) trigger(name string) func() (*v1alpha1.AgentTrigger, error) {
	return func() (*v1alpha1.AgentTrigger, error) {
		found := &v1alpha1.AgentTrigger{}
		err := world.API.Get(r.t.Context(), client.ObjectKey{Namespace: r.namespace, Name: name}, found)
		return found, err
	}
}

// succeeded matches a list with one task that has succeeded.
func succeeded(matcher OmegaMatcher) OmegaMatcher {
	return And(HaveLen(1), HaveEach(And(HaveField("Status.Phase", v1alpha1.TaskSuccess), matcher)))
}

// serveTools serves an MCP server with one read-only tool, and returns its URL.
func serveTools(t *testing.T) string {
	t.Helper()
	type input struct {
		What string `json:"what"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "tools", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "look", Description: "Looks at something, and says what it saw.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "saw " + in.What}}}, nil, nil
		})
	served := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(served.Close)
	t.Cleanup(served.CloseClientConnections)
	return served.URL
}
