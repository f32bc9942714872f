// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	historyapi "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/history"
	"github.com/nestor-dev/nestor/internal/history/historytest"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/tool/workspace/changes"
	"github.com/nestor-dev/nestor/internal/tool/workspace/files"
	"github.com/nestor-dev/nestor/internal/tool/workspace/fsroot"
)

// trees are the workspaces of chats by name; nil is one that does not run.
type trees map[string]*changes.Tree

func (t trees) FindWorkspace(_ context.Context, kind, namespace, name string) (changes.Workspace, error) {
	found, ok := t[name]
	if !ok || kind != "AgentChat" || namespace != "team-a" {
		return nil, fmt.Errorf("%w: the %s does not exist", changes.ErrNoWorkspace, kind)
	}
	return running{found}, nil
}

type running struct{ tree *changes.Tree }

func (r running) Owner() string  { return "uid-1" }
func (r running) Source() string { return changes.SourceEmptyDir }
func (r running) Changes(ctx context.Context) (*changes.Summary, error) {
	if r.tree == nil {
		return nil, nil
	}
	if r.tree.State == "" {
		return nil, errors.New("no route to host")
	}
	summary, err := r.tree.Read(ctx)
	return &summary, err
}

func (r running) Archive(ctx context.Context) ([]byte, bool, error) {
	if r.tree == nil {
		return nil, false, nil
	}
	archive, err := r.tree.Archive(ctx)
	return archive, true, err
}

// ResolvePath knows one agent, which works in the directory sub.
func (r running) ResolvePath(_ context.Context, agent changes.AgentRef, cwd, path string) (string, error) {
	switch agent {
	case changes.AgentRef{}:
		return files.Resolve(cwd, path)
	case changes.AgentRef{Kind: "SubAgent", Name: "helper"}:
		return files.Resolve("sub/"+cwd, path)
	}
	return "", files.Refuse("the agent does not work in this workspace")
}

func (r running) File(_ context.Context, path string) (*files.File, error) {
	if r.tree == nil {
		return nil, nil
	}
	if r.tree.State == "" {
		return nil, errors.New("no route to host")
	}
	if path == "starting" {
		return nil, fmt.Errorf("%w: the workspace is starting", files.ErrUnavailable)
	}
	root, err := fsroot.Open(r.tree.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := files.Read(root, "", path)
	return &file, err
}

var _ = Describe("The changes of a workspace", func() {
	It("are read while it runs, by those who may", func() {
		dir := GinkgoT().TempDir()
		Expect(os.WriteFile(filepath.Join(dir, "notes.md"), []byte("one\ntwo\n"), 0o600)).To(Succeed())
		l := newLedger()
		w := serve(l, func(o *history.Options) {
			o.Workspaces = trees{
				"files": {Root: dir, State: GinkgoT().TempDir(), Against: changes.Nothing}, "stopped": nil, "lost": {},
				"plain": {Root: GinkgoT().TempDir(), State: GinkgoT().TempDir(), Against: changes.Head},
			}
		})
		DeferCleanup(func() { w.stop() })
		namespace("team-a")
		get := func(name string, more ...string) (string, error) {
			return kubectl(append([]string{"get", "-n", "team-a", "workspacechanges", name}, more...)...)
		}
		Expect(columns(must(get("chat.files")))[0][:6]).To(Equal([]string{"chat.files", "EmptyDir", "1", "+2", "-0", "true"}))
		read := func(name string) (found historyapi.WorkspaceChanges) {
			GinkgoHelper()
			Expect(json.Unmarshal([]byte(must(get(name, "-o", "json"))), &found)).To(Succeed())
			return found
		}
		found := read("chat.files")
		Expect(found.Live).To(BeTrue())
		Expect(found.CaptureTime).NotTo(BeNil())
		Expect(found.Files).To(HaveExactElements(HaveField("Path", "notes.md")))
		Expect(found.Files[0].Change).To(Equal(historyapi.FileAdded))
		Expect(found.Diff).To(ContainSubstring("+two"))
		Expect(must(fetch(raw("team-a", "workspacechanges/chat.files/archive")))).To(ContainSubstring("one\ntwo\n"))

		By("one that does not run, or has no repository")
		Expect(read("chat.stopped")).To(And(HaveField("Live", false), HaveField("Message", "The workspace is not running, and nothing was kept.")))
		Expect(errorText(fetch(raw("team-a", "workspacechanges/chat.stopped/archive")))).To(ContainSubstring("not running"))
		Expect(read("chat.plain").Message).To(ContainSubstring("not a git repository"))
		Expect(errorText(fetch(raw("team-a", "workspacechanges/chat.plain/archive")))).To(ContainSubstring("not a git repository"))
		Expect(errorText(get("chat.lost"))).To(ContainSubstring("no route to host"))

		By("what was kept of one that does not run")
		summary := `{"baseCommit":"abc","files":[{"path":"a","change":"Modified"}],"diff":"-x\n+y\n"}`
		Expect(l.KeepWorkspace(ctx, ledger.Workspace{Owner: "uid-1", Source: "EmptyDir", CapturedAt: time.Now(), Summary: json.RawMessage(summary), Archive: []byte("tar")})).To(Succeed())
		Expect(read("chat.stopped")).To(And(HaveField("Live", false), HaveField("BaseCommit", "abc"), HaveField("Diff", "-x\n+y\n"), HaveField("CaptureTime", Not(BeNil()))))
		Expect(must(fetch(raw("team-a", "workspacechanges/chat.stopped/archive")))).To(Equal("tar"))
		Expect(l.KeepWorkspace(ctx, ledger.Workspace{Owner: "uid-1", Source: "EmptyDir", CapturedAt: time.Now(), Summary: json.RawMessage(`{"tooLarge":true,"message":"They are too large."}`)})).To(Succeed())
		Expect(read("chat.stopped").TooLarge).To(BeTrue())
		Expect(errorText(fetch(raw("team-a", "workspacechanges/chat.stopped/archive")))).To(ContainSubstring("They are too large."))

		By("what was kept of a deleted chat, and only in its namespace")
		pen := historytest.Chat("team-a", "deleted", "uid-deleted")
		write(pen.Write(ctx, l, pen.Orchestrator()))
		Expect(l.KeepWorkspace(ctx, ledger.Workspace{Owner: "uid-deleted", Source: "Git", CapturedAt: time.Now(), Summary: json.RawMessage(summary), Archive: []byte("patch")})).To(Succeed())
		Expect(read("chat.deleted").Files).To(HaveLen(1))
		Expect(must(fetch(raw("team-a", "workspacechanges/chat.deleted.uid-deleted/archive")))).To(Equal("patch"))
		namespace("team-b")
		Expect(errorText(kubectl("get", "-n", "team-b", "workspacechanges", "chat.deleted"))).To(ContainSubstring("not found"))

		By("names without a workspace")
		for name, hint := range map[string]string{"chat.none": "does not exist", "task.files": "does not exist", "subagent.files": "named chat.NAME", "files": "named chat.NAME", "chat.files.uid": "nothing was kept"} {
			Expect(errorText(get(name))).To(And(ContainSubstring("not found"), ContainSubstring(hint)), name)
		}
		By("not without the right")
		Expect(errorText(get("chat.files", "--as", "stranger"))).To(ContainSubstring("orbidden"))
		Expect(errorText(kubectl("get", "--raw", raw("team-a", "workspacechanges/chat.files/archive"), "--as", "stranger"))).To(ContainSubstring("orbidden"))
	})
})
