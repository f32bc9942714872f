// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"net/url"
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
)

var _ = Describe("A file of a workspace", func() {
	It("is read as it is now, by those who may", func() {
		dir := GinkgoT().TempDir()
		Expect(os.Mkdir(filepath.Join(dir, "sub"), 0o700)).To(Succeed())
		for name, content := range map[string]string{"notes.md": "one\ntwo\n", "sub/notes.md": "below\n", "pic.bin": "\x00\x01", "latin.txt": "caf\xe9\n"} {
			Expect(os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600)).To(Succeed())
		}
		Expect(os.Symlink("/etc/passwd", filepath.Join(dir, "link"))).To(Succeed())
		l := newLedger()
		w := serve(l, func(o *history.Options) {
			o.Workspaces = trees{"files": {Root: dir, State: GinkgoT().TempDir(), Against: changes.Nothing}, "stopped": nil, "lost": {}}
		})
		DeferCleanup(func() { w.stop() })
		namespace("team-a")
		get := func(name string, query ...string) (string, error) {
			values := url.Values{}
			for i := 0; i+1 < len(query); i += 2 {
				values.Set(query[i], query[i+1])
			}
			return fetch(raw("team-a", "workspacechanges/"+name+"/file") + "?" + values.Encode())
		}
		read := func(name string, query ...string) (found historyapi.WorkspaceFile) {
			GinkgoHelper()
			Expect(json.Unmarshal([]byte(must(get(name, query...))), &found)).To(Succeed())
			return found
		}
		found := read("chat.files", "path", "notes.md")
		Expect(found).To(And(HaveField("State", historyapi.FileText), HaveField("Content", "one\ntwo\n"), HaveField("Live", true), HaveField("Path", "notes.md")))
		Expect(found.ReadTime.Time).To(BeTemporally("~", time.Now(), time.Minute))
		Expect(read("chat.files", "path", "new/file.md").State).To(Equal(historyapi.FileMissing))
		Expect(read("chat.files", "path", "pic.bin").State).To(Equal(historyapi.FileBinary))
		Expect(read("chat.files", "path", "latin.txt").State).To(Equal(historyapi.FileBinary))

		By("as the call of an agent resolves it")
		Expect(read("chat.files", "path", "notes.md", "agent", "subagent.helper")).To(And(HaveField("Path", "sub/notes.md"), HaveField("Content", "below\n")))
		Expect(read("chat.files", "path", "notes.md", "workingDir", "sub").Content).To(Equal("below\n"))
		for _, agent := range []string{"subagent.other", "helper", "subagent.helper.some-uid"} {
			Expect(errorText(get("chat.files", "path", "notes.md", "agent", agent))).NotTo(BeEmpty(), agent)
		}

		By("nothing else")
		for path, why := range map[string]string{"../x": "contains", "/etc/passwd": "absolute", "link": "symbolic link", "sub": "not a regular file", ".git/config": "belongs to git", "": "the workspace itself", "notes.md/x": "not a directory"} {
			Expect(errorText(get("chat.files", "path", path))).To(ContainSubstring(why), path)
		}
		Expect(errorText(get("chat.files", "file", "notes.md"))).To(ContainSubstring("unknown parameter"))

		By("one whose files cannot be read now")
		Expect(read("chat.files", "path", "starting")).To(And(HaveField("State", historyapi.FileUnavailable), HaveField("Message", ContainSubstring("starting"))))
		Expect(errorText(get("chat.lost", "path", "notes.md"))).To(ContainSubstring("no route to host"))

		By("one that does not run starts empty, or with what was kept")
		Expect(read("chat.stopped", "path", "notes.md")).To(And(HaveField("State", historyapi.FileMissing), HaveField("Live", false), HaveField("ReadTime", BeNil())))
		var archive bytes.Buffer
		out := tar.NewWriter(&archive)
		Expect(out.WriteHeader(&tar.Header{Name: "notes.md", Typeflag: tar.TypeReg, Mode: 0o600, Size: 5})).To(Succeed())
		Expect(out.Write([]byte("kept\n"))).To(Equal(5))
		Expect(out.Close()).To(Succeed())
		kept := ledger.Workspace{Owner: "uid-1", Source: "EmptyDir", CapturedAt: time.Now().Add(-time.Hour), Summary: json.RawMessage(`{}`), Archive: archive.Bytes()}
		Expect(l.KeepWorkspace(ctx, kept)).To(Succeed())
		found = read("chat.stopped", "path", "notes.md")
		Expect(found).To(And(HaveField("State", historyapi.FileText), HaveField("Content", "kept\n"), HaveField("Live", false)))
		Expect(found.ReadTime.Time).To(BeTemporally("~", time.Now().Add(-time.Hour), time.Minute))
		kept.Archive, kept.Summary = nil, json.RawMessage(`{"tooLarge":true,"message":"They are too large."}`)
		Expect(l.KeepWorkspace(ctx, kept)).To(Succeed())
		Expect(read("chat.stopped", "path", "notes.md")).To(And(HaveField("State", historyapi.FileUnavailable), HaveField("Message", ContainSubstring("They are too large."))))

		By("a deleted one whose patch was kept")
		pen := historytest.Chat("team-a", "deleted", "uid-deleted")
		write(pen.Write(ctx, l, pen.Orchestrator()))
		Expect(l.KeepWorkspace(ctx, ledger.Workspace{Owner: "uid-deleted", Source: "Git", CapturedAt: time.Now(), Summary: json.RawMessage(`{}`), Archive: []byte("patch")})).To(Succeed())
		Expect(read("chat.deleted", "path", "notes.md")).To(And(HaveField("State", historyapi.FileUnavailable), HaveField("Message", "the workspace is not running")))
		Expect(errorText(get("chat.deleted", "path", "notes.md", "agent", "subagent.helper"))).To(ContainSubstring("does not work in this workspace"))

		By("not without the right")
		Expect(errorText(kubectl("get", "--raw", raw("team-a", "workspacechanges/chat.files/file")+"?path=notes.md", "--as", "stranger"))).To(ContainSubstring("orbidden"))
	})
})
