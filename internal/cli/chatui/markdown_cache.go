// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chatui

import (
	"strings"

	"github.com/nestor-dev/nestor/internal/cli/terminal"
)

// markdownCache caches rendered Markdown, which is slow to render and needed for every frame.
type markdownCache struct {
	width    int
	renderer *terminal.Renderer
	lines    map[string][]string
}

func newMarkdownCache() *markdownCache { return &markdownCache{} }

func (p *markdownCache) markdown(text string, width int) []string {
	if p.renderer == nil || p.width != width {
		*p = markdownCache{width: width, renderer: terminal.NewRenderer(width), lines: map[string][]string{}}
	}
	if lines, ok := p.lines[text]; ok {
		return lines
	}
	var lines []string
	for _, line := range p.renderer.Markdown(text) {
		if terminal.Width(line) > width { // a table with many columns
			lines = append(lines, terminal.Wrap(line, width)...)
			continue
		}
		lines = append(lines, line)
	}
	p.lines[text] = lines
	return lines
}

// renderUncached renders text that still grows, without caching it.
func (p *markdownCache) renderUncached(text string, width int) []string {
	return terminal.Wrap(strings.TrimRight(terminal.Clean(text), "\n"), width)
}
