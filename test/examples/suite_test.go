// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli"
	"github.com/nestor-dev/nestor/internal/model/scripted"
	"github.com/nestor-dev/nestor/test/stack"
	"github.com/nestor-dev/nestor/test/world"
)

var folder = filepath.Join("..", "..", "examples")

// shared is the world of all examples, and project the directory that stands for their git repositories.
var (
	shared  *world.World
	project string
)

// plugin is the name under which this test binary acts as kubectl-nestor.
const plugin = "kubectl-nestor"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == plugin {
		os.Exit(cli.Main())
	}
	flag.Parse()
	os.Exit(func() int {
		var err error
		if project, err = makeProject(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(project) }()
		return world.Main(m, stack.Options{
			Scripts:    []string{filepath.Join("testdata", "gallery.yaml"), filepath.Join("testdata", "model.yaml")},
			ModelFlags: []string{"--no-delay"}, OperatorFlags: []string{"--local-workspaces", project}, Gateway: true,
		}, func(w *world.World) { shared = w })
	}())
}

// makeProject creates a directory with a program, a test that fails, and kubectl-nestor.
func makeProject() (string, error) {
	dir, err := os.MkdirTemp("", "nestor-examples-")
	if err != nil {
		return "", fmt.Errorf("create the project: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the test binary: %w", err)
	}
	return dir, errors.Join(
		os.WriteFile(filepath.Join(dir, "greet.sh"), []byte("echo \"Hello $nme\"\n"), 0o600),
		os.WriteFile(filepath.Join(dir, "test.sh"), []byte("got=$(sh greet.sh World)\n[ \"$got\" = \"Hello World\" ] || { echo \"got: $got\"; exit 1; }\necho \"ok: $got\"\n"), 0o600),
		os.Symlink(self, filepath.Join(dir, plugin)))
}

// room is a namespace in which an example is applied.
type room struct {
	*world.Room
	t *testing.T
}

func newRoom(t *testing.T, namespace, model string) *room {
	t.Helper()
	r := &room{Room: shared.EmptyRoom(t, namespace), t: t}
	provider := &v1beta1.ModelProvider{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	provider.Spec.BaseURL, provider.Spec.DefaultModel = model, "scripted"
	r.Create(provider)
	return r
}

// serveDemo serves the scripted model of the demo, and returns its URL.
func serveDemo(t *testing.T) string {
	t.Helper()
	scripts, err := scripted.Demo()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(scripted.NewServer(scripted.Options{Scripts: scripts, NoDelay: true}))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return server.URL + "/v1"
}

// apply applies an example as described on its page, with kubectl and Kustomize. The tool server of the page is one
// of this test, and so are other endpoints, which are given as pairs.
func (r *room) apply(example string, endpoints ...string) {
	r.t.Helper()
	rendered := r.kubectl(nil, "kustomize", filepath.Join(folder, example))
	rendered = strings.NewReplacer(append(endpoints, "https://mcp.example.com/mcp", serveTools(r.t))...).Replace(rendered)
	r.kubectl([]byte(rendered), "apply", "-n", r.Namespace, "-f", "-")
}

// repository matches the git repository of a rendered example.
var repository = regexp.MustCompile(`git:\n\s+ref: .*\n\s+url: https://git\.example\.com/team/app\.git.*`)

// applyOnProject applies an example with the project instead of its git repository: the cluster has no nodes on which a
// pod could clone one.
func (r *room) applyOnProject(example string) {
	r.t.Helper()
	rendered := r.kubectl(nil, "kustomize", filepath.Join(folder, example))
	r.Expect(rendered).To(MatchRegexp(repository.String()))
	rendered = repository.ReplaceAllString(rendered, `directory: {path: "`+project+`"}`)
	r.kubectl([]byte(rendered), "apply", "-n", r.Namespace, "-f", "-")
}

// waitForTriggers waits until the triggers are ready.
func (r *room) waitForTriggers() {
	r.t.Helper()
	for name := range strings.SplitSeq(r.kubectl(nil, "get", "-n", r.Namespace, "agenttriggers", "-o", "name"), "\n") {
		if name != "" {
			r.kubectl(nil, "wait", "-n", r.Namespace, "--for=condition=Ready", name, "--timeout=2m")
		}
	}
}

func (r *room) kubectl(input []byte, args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), r.Cluster.Kubectl, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+r.Cluster.Kubeconfig)
	cmd.Stdin = bytes.NewReader(input)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	r.Expect(err).NotTo(HaveOccurred(), "kubectl %v: %s", args, stderr.String())
	return string(out)
}

// nestor runs kubectl nestor in the namespace of the room, and returns what it prints.
func (r *room) nestor(args ...string) (string, error) {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), filepath.Join(project, plugin), append(args, "-n", r.Namespace)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+r.Cluster.Kubeconfig, "NO_COLOR=1")
	out, err := cmd.CombinedOutput()
	r.t.Logf("kubectl nestor %s: %v\n%s", strings.Join(args, " "), err, out)
	return string(out), err
}

func (r *room) bind(person, role string) {
	r.t.Helper()
	r.kubectl(nil, "create", "rolebinding", "-n", r.Namespace, person, "--clusterrole", role, "--user", person)
	r.Expect(r.AwaitRole(r.t.Context(), r.Namespace, person, role)).To(Succeed())
}

func (r *room) tasks(trigger string) func() ([]v1beta1.AgentTask, error) {
	return func() ([]v1beta1.AgentTask, error) {
		var list v1beta1.AgentTaskList
		err := r.List(&list, client.MatchingLabels{v1beta1.LabelTrigger: trigger})
		return list.Items, err
	}
}

func (r *room) trigger(name string) func() (*v1beta1.AgentTrigger, error) {
	return func() (*v1beta1.AgentTrigger, error) {
		found := &v1beta1.AgentTrigger{}
		return found, r.Get(name, found)
	}
}

func succeeded(matcher OmegaMatcher) OmegaMatcher {
	return And(HaveLen(1), HaveEach(And(HaveField("Status.Phase", v1beta1.TaskSuccess), matcher)))
}

// serveTools serves an MCP server with a tool that reads and one that changes something, and returns its URL.
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
	mcp.AddTool(server, &mcp.Tool{Name: "repair", Description: "Repairs something, and says what it did."},
		func(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "repaired " + in.What}}}, nil, nil
		})
	served := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(served.Close)
	t.Cleanup(served.CloseClientConnections)
	return served.URL
}
