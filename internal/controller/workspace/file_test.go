// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/tool/workspace/changes"
	"github.com/nestor-dev/nestor/internal/tool/workspace/files"
)

// subAgent creates an agent of a chat that works in a directory.
func (r chatWorkspace) subAgent(name, chat, cwd string) changes.AgentRef {
	GinkgoHelper()
	agent := &v1beta1.SubAgent{}
	agent.Namespace, agent.Name = r.chat.Namespace, name
	agent.Spec = v1beta1.SubAgentSpec{Chat: chat, Task: name, Role: "coder", Instruction: "Work.", WorkingDir: cwd, Depth: 1}
	Expect(api.Create(ctx, agent)).To(Succeed())
	return changes.AgentRef{Kind: "SubAgent", Name: name}
}

var _ = Describe("A file of a workspace", func() {
	It("is read from the pod, which is not started for it, where the call of an agent would write it", func() {
		r := newChatWorkspace(empty)
		found := r.changesOf(workspaces)
		Expect(found.File(ctx, "src/notes.txt")).To(BeNil())
		Expect(r.podUIDs()).To(BeEmpty())

		agent := r.subAgent("helper", r.chat.Name, "src")
		var path string
		Eventually(func() (err error) {
			path, err = found.ResolvePath(ctx, agent, "", "notes.txt")
			return err
		}).Should(Succeed())
		Expect(path).To(Equal("src/notes.txt"))

		done := r.call(workspaces, "write", `{"path":"notes.txt","cwd":"src","content":"buy milk\n"}`)
		p := r.pod("")
		_, err := found.File(ctx, path)
		Expect(err).To(MatchError(files.ErrUnavailable))
		r.start(p)
		Expect(finished(done).Failure).To(BeEmpty())
		Expect(found.File(ctx, path)).To(HaveValue(Equal(files.File{Path: path, State: files.Text, Content: "buy milk\n"})))
		Expect(found.File(ctx, "other.txt")).To(HaveValue(HaveField("State", files.Missing)))
		_, err = found.File(ctx, "src")
		Expect(err).To(And(MatchError(files.ErrRefused), MatchError(ContainSubstring("not a regular file"))))

		By("the cwd of the call")
		Expect(found.ResolvePath(ctx, agent, "deep", "a.txt")).To(Equal("src/deep/a.txt"))
		Expect(found.ResolvePath(ctx, changes.AgentRef{Kind: "AgentChat", Name: r.chat.Name}, "deep", "a.txt")).To(Equal("deep/a.txt"))
		for _, bad := range [][2]string{{"/etc", "passwd"}, {"..", "a.txt"}, {"", "../a.txt"}, {"", "/a.txt"}} {
			_, err := found.ResolvePath(ctx, agent, bad[0], bad[1])
			Expect(err).To(MatchError(files.ErrRefused), bad[0]+" "+bad[1])
		}

		By("no agent of another workspace")
		other := &v1beta1.AgentChat{}
		other.Namespace, other.Name = r.chat.Namespace, "other"
		Expect(api.Create(ctx, other)).To(Succeed())
		stranger := r.subAgent("stranger", "other", "src")
		Eventually(func() error {
			_, err := found.ResolvePath(ctx, stranger, "", "notes.txt")
			return err
		}).Should(And(MatchError(files.ErrRefused), MatchError(ContainSubstring("does not work in this workspace"))))
		_, err = found.ResolvePath(ctx, changes.AgentRef{Kind: "SubAgent", Name: "none"}, "", "notes.txt")
		Expect(err).To(MatchError(files.ErrRefused))

		By("a pod that does not keep to the limit")
		network.answer(r.name(), func(rw http.ResponseWriter, _ *http.Request) {
			_, _ = rw.Write([]byte(`{"path":"/etc/passwd","state":"Text","content":"` + strings.Repeat("x", files.MaxText+1) + `"}`))
		})
		Expect(found.File(ctx, path)).To(HaveValue(Equal(files.File{Path: path, State: files.TooLarge})))
	})

	It("is read from a local directory", func() {
		root := GinkgoT().TempDir()
		w, _ := startLocal(root)
		DeferCleanup(func() { Expect(w.Close(context.Background())).To(Succeed()) })
		Expect(os.WriteFile(filepath.Join(root, "f"), []byte("a\n"), 0o600)).To(Succeed())
		Expect(os.Symlink("/etc/passwd", filepath.Join(root, "link"))).To(Succeed())
		found := newChatWorkspace(v1beta1.Workspace{Directory: &v1beta1.DirectorySource{Path: root}}).changesOf(w)
		Expect(found.File(ctx, "f")).To(HaveValue(HaveField("Content", "a\n")))
		_, err := found.File(ctx, "link")
		Expect(err).To(MatchError(files.ErrRefused))
	})
})
