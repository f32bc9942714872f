// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// The git server, and its user.
const (
	forge       = "forge"
	forgeURL    = "http://git." + forge + ".svc.cluster.local:8080"
	gitUser     = "robot"
	gitPassword = "hunter2-hunter2"
)

// printerScript changes a file, publishes the change, asks a person, and submits what the workspace then has.
const printerScript = `
name: printer
rules:
- match: {role: printer, turn: 1}
  reply: {toolCalls: [{name: bash, arguments: {command: 'echo two >> f; echo three > new; ls -R /var/run/nestor; env; cat .git/config'}}]}
- match: {role: printer, turn: 2}
  reply: {toolCalls: [{name: review_changes}]}
- match: {role: printer, turn: 3, toolResult: {tool: review_changes, text: '/\n(?P<line>nestor\/[^\n]*)$/'}}
  reply: {toolCalls: [{name: publish_changes, arguments: {message: Print two, changes: '{{.line}}'}}]}
- match: {role: printer, turn: 4, toolResult: {}}
  reply: {toolCalls: [{name: ask_user, arguments: {question: '{{.toolResult}}'}}]}
- match: {role: printer, turn: 5}
  reply: {toolCalls: [{name: bash, arguments: {command: 'cat f new; git rev-parse HEAD'}}]}
- match: {role: printer}
  reply: {toolCalls: [{name: submit_result, arguments: {result: '{{.last}}'}}]}
`

