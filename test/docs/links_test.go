// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/test/docs/page"
)

func TestLinksAreValid(t *testing.T) {
	anchors := map[string]map[string]bool{}
	for _, p := range allPages(t) {
		anchors[filepath.Clean(p.Path)] = p.Anchors
	}
	for _, p := range allPages(t) {
		for _, link := range p.Links {
			if why := linkProblem(p, link.Destination, anchors); why != "" {
				t.Errorf("%s:%d: %s: %s", p.Path, link.Line, link.Destination, why)
			}
		}
	}
}

// linkProblem returns what is wrong with a link, or "". Links to other sites are not followed.
func linkProblem(p *page.Page, destination string, anchors map[string]map[string]bool) string {
	to, err := url.Parse(destination)
	if err != nil {
		return err.Error()
	}
	if to.Scheme != "" {
		return ""
	}
	path := filepath.Clean(p.Path)
	if to.Path != "" {
		path = filepath.Join(filepath.Dir(p.Path), filepath.FromSlash(to.Path))
	}
	if _, err := os.Stat(path); err != nil {
		return "there is no such file"
	}
	if to.Fragment != "" && filepath.Ext(path) == ".md" && !anchors[path][to.Fragment] {
		return "there is no such heading"
	}
	return ""
}

// TestNoPageIsForgotten checks that every page can be reached from the index by links.
func TestNoPageIsForgotten(t *testing.T) {
	byPath := map[string]*page.Page{}
	for _, p := range allPages(t) {
		byPath[filepath.Clean(p.Path)] = p
	}
	index := filepath.Join(root, "docs", "README.md")
	reached, todo := map[string]bool{index: true}, []string{index}
	for len(todo) > 0 {
		p := byPath[todo[0]]
		todo = todo[1:]
		if p == nil {
			continue
		}
		for _, link := range p.Links {
			name, _, _ := strings.Cut(link.Destination, "#")
			to := filepath.Join(filepath.Dir(p.Path), filepath.FromSlash(name))
			if byPath[to] != nil && !reached[to] {
				reached[to], todo = true, append(todo, to)
			}
		}
	}
	for path := range byPath {
		if strings.HasPrefix(path, filepath.Join(root, "docs")) && !reached[path] {
			t.Errorf("%s: no link leads from docs/README.md to this page", path)
		}
	}
}
