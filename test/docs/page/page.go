// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// Page is a page of the documentation.
type Page struct {
	Path   string
	Blocks []Block
	// Marks are the comments that do not precede a block and so apply to the whole page.
	Marks map[string]string
	// Links are the destinations of links and images, and Anchors the link targets in this page.
	Links   []Link
	Anchors map[string]bool
	// Code is the inline code in the text.
	Code []string
}

// Link is the destination of a link.
type Link struct {
	Line        int
	Destination string
}

// Block is a block of code.
type Block struct {
	Line int
	// Language is empty for an indented block, or a fenced one without a language.
	Language, Text string
	// Marks are the comments before the block, by the text before their colon.
	Marks map[string]string
}

var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM))

// Read reads a page.
func Read(path string) (*Page, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the page: %w", err)
	}
	r := &reader{source: source, page: &Page{Path: path, Anchors: map[string]bool{}, Marks: map[string]string{}}}
	root := markdown.Parser().Parse(text.NewReader(source))
	return r.page, ast.Walk(root, r.visit)
}

// reader collects the content of a page.
type reader struct {
	source []byte
	page   *Page
}

func (r *reader) visit(node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	switch n := node.(type) {
	case *ast.FencedCodeBlock:
		r.addBlock(n, string(n.Language(r.source)))
	case *ast.CodeBlock:
		r.addBlock(n, "")
	case *ast.HTMLBlock:
		if !beforeBlock(n) {
			r.read(n, r.page.Marks)
		}
	case *ast.Heading:
		r.page.Anchors[r.anchor(n)] = true
	case *ast.Link:
		r.page.Links = append(r.page.Links, Link{r.lineNumber(n), string(n.Destination)})
	case *ast.Image:
		r.page.Links = append(r.page.Links, Link{r.lineNumber(n), string(n.Destination)})
	case *ast.CodeSpan:
		r.page.Code = append(r.page.Code, plainText(n, r.source))
	}
	return ast.WalkContinue, nil
}

func (r *reader) addBlock(n ast.Node, language string) {
	var content bytes.Buffer
	for i := range n.Lines().Len() {
		segment := n.Lines().At(i)
		content.Write(segment.Value(r.source))
	}
	block := Block{Language: language, Text: content.String(), Marks: r.marks(n.PreviousSibling())}
	if n.Lines().Len() > 0 {
		block.Line = r.line(n.Lines().At(0).Start)
	}
	r.page.Blocks = append(r.page.Blocks, block)
}

// beforeBlock reports whether a comment precedes a code block, possibly with other comments in between.
func beforeBlock(n ast.Node) bool {
	for n = n.NextSibling(); n != nil && n.Kind() == ast.KindHTMLBlock; n = n.NextSibling() {
	}
	return n != nil && n.Kind() == ast.KindFencedCodeBlock
}

var comment = regexp.MustCompile(`<!-- *([a-z ]+): *(.*?) *-->`)

// marks reads the comments before a block.
func (r *reader) marks(before ast.Node) map[string]string {
	marks := map[string]string{}
	for ; before != nil; before = before.PreviousSibling() {
		html, ok := before.(*ast.HTMLBlock)
		if !ok {
			break
		}
		r.read(html, marks)
	}
	return marks
}

func (r *reader) read(html *ast.HTMLBlock, marks map[string]string) {
	for _, found := range comment.FindAllStringSubmatch(string(html.Lines().Value(r.source)), -1) {
		marks[found[1]] = found[2]
	}
}

var notInAnchor = regexp.MustCompile(`[^\p{L}\p{N}\- _]`)

// anchor returns GitHub's anchor of a heading; a second heading with the same text gets a number.
func (r *reader) anchor(heading ast.Node) string {
	base := strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(plainText(heading, r.source)), ""), " ", "-")
	name := base
	for i := 1; r.page.Anchors[name]; i++ {
		name = fmt.Sprintf("%s-%d", base, i)
	}
	return name
}

// plainText returns the text of a node without its markup.
func plainText(n ast.Node, source []byte) string {
	var all strings.Builder
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		if t, ok := child.(*ast.Text); ok {
			all.Write(t.Segment.Value(source))
			if t.SoftLineBreak() {
				all.WriteByte(' ')
			}
			continue
		}
		all.WriteString(plainText(child, source))
	}
	return all.String()
}

// lineNumber returns the line on which the block of an inline node begins.
func (r *reader) lineNumber(n ast.Node) int {
	for ; n != nil; n = n.Parent() {
		if n.Type() == ast.TypeBlock && n.Lines().Len() > 0 {
			return r.line(n.Lines().At(0).Start)
		}
	}
	return 0
}

func (r *reader) line(offset int) int { return 1 + bytes.Count(r.source[:offset], []byte("\n")) }