func publishSpecs(c *cluster) {
	p := &press{cluster: c}
	It("publishes approved changes on a branch, from a pod of its own with the credentials", func(ctx SpecContext) {
		p.start(ctx)
		waiting := p.waitsFor(ctx, v1beta1.WaitingApproval)
		Expect(waiting.Text).To(MatchRegexp(`nestor/print: 2 files, \+2 -0 since ` + p.git(ctx, "rev-parse main") + `, sha256 [0-9a-f]{64}: Modified f, Added new`))
		p.digest = regexp.MustCompile(`sha256 ([0-9a-f]{64})`).FindStringSubmatch(waiting.Text)[1]
		p.expectNoCredentials(ctx)
		p.expectReads(ctx)
		Expect(p.git(ctx, "for-each-ref --format=%(refname)")).To(Equal("refs/heads/main"), "nothing is published before the approval")

		By("stopping the idle pod")
		Eventually(p.pods).WithContext(ctx).Should(BeEmpty())
		Expect(p.nestor(ctx, "gina", "workspace", "diff", "print")).To(ContainSubstring("+two"), "kept changes")

		By("publishing what the next pod has restored")
		publishers := p.watchPublishers(ctx)
		p.approve(ctx, "", "print", waiting.ToolCall)
		question := p.waitsFor(ctx, v1beta1.WaitingQuestion)
		Expect(question.Text).To(And(ContainSubstring("Published nestor/print: 2 files, +2 -0 since"), ContainSubstring("sha256 "+p.digest), ContainSubstring(p.git(ctx, "rev-parse nestor/print"))))
		Expect(p.git(ctx, "log --format=%s main..nestor/print")).To(Equal("Print two"))
		Expect(p.git(ctx, "show nestor/print:f")).To(Equal("one\ntwo"))
		Expect(p.git(ctx, "show nestor/print:new")).To(Equal("three"))
		Expect(p.inForge(ctx, "git diff --binary --full-index --no-renames main nestor/print | sha256sum")).To(HavePrefix(p.digest), "the branch has what was approved")
		expectRestricted(publishers())
		Eventually(p.pods).WithContext(ctx).ShouldNot(ContainElement(HaveField("Name", HavePrefix("wp-"))))
	})

	It("restores kept changes after the pod of a workspace was deleted", func(ctx SpecContext) {
		pods, err := p.pods(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(pods).To(HaveLen(1))
		c.kubectl(ctx, "-n", "press", "delete", "pod", pods[0].Name)
		p.sendMessage(ctx, v1beta1.AgentMessageSpec{Task: "print", Content: "Go on."})
		Eventually(p.task("print")).WithContext(ctx).Should(HaveField("Status.Phase", v1beta1.TaskSuccess))
		task, err := p.task("print")(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(task.Status.Result.Details + task.Status.Result.Summary).To(ContainSubstring("one\ntwo\nthree\n" + p.git(ctx, "rev-parse main")))
	})

	It("deletes everything with the task, except the Secret of the user", func(ctx SpecContext) {
		c.kubectl(ctx, "-n", "press", "delete", "agenttask", "print")
		Eventually(func() string {
			return c.kubectl(ctx, "-n", "press", "get", "pods,networkpolicy,service,subagents", "-o", "name")
		}).WithContext(ctx).Should(BeEmpty())
		Expect(c.kubectl(ctx, "-n", "press", "get", "secrets", "-o", "name")).To(Equal("secret/login\n"))
	})
}

// press is a namespace with a task that publishes.
type press struct {
	*cluster
	person
	// plugin is the built kubectl-nestor.
	plugin string
	// digest is that of the approved changes.
	digest string
}

// start serves a repository and starts the task.
func (p *press) start(ctx context.Context) {
	GinkgoHelper()
	p.plugin = filepath.Join(GinkgoT().TempDir(), "kubectl-nestor")
	_, err := p.run(ctx, "", "go", "build", "-o", p.plugin, "../../cmd/kubectl-nestor")
	Expect(err).NotTo(HaveOccurred())
	p.serveGit(ctx)
	p.cluster.namespace(ctx, "press", "gina")
	p.kubectl(ctx, "-n", "press", "create", "rolebinding", "runs-gina", "--clusterrole=nestor-runner", "--user=gina")
	p.kubectl(ctx, "-n", "press", "create", "secret", "generic", "login", "--from-literal=username="+gitUser, "--from-literal=password="+gitPassword)
	p.kubectl(ctx, "-n", "press", "annotate", "secret", "login", v1beta1.AnnotationGitHosts+"="+forgeURL)
	p.kubectl(ctx, "-n", "press", "create", "role", "login", "--verb=get", "--resource=secrets", "--resource-name=login")
	p.kubectl(ctx, "-n", "press", "create", "rolebinding", "login", "--role=login", "--user=gina")
	p.addScript(ctx, printerScript)
	p.apply(ctx, `
apiVersion: nestor.dev/v1beta1
kind: AgentRole
metadata: {name: printer, namespace: press}
spec: {systemPrompt: You print., tools: {allow: [bash, review_changes, publish_changes, ask_user]}, approval: {mode: Never}}
`)
	p.person = p.cluster.person("gina", "press")
	now := int32(0)
	task := &v1beta1.AgentTask{ObjectMeta: p.meta("print"), Spec: v1beta1.AgentTaskSpec{
		Type: v1beta1.TaskAgent, Role: "printer", Instruction: "Print.", Workspace: &v1beta1.Workspace{
			Git:                &v1beta1.GitSource{URL: forgeURL + "/app.git", SecretName: "login", Push: &v1beta1.GitPush{}},
			IdleTimeoutSeconds: 60, RetainSeconds: &now,
		},
	}}
	Expect(p.Create(ctx, task)).To(Succeed())
}

func (p *press) serveGit(ctx context.Context) {
	GinkgoHelper()
	p.cluster.namespace(ctx, forge)
	p.apply(ctx, fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: git, namespace: %[1]s}
spec:
  selector: {matchLabels: {app: git}}
  template:
    metadata: {labels: {app: git}}
    spec:
      automountServiceAccountToken: false
      securityContext: {runAsNonRoot: true, runAsUser: 65532, fsGroup: 65532, seccompProfile: {type: RuntimeDefault}}
      containers:
      - name: git
        image: %[2]s/git-server:dev
        env: [{name: GIT_USER, value: %[3]s}, {name: GIT_PASSWORD, value: %[4]s}]
        ports: [{containerPort: 8080}]
        readinessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1}
        securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
        volumeMounts: [{name: repositories, mountPath: /repositories}, {name: tmp, mountPath: /tmp}]
      volumes: [{name: repositories, emptyDir: {}}, {name: tmp, emptyDir: {}}]
---
apiVersion: v1
kind: Service
metadata: {name: git, namespace: %[1]s}
spec: {selector: {app: git}, ports: [{port: 8080}]}
`, forge, p.registry, gitUser, gitPassword))
	p.kubectl(ctx, "-n", forge, "rollout", "status", "deployment/git", "--timeout=2m")
}

// waitsFor waits until the task waits for a person, and returns what the person sees.
func (p *press) waitsFor(ctx context.Context, kind v1beta1.WaitingKind) v1beta1.Waiting {
	GinkgoHelper()
	Eventually(p.task("print")).WithContext(ctx).Should(HaveField("Status.Waiting", HaveField("Kind", kind)))
	task, err := p.task("print")(ctx)
	Expect(err).NotTo(HaveOccurred())
	return *task.Status.Waiting
}

func (p *press) inForge(ctx context.Context, command string) string {
	GinkgoHelper()
	return strings.TrimSpace(p.kubectl(ctx, "-n", forge, "exec", "deployment/git", "--", "bash", "-ec", "cd /repositories/app.git && "+command))
}

func (p *press) git(ctx context.Context, args string) string {
	GinkgoHelper()
	return p.inForge(ctx, "git "+strings.ReplaceAll(strings.ReplaceAll(args, "(", `\(`), ")", `\)`))
}

func (p *press) pods(ctx context.Context) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := p.api.List(ctx, &list, client.InNamespace("press"))
	return list.Items, err
}

func (p *press) nestor(ctx context.Context, user string, args ...string) (string, error) {
	return p.run(ctx, "", p.plugin, append(args, "--namespace", "press", "--as", user, "--as-group", "system:authenticated")...)
}

// expectReads reads the changes through the API server: a user of the namespace may, and others may not.
func (p *press) expectReads(ctx context.Context) {
	GinkgoHelper()
	Expect(p.nestor(ctx, "gina", "workspace", "diff", "print")).To(ContainSubstring("+two"))
	Expect(p.nestor(ctx, "gina", "workspace", "cat", "print", "new")).To(Equal("three\n"))
	file := filepath.Join(GinkgoT().TempDir(), "patch")
	_, err := p.nestor(ctx, "gina", "workspace", "export", "print", "-f", file)
	Expect(err).NotTo(HaveOccurred())
	sum, err := p.run(ctx, "", "sha256sum", file)
	Expect(err).NotTo(HaveOccurred())
	Expect(sum).To(HavePrefix(p.digest), "the export has the digest of the approval")
	for _, args := range [][]string{{"diff", "print"}, {"cat", "print", "new"}} {
		_, err := p.nestor(ctx, "stranger", append([]string{"workspace"}, args...)...)
		Expect(err).To(MatchError(ContainSubstring("forbidden")), "%v", args)
	}
	for _, path := range []string{"task.print", "task.print/archive", "task.print/file?path=new"} {
		_, err := p.tryKubectl(ctx, "get", "--raw", "/apis/history.nestor.dev/v1beta1/namespaces/press/workspacechanges/"+path, "--as", "stranger")
		Expect(err).To(MatchError(ContainSubstring("forbidden")), path)
	}
}

// expectNoCredentials looks for the password where agents' commands run.
func (p *press) expectNoCredentials(ctx context.Context) {
	GinkgoHelper()
	Expect(p.inWorkspace(ctx, "press", "id -u; ls -ld /workspace; cat f")).To(And(HavePrefix("65532\n"), HaveSuffix("one\ntwo\n")))
	Expect(p.inWorkspace(ctx, "press", "test ! -e /var/run/nestor/git || echo there")).To(BeEmpty(), "the directory of the credentials")
	Expect(p.inWorkspace(ctx, "press", "grep -rlsF "+gitPassword+" /workspace /tmp /var/run/nestor /var/lib/nestor /home /etc || true")).To(BeEmpty())
	pods, err := p.pods(ctx)
	Expect(err).NotTo(HaveOccurred())
	for _, mount := range pods[0].Spec.Containers[0].VolumeMounts {
		Expect(mount.Name).NotTo(Equal("git-credentials"))
	}
	expectRestricted(pods)
}

// watchPublishers collects the publishers' pods, and returns a function that returns them.
func (p *press) watchPublishers(ctx context.Context) func() []corev1.Pod {
	GinkgoHelper()
	watching, stop := context.WithTimeout(ctx, 5*time.Minute) // it ends before, with the spec
	watcher, err := p.api.Watch(watching, &corev1.PodList{}, client.InNamespace("press"))
	Expect(err).NotTo(HaveOccurred())
	seen := make(chan []corev1.Pod, 1)
	go func() {
		var pods []corev1.Pod
		for event := range watcher.ResultChan() {
			if pod, ok := event.Object.(*corev1.Pod); ok && strings.HasPrefix(pod.Name, "wp-") && pod.Status.Phase == corev1.PodRunning {
				pods = append(pods, *pod)
			}
		}
		seen <- pods
	}()
	return func() []corev1.Pod { stop(); return <-seen }
}

// expectRestricted checks that pods ran as the restricted Pod Security Standard requires; the namespace enforces it too.
func expectRestricted(pods []corev1.Pod) {
	GinkgoHelper()
	Expect(pods).NotTo(BeEmpty())
	for _, pod := range pods {
		Expect(*pod.Spec.SecurityContext.RunAsNonRoot).To(BeTrue())
		Expect(*pod.Spec.AutomountServiceAccountToken).To(BeFalse())
		for _, container := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
			Expect(*container.SecurityContext.ReadOnlyRootFilesystem).To(BeTrue())
			Expect(*container.SecurityContext.AllowPrivilegeEscalation).To(BeFalse())
			Expect(container.SecurityContext.Capabilities.Drop).To(ContainElement(corev1.Capability("ALL")))
		}
	}
}
