// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/controller/workspace"
	"github.com/nestor-dev/nestor/internal/tool/workspace/changes"
)

// changesOf returns the workspace of a chat as the history API sees it.
func (r chatWorkspace) changesOf(w *workspace.Workspaces) changes.Workspace {
	GinkgoHelper()
	var found changes.Workspace
	Eventually(func() (err error) {
		found, err = w.FindWorkspace(ctx, "AgentChat", r.chat.Namespace, r.chat.Name)
		return err
	}).Should(Succeed())
	return found
}

// startLocal returns the workspaces of an operator that may use a directory of this machine, and their scratch directory.
func startLocal(root string) (*workspace.Workspaces, string) {
	GinkgoHelper()
	options := restarted
	options.LocalRoots, options.Scratch = []string{root}, GinkgoT().TempDir()
	w, err := workspace.New(options)
	Expect(err).NotTo(HaveOccurred())
	return w, options.Scratch
}

var _ = Describe("The changes of a workspace", func() {
	It("are read from its pod, which is not started for it", func() {
		r := newChatWorkspace(empty)
		found := r.changesOf(workspaces)
		Expect(found.Owner()).To(BeEquivalentTo(r.chat.UID))
		Expect(found.Source()).To(Equal(changes.SourceEmptyDir))
		Expect(found.Changes(ctx)).To(BeNil())
		Expect(r.podUIDs()).To(BeEmpty())

		done := r.call(workspaces, "write", `{"path":"notes.txt","content":"buy milk\n"}`)
		r.start(r.pod(""))
		Expect(finished(done).Failure).To(BeEmpty())
		summary, err := found.Changes(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(summary.Files).To(HaveExactElements(And(HaveField("Path", "notes.txt"), HaveField("Change", changes.Added))))
		archive, running, err := found.Archive(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(running).To(BeTrue())
		Expect(string(archive)).To(ContainSubstring("buy milk"))

		By("a chat without a workspace, and none")
		for name, hint := range map[string]string{"plain": "no spec.workspace", "none": "does not exist"} {
			if name == "plain" {
				chat := &v1beta1.AgentChat{}
				chat.Namespace, chat.Name = r.chat.Namespace, name
				Expect(api.Create(ctx, chat)).To(Succeed())
			}
			Eventually(func() error {
				_, err := workspaces.FindWorkspace(ctx, "AgentChat", r.chat.Namespace, name)
				return err
			}).Should(And(MatchError(changes.ErrNoWorkspace), MatchError(ContainSubstring(hint))))
		}
	})

	It("are not read from a server that redirects", func() {
		r := newChatWorkspace(empty)
		done := r.call(workspaces, "ls", `{}`)
		r.start(r.pod(""))
		Expect(finished(done).Failure).To(BeEmpty())
		asked := make(chan string, 8)
		network.answer(r.name(), func(rw http.ResponseWriter, request *http.Request) {
			asked <- request.URL.Path
			http.Redirect(rw, request, "/elsewhere", http.StatusFound)
		})
		_, err := r.changesOf(workspaces).Changes(ctx)
		Expect(err).To(MatchError(ContainSubstring("answered 302")))
		Expect(asked).To(HaveLen(1))
	})

	It("are read from a local directory that is a repository", func() {
		root := GinkgoT().TempDir()
		w, scratch := startLocal(root)
		git := exec.CommandContext(ctx, "sh", "-ec", "git init -q . && echo a > f && git add f && git -c user.name=a -c user.email=a@example.com commit -qm a && echo b > f")
		git.Dir = root
		Expect(git.Run()).To(Succeed())
		r := newChatWorkspace(v1beta1.Workspace{Directory: &v1beta1.DirectorySource{Path: root}})
		summary, err := r.changesOf(w).Changes(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(summary.Files).To(HaveExactElements(And(HaveField("Path", "f"), HaveField("Change", changes.Modified))))
		Expect(summary.Diff).To(ContainSubstring("-a\n+b\n"))
		state, err := filepath.Glob(filepath.Join(scratch, "nestor-changes-*"))
		Expect(err).NotTo(HaveOccurred())
		Expect(state).To(HaveLen(1))
		Expect(w.Close(context.Background())).To(Succeed())
		_, err = os.Stat(state[0])
		Expect(err).To(MatchError(os.ErrNotExist))
	})
})
