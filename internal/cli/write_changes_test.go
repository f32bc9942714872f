// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli"
	"github.com/nestor-dev/nestor/internal/controller/workspace"
	"github.com/nestor-dev/nestor/internal/history"
	"github.com/nestor-dev/nestor/internal/tool/workspace/changes"
	"github.com/nestor-dev/nestor/internal/view"
	"github.com/nestor-dev/nestor/test/patience"
)

// slowWorkspaces never answers for the task slow.
type slowWorkspaces struct{ *workspace.Workspaces }

func (s slowWorkspaces) FindWorkspace(ctx context.Context, namespace, kind, name string) (changes.Workspace, error) {
	if name == "slow" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Workspaces.FindWorkspace(ctx, namespace, kind, name)
}

// writes is a namespace whose agents work in one directory.
type writes struct {
	t         *testing.T
	namespace string
	environ   []string
	directory string
}

func newWrites(t *testing.T) *writes {
	t.Helper()
	found, err := workspace.New(workspace.Options{Client: world.api, Live: world.api, LocalRoots: []string{world.directories}, Scratch: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	serveHistory(t, func(o *history.Options) { o.Workspaces = slowWorkspaces{found} })
	home := t.TempDir()
	namespace, kubeconfig, err := newNamespace(home, world.modelURL)
	if err != nil {
		t.Fatal(err)
	}
	w := &writes{t: t, namespace: namespace, environ: []string{"KUBECONFIG=" + kubeconfig, "HOME=" + home}, directory: filepath.Join(world.directories, namespace)}
	if err := os.Mkdir(w.directory, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"notes.md": "one\ntwo\x1b[31m\n", "same.txt": "the same\n", "data.bin": "\x00\x01"} {
		if err := os.WriteFile(filepath.Join(w.directory, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *writes) spec() *v1beta1.Workspace {
	return &v1beta1.Workspace{Directory: &v1beta1.DirectorySource{Path: w.directory}}
}

// start creates a standalone task that writes a file, and waits until its call waits for approval.
func (w *writes) start(name, file string) {
	w.t.Helper()
	task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	task.Spec.Type, task.Spec.Role, task.Spec.Instruction, task.Spec.Workspace = v1beta1.TaskAgent, "general", "Write the file "+file+".", w.spec()
	if err := world.api.Create(w.t.Context(), task); err != nil {
		w.t.Fatal(err)
	}
	var err error
	if !patience.Until(func() bool {
		err = world.api.Get(w.t.Context(), client.ObjectKeyFromObject(task), task)
		return err != nil || task.Status.Waiting != nil
	}) || err != nil {
		w.t.Fatalf("%v: %+v", err, task.Status)
	}
}

func (w *writes) run(environ []string, input string, args ...string) programResult {
	w.t.Helper()
	out := runProgram(w.t.TempDir(), append(environ, w.environ...), input, args...)
	if out.code != 0 {
		w.t.Errorf("%v: exit code %d\n%s%s", args, out.code, out.stdout, out.stderr)
	}
	if strings.ContainsAny(out.stdout+out.stderr, "\x1b\a\u202e") {
		w.t.Errorf("%v printed what a terminal interprets: %q %q", args, out.stdout, out.stderr)
	}
	return out
}

func (w *writes) content(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.directory, name))
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	return string(data)
}

const notesDiff = `Changes of notes.md, compared with the current file
@@ -1,2 +1,3 @@
 one
-two␛[31m
+␛]0;owned␇␛[2Jt\u202ewo
+-- a/other
`

func TestDecisionsShowWriteDiff(t *testing.T) {
	w := newWrites(t)
	soon := []string{patient + "=1"}
	w.start("notes", "notes")
	shown := w.run(soon, "", "approve", "notes", "--show", "--timeout=5m")
	call, diff, _ := strings.Cut(shown.stdout, "\n")
	if !strings.HasPrefix(call, `write {"`) || !strings.Contains(call, `-- a/other\n`) || diff != notesDiff {
		t.Errorf("showed %q", shown.stdout)
	}
	if !strings.Contains(shown.stderr, "nothing was decided; to approve it: kubectl nestor approve notes --call ") || w.content("notes.md") != "one\ntwo\x1b[31m\n" {
		t.Errorf("decided: %q", shown.stderr)
	}
	approved := w.run(soon, "", "approve", "notes", "--timeout=2m")
	if approved.stderr != call+"\n"+notesDiff || approved.stdout != "agenttask.nestor.dev/notes approved\n" {
		t.Errorf("approved with %q, %q", approved.stderr, approved.stdout)
	}
	for file, want := range map[string]string{
		"new":    "New file new.txt\n@@ -0,0 +1,2 @@\n+first\n+second\n",
		"same":   "same.txt already has exactly this content: the call changes nothing\n",
		"binary": "Replaces data.bin: the file is not text\n",
	} {
		w.start(file, file)
		denied := w.run(soon, "", "deny", file, "--timeout=2m")
		if _, diff, _ := strings.Cut(denied.stderr, "\n"); diff != want {
			t.Errorf("%s: %q, want %q", file, denied.stderr, want)
		}
	}
}

func TestLongChangesAreBounded(t *testing.T) {
	w := newWrites(t)
	soon := []string{patient + "=1"}
	w.start("long", "long")
	shown := w.run(soon, "", "approve", "long", "--show", "--timeout=5m").stdout
	if lines := strings.Count(shown, "\n"); lines != 103 || !strings.HasSuffix(shown, "\n+line 100\n") {
		t.Errorf("showed %d lines: %s", lines, shown)
	}
	denied := w.run(soon, "", "deny", "long", "--timeout=2m").stderr
	if lines := strings.Count(denied, "\n"); lines != 62 || !strings.HasSuffix(denied, "\n+line 58\n… 42 more lines: kubectl nestor approve long --show\n") {
		t.Errorf("printed %d lines: %s", lines, denied)
	}
}

func TestNoDecisionWaitsForFile(t *testing.T) {
	w := newWrites(t)
	w.start("slow", "new")
	out := w.run(nil, "", "approve", "slow", "--timeout=2m")
	if strings.Count(out.stderr, "\n") != 1 || !strings.HasPrefix(out.stderr, `write {"`) {
		t.Errorf("printed %q", out.stderr)
	}
	if out.stdout != "agenttask.nestor.dev/slow approved\n" {
		t.Errorf("printed %q", out.stdout)
	}
}

func TestLineModeShowsWriteDiff(t *testing.T) {
	w := newWrites(t)
	chat := &v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "first"}}
	chat.Spec.Workspace = w.spec()
	if err := world.api.Create(t.Context(), chat); err != nil {
		t.Fatal(err)
	}
	out := w.run([]string{patient + "=1"}, "Write it yourself.\n/approve\n", "chat", "first").stdout
	const diff = "\nChanges of notes.md, compared with the current file\n@@ -1,2 +1,2 @@\n one\n-two␛[31m\n+three\n"
	before, after, found := strings.Cut(out, diff)
	if !found || strings.Contains(after, "Changes of") {
		t.Fatalf("not once: %s", out)
	}
	if !strings.Contains(before, "asks for approval of `write`") || !strings.Contains(after, "approved a call") || !strings.Contains(after, "I wrote it.") {
		t.Errorf("not between the request and the decision: %s", out)
	}
	if got := w.content("notes.md"); got != "one\nthree\n" {
		t.Errorf("the file is %q", got)
	}
}

func TestPatchesAreShownAsDiffs(t *testing.T) {
	w := newWrites(t)
	soon := []string{patient + "=1"}
	for file, want := range map[string]string{
		"patched":   "Changes of notes.md, compared with the current file\n@@ -1,2 +1,2 @@\n-one\n+1\n two␛[31m\n",
		"unpatched": "This would fail now: notes.md: edit 1 of 1: old_string does not occur in the file",
		"absent":    "This would fail now: there is no file absent.md\n",
	} {
		w.start(file, file)
		denied := w.run(soon, "", "deny", file, "--timeout=2m")
		if _, diff, _ := strings.Cut(denied.stderr, "\n"); !strings.HasPrefix(diff, want) {
			t.Errorf("%s: %q, want %q", file, denied.stderr, want)
		}
	}
}

func TestScriptedModelKeepsToDenial(t *testing.T) {
	w := newWrites(t)
	chat := &v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "first"}}
	chat.Spec.Workspace = w.spec()
	if err := world.api.Create(t.Context(), chat); err != nil {
		t.Fatal(err)
	}
	out := runProgram(t.TempDir(), append([]string{patient + "=1"}, w.environ...), "Add authentication to the API.\n/deny not today\n", "chat", "first").stdout
	if !strings.Contains(out, "Authentication is not implemented") || strings.Contains(out, "five tests pass") || w.content("jwt_middleware.go") != "" {
		t.Errorf("printed %s", out)
	}
}

