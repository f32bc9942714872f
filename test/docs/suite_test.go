// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package docs_test runs the documentation: every command of every page, and checks of what the pages show and name.
//
// The pages run on what `make demo` starts, each in a separate namespace and directory. The directory looks like a
// checkout after `make build`, with the demo's state in .demo. Endpoints in pages are replaced by servers of this
// suite (see hosts).
package docs_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nestor-dev/nestor/internal/cli"
	"github.com/nestor-dev/nestor/internal/tool/workspace/shell"
	"github.com/nestor-dev/nestor/test/docs/page"
)

const root = "../.."

// plugin is the name under which this test binary acts as kubectl-nestor.
const plugin = "kubectl-nestor"

// pagesAtOnce exceeds the cores of small machines, because pages mostly wait for agents.
const pagesAtOnce = "4"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == plugin {
		os.Exit(cli.Main())
	}
	// The sample project's workspace runs this program to supervise a command; see package shell.
	if len(os.Args) > 2 && os.Args[1] == shell.SupervisorArgument {
		os.Exit(shell.Supervise(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	flag.Parse()
	if err := flag.Set("test.parallel", pagesAtOnce); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := theSuite.close(); err != nil {
		fmt.Fprintln(os.Stderr, "end the suite:", err)
		code = 1
	}
	os.Exit(code)
}

// pages reads all pages, once.
var pages = sync.OnceValues(func() ([]*page.Page, error) {
	paths := []string{filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md")}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ os.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find the pages: %w", err)
	}
	var all []*page.Page
	for _, path := range paths {
		p, err := page.Read(path)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
})

func allPages(t *testing.T) []*page.Page {
	t.Helper()
	all, err := pages()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// title returns a page's path in the repository without the common parts.
func title(p *page.Page) string {
	path, err := filepath.Rel(root, p.Path)
	if err != nil {
		return p.Path
	}
	return strings.TrimPrefix(strings.TrimSuffix(filepath.ToSlash(path), ".md"), "docs/")
}
