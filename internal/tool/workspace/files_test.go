// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/tool/workspace"
	"github.com/nestor-dev/nestor/internal/tool/workspace/files"
)

// askFile requests a file beside MCP.
func (c *client) askFile(t *testing.T, bearer, cwd, path string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url+"/file?"+url.Values{"path": {path}, "cwd": {cwd}}.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+bearer)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func TestFileIsReadBesideTools(t *testing.T) {
	c := serve(t, map[string]string{
		"a.txt": "inside\n", "sub/b.txt": "below\n", "empty": "", "pic": "\x00", "latin": "caf\xe9",
		"full": strings.Repeat("x", files.MaxText), "large": strings.Repeat("x", files.MaxText+1),
	})
	for name, tc := range map[string]struct {
		cwd, path string
		want      files.File
	}{
		"text":            {"", "a.txt", files.File{Path: "a.txt", State: files.Text, Content: "inside\n"}},
		"relative to cwd": {"sub", "b.txt", files.File{Path: "sub/b.txt", State: files.Text, Content: "below\n"}},
		"not clean":       {"./sub//", "./b.txt", files.File{Path: "sub/b.txt", State: files.Text, Content: "below\n"}},
		"empty":           {"", "empty", files.File{Path: "empty", State: files.Text}},
		"binary":          {"", "pic", files.File{Path: "pic", State: files.Binary}},
		"not UTF-8":       {"", "latin", files.File{Path: "latin", State: files.Binary}},
		"at the limit":    {"", "full", files.File{Path: "full", State: files.Text, Content: strings.Repeat("x", files.MaxText)}},
		"too large":       {"", "large", files.File{Path: "large", State: files.TooLarge}},
		"missing":         {"", "none", files.File{Path: "none", State: files.Missing}},
		"missing below":   {"none", "none", files.File{Path: "none/none", State: files.Missing}},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := c.askFile(t, token, tc.cwd, tc.path)
			var got files.File
			if err := json.Unmarshal([]byte(body), &got); err != nil || status != http.StatusOK {
				t.Fatalf("%d: %.200s", status, body)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("file (-want +got):\n%.500s", diff)
			}
		})
	}
	if status, body := c.askFile(t, "wrong", "", "a.txt"); status != http.StatusUnauthorized || strings.Contains(body, "inside") {
		t.Errorf("without the token: %d %s", status, body)
	}
}

func TestFileOutsideIsNotRead(t *testing.T) {
	b := newBeside(t)
	outside := filepath.Join(b.dir, "canary.txt")
	for _, name := range []string{"link.txt:" + outside, "dir:" + filepath.Join(b.dir, "outside"), "up:../canary.txt", "inner:a.txt", "loop:loop", "dangling:nothing", "git:.git"} {
		from, to, _ := strings.Cut(name, ":")
		symlink(t, to, filepath.Join(b.root, from))
	}
	pipe("pipe")(t, b)
	if err := os.Mkdir(filepath.Join(b.root, "directory"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string][2]string{
		"parent": {"", "../canary.txt"}, "parent behind a directory": {"", "sub/../../canary.txt"}, "parent as cwd": {"..", "canary.txt"},
		"parent inside cwd": {"sub/../..", "canary.txt"}, "absolute": {"", outside}, "absolute cwd": {b.dir, "canary.txt"},
		"NUL": {"", "a.txt\x00/../../canary.txt"}, "proc": {"", "/proc/self/environ"}, "long": {"", strings.Repeat("a", 5000)},
		"link": {"", "link.txt"}, "linked directory": {"", "dir/canary.txt"}, "linked cwd": {"dir", "canary.txt"}, "relative link": {"", "up"},
		"link inside": {"", "inner"}, "loop": {"", "loop"}, "dangling link": {"", "dangling"}, "pipe": {"", "pipe"}, "directory": {"", "directory"},
		"below a file": {"", "a.txt/x"}, "root": {"", ""}, "git": {"", ".git/config"}, "nested git": {"package", ".GIT/config"}, "link to git": {"", "git/config"},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := b.askFile(t, token, tc[0], tc[1])
			if status != http.StatusUnprocessableEntity || strings.Contains(body, canary) || strings.Contains(body, "[core]") {
				t.Errorf("%d: %.300s", status, body)
			}
		})
	}
}

func TestFileReadWaitsForRestore(t *testing.T) {
	// The client of MCP could not connect to a workspace that waits, so the marker is removed after that.
	marker := filepath.Join(t.TempDir(), "restored")
	put(t, marker, "")
	c := serve(t, map[string]string{"a.txt": "old\n"}, func(o *workspace.Options) { o.Restored = marker })
	if err := os.Remove(marker); err != nil {
		t.Fatal(err)
	}
	if status, body := c.askFile(t, token, "", "a.txt"); status != http.StatusServiceUnavailable || strings.Contains(body, "old") {
		t.Errorf("%d: %s", status, body)
	}
}