func TestFullScreenShowsWriteDiff(t *testing.T) {
	w := newWrites(t)
	chat := &v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "first"}}
	chat.Spec.Workspace = w.spec()
	if err := world.api.Create(t.Context(), chat); err != nil {
		t.Fatal(err)
	}
	s := startScreen(t, command(t.TempDir(), w.environ, "chat", "first"), 80, 24)
	s.await("Nothing has been said yet.")
	s.typeKeys("Write it yourself." + enter)
	s.await("ctrl+r diff")
	s.typeKeys(ctrlR)
	s.await("-two␛[31m\n+three")
	s.typeKeys("\x1b")
	s.await("ctrl+r diff")
	s.typeKeys(ctrlR)
	s.await("Changes of notes.md, compared with the current file")
	s.typeKeys(ctrlY)
	s.await("I wrote it.")
	if got := w.content("notes.md"); got != "one\nthree\n" {
		t.Errorf("the file is %q", got)
	}
}

func TestOnlyUnambiguousCallsAreCompared(t *testing.T) {
	path, cwd, after, ok := cli.ReadsFileCall(view.Ask{Tool: "write", Arguments: `{"path":"a","content":"","cwd":"docs"}`}, "before")
	if path != "a" || after != "" || cwd != "docs" || !ok {
		t.Errorf("%q %q %q %v", path, cwd, after, ok)
	}
	path, cwd, after, ok = cli.ReadsFileCall(view.Ask{Tool: "patch", Arguments: `{"path":"a","edits":[{"old_string":"e","new_string":"E","replace_all":true},{"old_string":"E","new_string":"","occurrence":2}]}`}, "before")
	if path != "a" || after != "bEfor" || cwd != "" || !ok {
		t.Errorf("%q %q %q %v", path, cwd, after, ok)
	}
	for name, ask := range map[string]view.Ask{
		"another tool":       {Tool: "bash", Arguments: `{"path":"a","content":"b"}`},
		"truncated":          {Tool: "write", Arguments: `{"path":"a","content":"b"}`, Truncated: true},
		"a name twice":       {Tool: "write", Arguments: `{"path":"a","content":"b","content":"c"}`},
		"a name in two ways": {Tool: "write", Arguments: `{"path":"a","content":"b","Content":"c"}`},
		"another spelling":   {Tool: "write", Arguments: `{"path":"a","content":"b","CWD":"c"}`},
		"another argument":   {Tool: "write", Arguments: `{"path":"a","content":"b","mode":"c"}`},
		"not a text":         {Tool: "write", Arguments: `{"path":"a","content":"b","cwd":1}`},
		"no content":         {Tool: "write", Arguments: `{"path":"a"}`},
		"no path":            {Tool: "write", Arguments: `{"content":"b"}`},
		"more after it":      {Tool: "write", Arguments: `{"path":"a","content":"b"}{"path":"c"}`},
		"not an object":      {Tool: "write", Arguments: `["path"]`},
		"edits of write":     {Tool: "write", Arguments: `{"path":"a","content":"b","edits":"c"}`},
		"content of patch":   {Tool: "patch", Arguments: `{"path":"a","content":"b"}`},
		"no edits":           {Tool: "patch", Arguments: `{"path":"a","edits":[]}`},
		"edits as text":      {Tool: "patch", Arguments: `{"path":"a","edits":"b"}`},
		"cwd of patch":       {Tool: "patch", Arguments: `{"path":"a","cwd":1,"edits":[{"old_string":"e","new_string":"E","replace_all":true}]}`},
		"an edit twice":      {Tool: "patch", Arguments: `{"path":"a","edits":[{"old_string":"b","new_string":"x","new_string":"y"}]}`},
		"another option":     {Tool: "patch", Arguments: `{"path":"a","edits":[{"old_string":"b","new_string":"x","regex":true}]}`},
		"half an edit":       {Tool: "patch", Arguments: `{"path":"a","edits":[{"old_string":"b"}]}`},
		"not a number":       {Tool: "patch", Arguments: `{"path":"a","edits":[{"old_string":"b","new_string":"x","occurrence":"1"}]}`},
	} {
		if _, _, _, ok := cli.ReadsFileCall(ask, "before"); ok {
			t.Errorf("%s was taken for a whole call", name)
		}
	}
}
