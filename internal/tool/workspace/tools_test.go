// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/tool/workspace"
)

func same(t *testing.T, got, want string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

func TestReadNumbersLinesAndPages(t *testing.T) {
	c := serve(t, map[string]string{
		"five.txt": "one\ntwo\nthree\nfour\nfive\n",
		"open.txt": "no line break",
		"void.txt": "",
		"crlf.txt": "a\r\nb\r\n",
		"long.txt": strings.Repeat("é", 2000) + "\nshort\n",
		"bin":      "\x7fELF\x00\x01",
	})
	same(t, c.ok("read", args{"path": "five.txt"}), "     1\tone\n     2\ttwo\n     3\tthree\n     4\tfour\n     5\tfive")
	same(t, c.ok("read", args{"path": "five.txt", "offset": 2, "limit": 2}), "     2\ttwo\n     3\tthree\n[2 lines more; continue with offset=4]")
	same(t, c.ok("read", args{"path": "./five.txt", "offset": 5}), "     5\tfive")
	same(t, c.ok("read", args{"path": "open.txt"}), "     1\tno line break")
	same(t, c.ok("read", args{"path": "void.txt"}), "[void.txt is empty]")
	same(t, c.ok("read", args{"path": "bin"}), "[bin is a binary file (application/octet-stream, 6 bytes); it cannot be shown as text]")
	contains(t, c.ok("read", args{"path": "long.txt"}), "[... 2000 more bytes in this line]\n     2\tshort")
	c.fails("read", args{"path": "five.txt", "offset": 6}, "past the end", "5 lines")
	c.fails("read", args{"path": "none.txt"}, "none.txt", "no such file")
	c.fails("read", args{"path": "."}, "directory")
}

func TestReadStopsAtOutputLimit(t *testing.T) {
	c := serve(t, map[string]string{"big.txt": strings.Repeat("0123456789\n", 1000)}, func(o *workspace.Options) {
		o.Limits = workspace.DefaultLimits()
		o.Limits.OutputBytes = 1000
		o.Limits.FileBytes = 20_000
	})
	first := c.ok("read", args{"path": "big.txt"})
	if len(first) > 1100 {
		t.Errorf("the answer has %d bytes", len(first))
	}
	contains(t, first, "more; continue with offset=")
	put(t, filepath.Join(c.root, "huge.txt"), strings.Repeat("x", 20_001))
	c.fails("read", args{"path": "huge.txt"}, "20001 bytes", "limit is 20000")
}

func TestLsShowsKindOfEntries(t *testing.T) {
	c := serve(t, map[string]string{"a.txt": "12345", "dir/b": "", ".git/config": "x", ".hidden": "", "odd\nname": ""})
	symlink(t, "a.txt", filepath.Join(c.root, "inside"))
	symlink(t, "../../outside", filepath.Join(c.root, "outside"))
	same(t, c.ok("ls", args{}), strings.Join([]string{
		".hidden (0 bytes)", "a.txt (5 bytes)", "dir/", "inside -> a.txt", `"odd\nname" (0 bytes)`,
		"outside (symbolic link that leads nowhere in the workspace)",
	}, "\n"))
	same(t, c.ok("ls", args{"path": "dir"}), "b (0 bytes)")
	same(t, c.ok("ls", args{"cwd": "dir"}), "b (0 bytes)")
	contains(t, c.ok("ls", args{"limit": 2}), "[4 entries more;")
	c.fails("ls", args{"path": "a.txt"}, "a.txt", "not a directory")
}

func TestGlobRespectsIgnoreFiles(t *testing.T) {
	c := serve(t, map[string]string{
		".gitignore": "*.log\n/build/\n", "main.go": "", "a/b/deep.go": "", "a/x.ts": "", "a/x_test.js": "", "app.log": "", "build/out.go": "", ".git/hooks/x.go": "",
	})
	same(t, c.ok("glob", args{"pattern": "*.go"}), "a/b/deep.go\nmain.go")
	same(t, c.ok("glob", args{"pattern": "a/**/*.go"}), "a/b/deep.go")
	same(t, c.ok("glob", args{"pattern": "./*.go"}), "a/b/deep.go\nmain.go")
	same(t, c.ok("glob", args{"pattern": "/*.go"}), "main.go")
	same(t, c.ok("glob", args{"pattern": "**/*{_test.js,.ts}"}), "a/x.ts\na/x_test.js")
	same(t, c.ok("glob", args{"pattern": "*.go", "cwd": "a"}), "b/deep.go")
	same(t, c.ok("glob", args{"pattern": "*.go", "include_ignored": true}), "a/b/deep.go\nbuild/out.go\nmain.go")
	same(t, c.ok("glob", args{"pattern": "*.go", "path": "build"}), "build/out.go")
	contains(t, c.ok("glob", args{"pattern": "*.log"}), "no file matches")
	same(t, c.ok("glob", args{"pattern": "**", "limit": 1}), ".gitignore\n[4 files more; use a narrower pattern or path]")
	c.fails("glob", args{"pattern": ""}, "empty")
}

func TestGrepShowsContextAndCounts(t *testing.T) {
	c := serve(t, map[string]string{
		"a.go": "package a\n\nfunc Alpha() {}\n\nfunc beta() {}\n", "b/c.txt": "func in text\n", "bin": "func\x00", ".gitignore": "skip\n", "skip/x.go": "func hidden",
	})
	same(t, c.ok("grep", args{"pattern": `^func \w+\(`}), "a.go:3:func Alpha() {}\na.go:5:func beta() {}")
	same(t, c.ok("grep", args{"pattern": "func", "include": "*.txt"}), "b/c.txt:1:func in text")
	same(t, c.ok("grep", args{"pattern": "ALPHA()", "literal": true, "ignore_case": true, "context": 1}), "a.go-2-\na.go:3:func Alpha() {}\na.go-4-")
	same(t, c.ok("grep", args{"pattern": "func", "files_only": true}), "a.go: 2 matches\nb/c.txt: 1 match")
	same(t, c.ok("grep", args{"pattern": "func", "cwd": "b"}), "c.txt:1:func in text")
	same(t, c.ok("grep", args{"pattern": "func", "path": "b/c.txt"}), "b/c.txt:1:func in text")
	same(t, c.ok("grep", args{"pattern": "func", "limit": 1}), "a.go:3:func Alpha() {}\n[2 matches more, of 3 in 2 files; use a narrower pattern, path or include, or files_only]")
	contains(t, c.ok("grep", args{"pattern": "hidden"}), "no match")
	same(t, c.ok("grep", args{"pattern": "hidden", "include_ignored": true}), "skip/x.go:1:func hidden")
	c.fails("grep", args{"pattern": "("}, "not a valid regular expression", "literal")
	c.fails("grep", args{"pattern": ""}, "empty")
	c.fails("grep", args{"pattern": "a\nb"}, "line break")
}

func TestKeywordSearchRanksFiles(t *testing.T) {
	c := serve(t, map[string]string{
		"user.go":     "func getUserName(id int) string { return names[id] }\n",
		"password.go": "// resetPassword sets the password of a user.\nfunc resetPassword(userName, newPassword string) {}\n",
		"misc.txt":    "nothing of interest, a superuser perhaps\n",
		"other.txt":   "nothing\n",
	})
	found := c.ok("keyword_search", args{"keywords": []string{"password", "user"}})
	lines := strings.Split(found, "\n")
	same(t, lines[0], "password.go (2 of 2 words)")
	contains(t, found, "     1\t// resetPassword sets the password of a user.", "user.go (1 of 2 words)")
	if strings.Contains(found, "other.txt") {
		t.Errorf("a file without the words was found:\n%s", found)
	}
	same(t, strings.Split(c.ok("keyword_search", args{"keywords": []string{"user_name"}, "limit": 1}), "\n")[0], "user.go (1 of 1 word)")
	contains(t, c.ok("keyword_search", args{"keywords": []string{"zebra"}}), "no file has any of the words")
	c.fails("keyword_search", args{"keywords": []string{"-"}}, "no word")
}

func TestReadImageReturnsThePicture(t *testing.T) {
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	c := serve(t, map[string]string{"x.png": picture.String(), "x.txt": "text"})
	result := c.call("read_image", args{"path": "x.png"})
	contains(t, resultText(result), "image/png", "3 x 2 pixels")
	content, ok := result.Content[1].(*mcp.ImageContent)
	if !ok || content.MIMEType != "image/png" || !bytes.Equal(content.Data, picture.Bytes()) {
		t.Errorf("content is %#v", result.Content[1])
	}
	contains(t, c.ok("read", args{"path": "x.png"}), "use read_image")
	c.fails("read_image", args{"path": "x.txt"}, "not a PNG")
}

func TestWriteIsAtomicAndKeepsPermissions(t *testing.T) {
	c := serve(t, map[string]string{"run.sh": "old"})
	script := filepath.Join(c.root, "run.sh")
	for _, mode := range []os.FileMode{0o750, 0o600, 0} {
		if err := os.Chmod(script, mode); err != nil {
			t.Fatal(err)
		}
		same(t, c.ok("write", args{"path": "run.sh", "content": "#!/bin/sh\necho hi\n"}), "Replaced run.sh (2 lines, 18 bytes).")
		info, err := os.Stat(script)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != mode {
			t.Errorf("mode is %v, want %v", info.Mode(), mode)
		}
	}
	same(t, c.ok("write", args{"path": "deep/er/new.txt", "content": "x"}), "Created deep/er/new.txt (1 line, 1 byte).")
	same(t, c.ok("write", args{"path": "er/b.txt", "cwd": "deep", "content": ""}), "Created er/b.txt (0 lines, 0 bytes).")
	same(t, get(t, filepath.Join(c.root, "deep/er/new.txt")), "x")
	c.fails("write", args{"path": "deep", "content": "x"}, "not a regular file")
	c.fails("write", args{"path": "run.sh/x", "content": "x"}, "not a directory")
	entries, err := os.ReadDir(filepath.Join(c.root, "deep/er"))
	if err != nil || len(entries) != 2 {
		t.Errorf("entries %v, error %v; temporary files must not stay", entries, err)
	}
}

func TestPatchReplacesExactText(t *testing.T) {
	const before = "a := 1\nb := 2\na := 1\nend\n"
	c := serve(t, map[string]string{"x.go": before, "w.txt": "one\r\ntwo\r\n", "bin": "a\x00b"})
	file := filepath.Join(c.root, "x.go")
	edits := func(e ...args) args { return args{"path": "x.go", "edits": e} }

	c.fails("patch", edits(args{"old_string": "a := 1", "new_string": "x"}), "not changed", "edit 1 of 1", "2 times, at lines 1, 3", "replace_all")
	c.fails("patch", edits(args{"old_string": "b := 2", "new_string": "x"}, args{"old_string": "nope", "new_string": "y"}), "edit 2 of 2", "does not occur")
	c.fails("patch", edits(args{"old_string": "b  :=  2", "new_string": "x"}), "line 2", "white space")
	c.fails("patch", edits(args{"old_string": "", "new_string": "x"}), "empty")
	c.fails("patch", edits(args{"old_string": "end", "new_string": "end"}), "equal")
	c.fails("patch", edits(args{"old_string": "a := 1", "new_string": "x", "occurrence": 3}), "occurrence 3")
	c.fails("patch", args{"path": "bin", "edits": []args{{"old_string": "a", "new_string": "b"}}}, "binary")
	c.fails("patch", args{"path": "x.go", "edits": []args{}}, "edits")
	same(t, get(t, file), before)

	same(t, c.ok("patch", edits(args{"old_string": "b := 2\n", "new_string": "b := 3\nc := 4\n"})),
		"Patched x.go.\nEdit 1: 1 replacement at line 2, -1 +2 lines each.\n     1\ta := 1\n     2\tb := 3\n     3\tc := 4\n     4\ta := 1\n     5\tend")
	c.ok("patch", edits(args{"old_string": "a := 1", "new_string": "a := 9", "occurrence": 2}))
	contains(t, c.ok("patch", edits(args{"old_string": " := ", "new_string": " = ", "replace_all": true}, args{"old_string": "end\n", "new_string": ""})),
		"Edit 1: 4 replacements at lines 1, 2, 3, 4", "Edit 2: 1 replacement at line 5")
	same(t, get(t, file), "a = 1\nb = 3\nc = 4\na = 9\n")

	c.ok("patch", args{"path": "w.txt", "edits": []args{{"old_string": "one\ntwo", "new_string": "1\n2"}}})
	same(t, get(t, filepath.Join(c.root, "w.txt")), "1\r\n2\r\n")
}

func TestParallelPatchesAreAllApplied(t *testing.T) {
	var before, after strings.Builder
	for i := range 20 {
		fmt.Fprintf(&before, "line %d: old\n", i)
		fmt.Fprintf(&after, "line %d: new\n", i)
	}
	c := serve(t, map[string]string{"f.txt": before.String()})
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			edits := []args{{"old_string": fmt.Sprintf("line %d: old", i), "new_string": fmt.Sprintf("line %d: new", i)}}
			if result, err := c.try(t.Context(), "patch", args{"path": "f.txt", "edits": edits}); err != nil || result.IsError {
				t.Errorf("patch %d: %v, %v", i, result, err)
			}
		})
	}
	group.Wait()
	same(t, get(t, filepath.Join(c.root, "f.txt")), after.String())
}

func TestSearchesFollowLinkAsPath(t *testing.T) {
	c := serve(t, map[string]string{"dir/f.txt": "needle\n", "bin": "needle\x00"})
	symlink(t, "dir/f.txt", filepath.Join(c.root, "file"))
	symlink(t, "dir", filepath.Join(c.root, "link"))
	same(t, c.ok("grep", args{"pattern": "needle", "path": "file"}), "file:1:needle")
	same(t, c.ok("grep", args{"pattern": "needle", "path": "link"}), "link/f.txt:1:needle")
	same(t, c.ok("grep", args{"pattern": "needle"}), "dir/f.txt:1:needle")
	contains(t, c.ok("grep", args{"pattern": "needle", "path": "bin"}), "no match", "1 binary file not searched")
}

func symlink(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(fmt.Errorf("create link: %w", err))
	}
}
