// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspaces

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/gitserver"
	"github.com/nestor-dev/nestor/test/programs"
	"github.com/nestor-dev/nestor/test/stack"
	"github.com/nestor-dev/nestor/test/stack/node"
	"github.com/nestor-dev/nestor/test/world"
)

const (
	// gitHost is an address for documentation. The node connects its pods to the git server of the test instead.
	gitHost     = "http://192.0.2.7"
	gitUser     = "robot"
	gitPassword = "hunter2-hunter2"
)

// site is a world with a node and a git server.
type site struct {
	*world.World
	node  *node.Node
	repos string
}

func start(t *testing.T) *site {
	t.Helper()
	programs.Need(t, "git")
	n, err := node.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Stop(); err != nil {
			t.Error(err)
		}
	})
	w := &site{node: n, repos: t.TempDir(), World: world.Start(t, stack.Options{
		Scripts: []string{filepath.Join("testdata", "publisher.yaml"), "builtin:demo"}, ModelFlags: []string{"--no-delay", "--record", "2000"},
		OperatorFlags: append(stack.ShortLeases(), "--workspace-image", "nestor-workspace:none"), Env: n.Env(), Build: []string{"./cmd/nestor-workspace"}, Gateway: true,
	})}
	n.Route(gitHost, serveGit(t, w.repos))
	n.Run(w.API, filepath.Join(w.Dir, "nestor-workspace"))
	return w
}

// serveGit serves repositories to those who know the password, and returns the URL.
func serveGit(t *testing.T, dir string) string {
	t.Helper()
	handler, err := gitserver.Handler(t.Context(), dir, gitUser, gitPassword)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// project is a namespace with a model, a role and a repository.
type project struct {
	*world.Room
	t        *testing.T
	node     *node.Node
	upstream string
}

func (w *site) newProject(t *testing.T) *project {
	t.Helper()
	p := &project{Room: w.Room(t), t: t, node: w.node}
	p.upstream = filepath.Join(w.repos, p.Namespace+".git")
	programs.Script(t, t.TempDir(), "git init -q -b main w && cd w && echo one > f && git add . && git commit -qm first && cd .. && git clone -q --bare w "+p.upstream)
	p.Create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "login", Annotations: map[string]string{v1beta1.AnnotationGitHosts: gitHost}},
		StringData: map[string]string{"username": gitUser, "password": gitPassword},
	})
	p.createRole("publisher")
	return p
}

// createRole creates a role that needs no approvals of its own.
func (p *project) createRole(name string, deny ...string) {
	p.t.Helper()
	role := &v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Name: name}}
	role.Spec.SystemPrompt = "You fix files."
	role.Spec.Tools = &v1beta1.RoleTools{Allow: []string{"bash", "read", "review_changes", "publish_changes"}, Deny: deny}
	role.Spec.Approval = &v1beta1.ApprovalPolicy{Mode: v1beta1.ApprovalNever}
	p.Create(role)
}

func (p *project) workspace() *v1beta1.Workspace {
	return &v1beta1.Workspace{Git: &v1beta1.GitSource{URL: gitHost + "/" + filepath.Base(p.upstream), SecretName: "login", Push: &v1beta1.GitPush{}}}
}

// task starts a standalone task named fix.
func (p *project) task(role, instruction string) {
	p.t.Helper()
	task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Name: "fix"}}
	task.Spec = v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent, Role: role, Instruction: instruction, Workspace: p.workspace()}
	p.Create(task)
}

func (p *project) current() v1beta1.AgentTask {
	p.t.Helper()
	var task v1beta1.AgentTask
	p.Expect(p.Get("fix", &task)).To(Succeed())
	return task
}

// approval waits until the task needs a decision, and returns what a person sees.
func (p *project) approval() v1beta1.Waiting { return p.WaitForApproval("fix") }

// decide decides about the call that a person saw.
func (p *project) decide(waiting v1beta1.Waiting, decision v1beta1.Decision, comment string) {
	p.t.Helper()
	p.Decide("fix", waiting, decision, comment)
}

// result waits until the task ends and returns the result that its agent submitted, which is the output of its last tool call.
func (p *project) result() string {
	p.t.Helper()
	return p.WaitForPhase("fix", v1beta1.TaskSuccess).Status.Result.Summary
}

func (p *project) refs() string {
	p.t.Helper()
	return programs.Script(p.t, p.upstream, "git for-each-ref --format='%(refname)'")
}

// readChanges reads the changes of the task from the history API, with the identity of a configuration.
func (p *project) readChanges(config *rest.Config) (found historyv1.WorkspaceChanges, err error) {
	p.t.Helper()
	httpClient, err := rest.HTTPClientFor(config)
	p.Expect(err).NotTo(HaveOccurred())
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, fmt.Sprintf("%s/apis/%s/namespaces/%s/workspacechanges/task.fix", strings.TrimSuffix(config.Host, "/"), historyv1.GroupVersion, p.Namespace), nil)
	p.Expect(err).NotTo(HaveOccurred())
	response, err := httpClient.Do(request)
	if err != nil {
		return found, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(response.Body)
		return found, fmt.Errorf("%s: %s", response.Status, text)
	}
	return found, json.NewDecoder(response.Body).Decode(&found)
}

// changes returns the changes of the task, as an administrator.
func (p *project) changes() (found historyv1.WorkspaceChanges) {
	p.t.Helper()
	p.Eventually(func() (err error) {
		found, err = p.readChanges(p.Cluster.Config)
		return err
	}).Should(Succeed())
	return found
}

// offered returns the tools that the agents of the task were offered.
func (p *project) offered() []string {
	p.t.Helper()
	var sub v1beta1.SubAgent
	p.Expect(p.Get("fix", &sub)).To(Succeed())
	var record struct {
		Requests []struct {
			Body struct {
				Tools []struct{ Function struct{ Name string } }
			}
		}
	}
	p.Expect(p.ReadModelLog(p.t.Context(), string(sub.UID)+"/", &record)).To(Succeed())
	p.Expect(record.Requests).NotTo(BeEmpty())
	var names []string
	for _, r := range record.Requests {
		for _, tool := range r.Body.Tools {
			names = append(names, tool.Function.Name)
		}
	}
	return names
}
