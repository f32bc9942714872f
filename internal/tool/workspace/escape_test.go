// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/test/patience"
)

// canary is in every file beside the root and must not appear in any answer.
const canary = "CANARY-7f3a"

// beside is a workspace and the directory around its root.
type beside struct {
	*client
	dir    string // holds root, canary.txt, canary.png and outside/
	before map[string]string
}

// newBeside creates a workspace with canaries beside its root.
func newBeside(t *testing.T) *beside {
	c := serve(t, map[string]string{
		"a.txt": "inside\n", "sub/b.txt": "inside too\n", "sub/deep/c.txt": "inside too\n",
		".git/config": "[core]\n", "package/.git/config": "[core]\n",
	})
	b := &beside{client: c, dir: filepath.Dir(c.root)}
	put(t, filepath.Join(b.dir, "canary.txt"), canary+"\n")
	put(t, filepath.Join(b.dir, "canary.png"), "\x89PNG\r\n\x1a\n"+canary)
	put(t, filepath.Join(b.dir, "outside/canary.txt"), canary+"\n")
	b.before = b.snapshot(t)
	return b
}

// snapshot returns everything beside the root, with contents and permissions.
func (b *beside) snapshot(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(b.dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name == b.root {
			return filepath.SkipDir
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		content := ""
		if info.Mode().IsRegular() {
			content = get(t, name)
		}
		found[name] = info.Mode().String() + " " + content
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// checkUnchanged checks that nothing beside the root changed.
func (b *beside) checkUnchanged(t *testing.T) {
	t.Helper()
	if diff := cmp.Diff(b.before, b.snapshot(t)); diff != "" {
		t.Errorf("files outside the root changed (-before +after):\n%s", diff)
	}
}

// checkNoCanary checks that an answer does not contain the canary, in text or image.
func checkNoCanary(t *testing.T, result *mcp.CallToolResult) {
	t.Helper()
	encoded, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	leaked := bytes.Contains(encoded, []byte(canary))
	for _, content := range result.Content {
		if image, ok := content.(*mcp.ImageContent); ok {
			leaked = leaked || bytes.Contains(image.Data, []byte(canary))
		}
	}
	if leaked {
		t.Errorf("the answer reveals content outside the root: %s", encoded)
	}
}

// attempt is one way to try to leave the root.
type attempt struct {
	name    string
	prepare func(t *testing.T, b *beside)
	tool    string
	args    args
	// harmless attempts may succeed on files inside the root; all others must be rejected.
	harmless bool
}

// link creates a symbolic link in the root, to a target relative to the link, or to a target beside the root if it
// begins with "@".
func link(name, target string) func(*testing.T, *beside) {
	return func(t *testing.T, b *beside) {
		if rest, ok := strings.CutPrefix(target, "@"); ok {
			target = filepath.Join(b.dir, rest)
		}
		symlink(t, target, filepath.Join(b.root, name))
	}
}

func hardLink(t *testing.T, b *beside) {
	if err := os.Link(filepath.Join(b.dir, "canary.txt"), filepath.Join(b.root, "hard.txt")); err != nil {
		t.Fatal(err)
	}
}

func pipe(name string) func(*testing.T, *beside) {
	return func(t *testing.T, b *beside) {
		if err := syscall.Mkfifo(filepath.Join(b.root, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func socket(t *testing.T, b *beside) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", filepath.Join(b.root, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
}

func device(t *testing.T, b *beside) {
	if err := syscall.Mknod(filepath.Join(b.root, "zero"), syscall.S_IFCHR|0o666, 1<<8|5); err != nil {
		t.Skipf("only root may make devices: %v", err)
	}
}

func both(first, second func(*testing.T, *beside)) func(*testing.T, *beside) {
	return func(t *testing.T, b *beside) {
		first(t, b)
		second(t, b)
	}
}

var change = []args{{"old_string": canary, "new_string": "changed"}}

func attempts(dir string) []attempt {
	outside := filepath.Join(dir, "canary.txt")
	return []attempt{
		// Names.
		{name: "parent", tool: "read", args: args{"path": "../canary.txt"}},
		{name: "parent behind a directory", tool: "read", args: args{"path": "sub/../../canary.txt"}},
		{name: "parent behind a dot", tool: "read", args: args{"path": "./../canary.txt"}},
		{name: "parent with doubled slashes", tool: "read", args: args{"path": "sub//..//..//canary.txt"}},
		{name: "parent that stays inside", tool: "read", args: args{"path": "sub/../a.txt"}},
		{name: "parent as cwd", tool: "read", args: args{"path": "canary.txt", "cwd": ".."}},
		{name: "parent behind cwd", tool: "read", args: args{"path": "../../canary.txt", "cwd": "sub"}},
		{name: "parent inside cwd", tool: "read", args: args{"path": "canary.txt", "cwd": "sub/../.."}},
		{name: "absolute", tool: "read", args: args{"path": outside}},
		{name: "absolute cwd", tool: "read", args: args{"path": "canary.txt", "cwd": dir}},
		{name: "absolute behind cwd", tool: "read", args: args{"path": outside, "cwd": "sub"}},
		{name: "url", tool: "read", args: args{"path": "file://" + outside}},
		{name: "percent", tool: "read", args: args{"path": "..%2fcanary.txt"}},
		{name: "backslash", tool: "read", args: args{"path": `..\canary.txt`}},
		{name: "wide dots", tool: "read", args: args{"path": "\uff0e\uff0e/canary.txt"}},
		{name: "one-dot leader", tool: "read", args: args{"path": "\u2024\u2024/canary.txt"}},
		{name: "overlong encoding", tool: "read", args: args{"path": "\xc0\xae\xc0\xae/canary.txt"}},
		{name: "right-to-left", tool: "read", args: args{"path": "\u202e/../canary.txt"}},
		{name: "NUL", tool: "read", args: args{"path": outside + "\x00.txt"}},
		{name: "NUL in the middle", tool: "read", args: args{"path": "a.txt\x00/../../canary.txt"}},
		{name: "NUL in cwd", tool: "read", args: args{"path": "a.txt", "cwd": "sub\x00"}},
		{name: "home", tool: "read", args: args{"path": "~/../canary.txt"}},
		{name: "variable", tool: "read", args: args{"path": "$PWD/../canary.txt"}},
		{name: "proc", tool: "read", args: args{"path": "/proc/self/environ"}},
		{name: "very long name", tool: "read", args: args{"path": strings.Repeat("a", 5000)}},
		{name: "very deep name", tool: "read", args: args{"path": strings.Repeat("a/", 3000) + "../canary.txt"}},
		{name: "deep below a file", tool: "read", args: args{"path": "a.txt/../../canary.txt"}},
		{name: "list parent", tool: "ls", args: args{"path": ".."}},
		{name: "list the machine", tool: "ls", args: args{"path": "/"}},
		{name: "list parent as cwd", tool: "ls", args: args{"cwd": ".."}},
		{name: "glob in parent", tool: "glob", args: args{"pattern": "*", "path": ".."}},
		{name: "glob of parent", tool: "glob", args: args{"pattern": "../*"}, harmless: true},
		{name: "glob of absolute", tool: "glob", args: args{"pattern": dir + "/**"}, harmless: true},
		{name: "glob of braces", tool: "glob", args: args{"pattern": "{..,sub}/**"}, harmless: true},
		{name: "grep in parent", tool: "grep", args: args{"pattern": ".", "path": ".."}},
		{name: "grep in absolute", tool: "grep", args: args{"pattern": ".", "path": outside}},
		{name: "grep that includes parent", tool: "grep", args: args{"pattern": "CANARY", "include": "../**"}, harmless: true},
		{name: "keywords in parent", tool: "keyword_search", args: args{"keywords": []string{"CANARY"}, "path": ".."}},
		{name: "image in parent", tool: "read_image", args: args{"path": "../canary.png"}},
		{name: "write to parent", tool: "write", args: args{"path": "../new.txt", "content": "x"}},
		{name: "write over parent's file", tool: "write", args: args{"path": "sub/../../canary.txt", "content": "x"}},
		{name: "write to absolute", tool: "write", args: args{"path": filepath.Join(dir, "new.txt"), "content": "x"}},
		{name: "write to cwd outside", tool: "write", args: args{"path": "new.txt", "cwd": "../outside", "content": "x"}},
		{name: "write over the root", tool: "write", args: args{"path": ".", "content": "x"}},
		{name: "write with NUL", tool: "write", args: args{"path": "../new.txt\x00", "content": "x"}},
		{name: "patch in parent", tool: "patch", args: args{"path": "../canary.txt", "edits": change}},
		{name: "patch absolute", tool: "patch", args: args{"path": outside, "edits": change}},

		// Links.
		{name: "link to parent's file", prepare: link("l", "../canary.txt"), tool: "read", args: args{"path": "l"}},
		{name: "link to absolute file", prepare: link("l", "@canary.txt"), tool: "read", args: args{"path": "l"}},
		{name: "link to parent", prepare: link("l", ".."), tool: "read", args: args{"path": "l/canary.txt"}},
		{name: "link in a directory", prepare: link("sub/l", "../../canary.txt"), tool: "read", args: args{"path": "l", "cwd": "sub"}},
		{name: "link as cwd", prepare: link("l", "@outside"), tool: "read", args: args{"path": "canary.txt", "cwd": "l"}},
		{name: "chain of links", prepare: both(link("l", "m"), link("m", "@canary.txt")), tool: "read", args: args{"path": "l"}},
		{name: "links that go out and in", prepare: both(link("l", "../root/m"), link("m", "a.txt")), tool: "read", args: args{"path": "l"}},
		{name: "loop of links", prepare: both(link("l", "m"), link("m", "l")), tool: "read", args: args{"path": "l"}},
		{name: "link to proc", prepare: link("l", "/proc/self/environ"), tool: "read", args: args{"path": "l"}},
		{name: "link to proc's root", prepare: link("l", "/proc/self/root"), tool: "ls", args: args{"path": "l"}},
		{name: "link to proc's cwd", prepare: link("l", "/proc/self/cwd"), tool: "ls", args: args{"path": "l"}},
		{name: "list a link", prepare: link("l", "@outside"), tool: "ls", args: args{"path": "l"}},
		{name: "glob in a link", prepare: link("l", "@outside"), tool: "glob", args: args{"pattern": "**", "path": "l"}},
		{name: "glob across a link", prepare: link("l", "@outside"), tool: "glob", args: args{"pattern": "l/**", "include_ignored": true}, harmless: true},
		{name: "grep in a link", prepare: link("l", "@canary.txt"), tool: "grep", args: args{"pattern": ".", "path": "l"}},
		{name: "grep across links", prepare: both(link("l", "@outside"), link("m", "@canary.txt")), tool: "grep", args: args{"pattern": "CANARY"}, harmless: true},
		{name: "keywords across links", prepare: both(link("l", "@outside"), link("m", "@canary.txt")), tool: "keyword_search", args: args{"keywords": []string{"CANARY"}}, harmless: true},
		{name: "image behind a link", prepare: link("l.png", "@canary.png"), tool: "read_image", args: args{"path": "l.png"}},
		{name: "ignore file that is a link", prepare: link(".gitignore", "@canary.txt"), tool: "glob", args: args{"pattern": "**"}, harmless: true},
		{name: "write through a link", prepare: link("l", "@canary.txt"), tool: "write", args: args{"path": "l", "content": "x"}},
		{name: "write through a dangling link", prepare: link("l", "@new.txt"), tool: "write", args: args{"path": "l", "content": "x"}},
		{name: "write in a linked directory", prepare: link("l", "@outside"), tool: "write", args: args{"path": "l/new.txt", "content": "x"}},
		{name: "directories in a linked directory", prepare: link("l", "@outside"), tool: "write", args: args{"path": "l/a/b/new.txt", "content": "x"}},
		{name: "directories in a dangling link", prepare: link("l", "@fresh"), tool: "write", args: args{"path": "l/new.txt", "content": "x"}},
		{name: "write with a link as cwd", prepare: link("l", "@outside"), tool: "write", args: args{"path": "new.txt", "cwd": "l", "content": "x"}},
		{name: "patch through a link", prepare: link("l", "@canary.txt"), tool: "patch", args: args{"path": "l", "edits": change}},
		{name: "patch in a linked directory", prepare: link("l", "@outside"), tool: "patch", args: args{"path": "l/canary.txt", "edits": change}},
		{name: "write over a hard link", prepare: hardLink, tool: "write", args: args{"path": "hard.txt", "content": "x"}, harmless: true},
		{name: "patch of a hard link", prepare: hardLink, tool: "patch", args: args{"path": "hard.txt", "edits": []args{{"old_string": "\n", "new_string": " changed\n"}, {"old_string": canary, "new_string": ""}}}, harmless: true},

		// Special files.
		{name: "named pipe", prepare: pipe("p"), tool: "read", args: args{"path": "p"}},
		{name: "link to a named pipe", prepare: both(pipe("p"), link("l", "p")), tool: "read", args: args{"path": "l"}},
		{name: "image from a named pipe", prepare: pipe("p.png"), tool: "read_image", args: args{"path": "p.png"}},
		{name: "list a named pipe", prepare: pipe("p"), tool: "ls", args: args{"path": "p"}},
		{name: "grep in a named pipe", prepare: pipe("p"), tool: "grep", args: args{"pattern": ".", "path": "p"}},
		{name: "grep around a named pipe", prepare: pipe("p"), tool: "grep", args: args{"pattern": "CANARY"}, harmless: true},
		{name: "ignore file that is a named pipe", prepare: pipe(".gitignore"), tool: "grep", args: args{"pattern": "CANARY"}, harmless: true},
		{name: "write to a named pipe", prepare: pipe("p"), tool: "write", args: args{"path": "p", "content": "x"}},
		{name: "patch a named pipe", prepare: pipe("p"), tool: "patch", args: args{"path": "p", "edits": change}},
		{name: "named pipe as cwd", prepare: pipe("p"), tool: "bash", args: args{"command": "cat ../canary.txt", "cwd": "p"}},
		{name: "socket", prepare: socket, tool: "read", args: args{"path": "socket"}},
		{name: "write to a socket", prepare: socket, tool: "write", args: args{"path": "socket", "content": "x"}},
		{name: "device", prepare: device, tool: "read", args: args{"path": "zero"}},
		{name: "grep in a device", prepare: device, tool: "grep", args: args{"pattern": ".", "path": "zero"}},
		{name: "write to a device", prepare: device, tool: "write", args: args{"path": "zero", "content": "x"}},
		{name: "link to a device", prepare: link("l", "/dev/zero"), tool: "read", args: args{"path": "l"}},

		// Git's own files, whose content git would execute.
		{name: "git hook", tool: "write", args: args{"path": ".git/hooks/pre-commit", "content": "#!/bin/sh\n"}},
		{name: "git hook in capitals", tool: "write", args: args{"path": ".GIT/hooks/pre-commit", "content": "#!/bin/sh\n"}},
		{name: "git configuration", tool: "patch", args: args{"path": ".git/config", "edits": []args{{"old_string": "[core]", "new_string": "[core]\nfsmonitor = id"}}}},
		{name: "git configuration behind cwd", tool: "write", args: args{"path": "config", "cwd": ".git", "content": "x"}},
		{name: "git configuration of a submodule", tool: "write", args: args{"path": "package/.git/config", "content": "x"}},
		{name: "git configuration through a link", prepare: link("l", ".git"), tool: "write", args: args{"path": "l/config", "content": "x"}},

		// Bash may do what its user may, but its working directory is checked.
		{name: "bash in parent", tool: "bash", args: args{"command": "cat canary.txt", "cwd": ".."}},
		{name: "bash in absolute", tool: "bash", args: args{"command": "cat canary.txt", "cwd": dir}},
		{name: "bash behind a directory", tool: "bash", args: args{"command": "cat canary.txt", "cwd": "sub/../.."}},
		{name: "bash in a link", prepare: link("l", "@outside"), tool: "bash", args: args{"command": "cat canary.txt", "cwd": "l"}},
		{name: "bash in a link to parent", prepare: link("l", ".."), tool: "bash", args: args{"command": "cat canary.txt", "cwd": "l"}},
		{name: "bash in proc", prepare: link("l", "/proc/self/root"), tool: "bash", args: args{"command": "pwd", "cwd": "l"}},
		{name: "bash with an injected cwd", tool: "bash", args: args{"command": "pwd", "cwd": "$(cat ../canary.txt)"}},
		{name: "bash with a command for cwd", tool: "bash", args: args{"command": "pwd", "cwd": "; cat ../canary.txt"}},
		{name: "bash with NUL", tool: "bash", args: args{"command": "true\x00; cat ../canary.txt"}},
		{name: "bash with NUL in cwd", tool: "bash", args: args{"command": "pwd", "cwd": "sub\x00/../.."}},
	}
}

func TestToolsStayInsideRoot(t *testing.T) {
	if n := len(attempts("")); n < 40 {
		t.Fatalf("only %d attempts", n)
	}
	for i, name := range names(attempts("")) {
		t.Run(name, func(t *testing.T) {
			b := newBeside(t)
			a := attempts(b.dir)[i]
			if a.prepare != nil {
				a.prepare(t, b)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience.Limit())
			defer cancel()
			result, err := b.try(ctx, a.tool, a.args)
			if err != nil {
				t.Fatal(err)
			}
			checkNoCanary(t, result)
			b.checkUnchanged(t)
			if !a.harmless && !result.IsError {
				t.Errorf("not refused: %s", resultText(result))
			}
		})
	}
}

func names(all []attempt) []string {
	names := make([]string, 0, len(all))
	for _, a := range all {
		names = append(names, a.name)
	}
	return names
}
