// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspaces

import (
	"os"
	"path/filepath"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/programs"
)

// forked forks a run whose repository has another commit since. A fork from the beginning has the files of the commit with which the run
// began, and one after the end also what the run changed.
func forked(p *project) {
	p.createRole("fixer", "publish_*", "review_*")
	p.task("fixer", "Add two to f")
	p.Expect(p.result()).To(Equal("There is no such tool."))
	programs.Script(p.t, p.t.TempDir(), "git clone -q "+p.upstream+" w && cd w && echo three > f && git commit -qam second && git push -q origin main")

	var run v1beta1.SubAgent
	p.Expect(p.Get("fix", &run)).To(Succeed())
	fork := func(name, instruction string, at *int64) {
		task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Name: name}}
		task.Spec = v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent, Instruction: instruction, Workspace: p.workspace(),
			Fork: &v1beta1.TaskFork{UID: string(run.UID), Task: "fix", Sequence: at, ToolResults: v1beta1.ResultsLive}}
		task.Spec.Workspace.Git.Push = nil
		p.Create(task)
	}
	fork("anew", "Add four to f", new(int64))
	fork("after", "Add five to f", nil)
	for name, want := range map[string]string{"anew": "one\nfour\n", "after": "one\ntwo\nfive\n"} {
		p.WaitForPhase(name, v1beta1.TaskSuccess)
		p.Expect(p.fileOf(name, "f")).To(Equal(want), name)
	}
	p.Expect(p.fileOf("fix", "f")).To(Equal("one\ntwo\n"), "the workspace of the run is its own")
}

// fileOf returns a file of the workspace of a task, whose pod runs.
func (p *project) fileOf(task, file string) string {
	p.t.Helper()
	var list corev1.PodList
	p.Expect(p.API.List(p.t.Context(), &list, client.InNamespace(p.Namespace))).To(Succeed())
	for _, pod := range list.Items {
		if owner := metav1.GetControllerOf(&pod); owner != nil && owner.Name == task {
			content, err := os.ReadFile(filepath.Join(p.node.Files(client.ObjectKeyFromObject(&pod)), file))
			p.Expect(err).NotTo(HaveOccurred())
			return string(content)
		}
	}
	p.t.Errorf("the task %s has no pod", task)
	return ""
}
