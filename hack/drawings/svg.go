// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"html"
	"strings"
)

// drawing is a picture with a size, a name and a description for people who cannot see it.
type drawing struct {
	file, title, description string
	width, height            int
	body                     bytes.Buffer
}

// style draws in the colours of the reader's theme. The background is part of the picture, so that it is readable on any page.
const style = `    :root { color-scheme: light dark; }
    svg { --ink: #1f2328; --soft: #59636e; --line: #8c959f; --back: #ffffff; --box: #f6f8fa; --operator: #eef4ff; --edge: #0969da; --core: #fff8c5; --coreedge: #9a6700; --store: #e6f6ea; --storeedge: #1a7f37; --stop: #cf222e; }
    @media (prefers-color-scheme: dark) {
      svg { --ink: #f0f6fc; --soft: #b3bcc6; --line: #7d8590; --back: #0d1117; --box: #1c2128; --operator: #121d2f; --edge: #58a6ff; --core: #2e2a1f; --coreedge: #d29922; --store: #12261e; --storeedge: #3fb950; --stop: #ff7b72; }
    }
    text { font: 15px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: var(--ink); text-anchor: middle; }
    .name { font-weight: 600; font-size: 16px; }
    .note { font-size: 14px; fill: var(--soft); }
    .left { text-anchor: start; }
    .end { text-anchor: end; }
    .back { fill: var(--back); }
    rect { rx: 8px; stroke-width: 1.4; }
    .box { fill: var(--box); stroke: var(--line); }
    .operator { fill: var(--operator); stroke: var(--edge); }
    .core { fill: var(--core); stroke: var(--coreedge); }
    .store { fill: var(--store); stroke: var(--storeedge); }
    .label { fill: var(--back); rx: 2px; stroke: none; }
    path { fill: none; stroke: var(--ink); stroke-width: 1.6; marker-end: url(#tip); }
    path.both { marker-start: url(#tip); }
    path.lane { stroke: var(--line); stroke-width: 1.2; stroke-dasharray: 3 4; marker-end: none; }
    path.refused { stroke: var(--stop); stroke-dasharray: 6 4; marker-end: url(#stop); }
    path.frame { stroke: var(--line); stroke-dasharray: 6 4; marker-end: none; }
    marker path { fill: var(--ink); stroke: none; marker-end: none; }
    marker path.cross { fill: none; stroke: var(--stop); stroke-width: 2; }
`

func (d *drawing) svg() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="title desc">`+"\n", d.width, d.height, d.width, d.height)
	fmt.Fprintf(&out, "  <!-- Made by hack/drawings: make generate. -->\n  <title id=\"title\">%s</title>\n  <desc id=\"desc\">%s</desc>\n  <style>\n%s  </style>\n",
		html.EscapeString(d.title), html.EscapeString(d.description), style)
	out.WriteString(`  <defs>
    <marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path d="M0 0 10 5 0 10z"/></marker>
    <marker id="stop" viewBox="0 0 10 10" refX="5" refY="5" markerWidth="9" markerHeight="9"><path class="cross" d="M1 1 9 9M9 1 1 9"/></marker>
  </defs>
`)
	fmt.Fprintf(&out, "  <rect class=\"back\" width=\"%d\" height=\"%d\"/>\n%s</svg>\n", d.width, d.height, d.body.String())
	return out.Bytes()
}

func (d *drawing) text(class string, x, y int, text string) {
	fmt.Fprintf(&d.body, "  <text class=\"%s\" x=\"%d\" y=\"%d\">%s</text>\n", class, x, y, html.EscapeString(text))
}

// box draws a box with a name and notes below it, one line each.
func (d *drawing) box(class string, x, y, width, height int, name string, notes ...string) {
	fmt.Fprintf(&d.body, "  <rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", class, x, y, width, height)
	d.text("name", x+width/2, y+24, name)
	for i, note := range notes {
		d.text("note", x+width/2, y+45+i*18, note)
	}
}

// arrow draws a path, such as M0 0V10.
func (d *drawing) arrow(class, path string) {
	fmt.Fprintf(&d.body, "  <path class=\"%s\" d=\"%s\"/>\n", class, path)
}

// lane is a participant of a sequence.
type lane struct{ class, name, note string }

// step is an arrow between two lanes; a step of a lane to itself is a note on it.
type step struct {
	from, to int
	text     string
}

// band is a remark over all lanes before the step with this index.
type band struct {
	before int
	text   string
}

const (
	laneWidth, laneTop, stepHeight = 178, 20, 46
	laneHeight                     = 54
)

// sequence draws lanes and the steps between them, from top to bottom.
func (d *drawing) sequence(lanes []lane, steps []step, bands []band) {
	d.width = len(lanes)*laneWidth + 16
	at := func(i int) int { return 8 + i*laneWidth + laneWidth/2 }
	d.height = laneTop + laneHeight + (len(steps)+len(bands))*stepHeight + 40
	for i, l := range lanes {
		d.arrow("lane", fmt.Sprintf("M%d %dV%d", at(i), laneTop+laneHeight, d.height-14))
		d.box(l.class, at(i)-laneWidth/2+8, laneTop, laneWidth-16, laneHeight, l.name, l.note)
	}
	y := laneTop + laneHeight + 34
	for i, s := range steps {
		for _, b := range bands {
			if b.before == i {
				d.arrow("frame", fmt.Sprintf("M16 %dH%d", y-6, d.width-16))
				d.label(d.width/2, y-2, b.text, "note")
				y += stepHeight
			}
		}
		d.step(at(s.from), at(s.to), y, s.text)
		y += stepHeight
	}
}

func (d *drawing) step(from, to, y int, text string) {
	if from == to {
		d.label(from, y+4, text, "note")
		return
	}
	gap := 4
	if to < from {
		gap = -gap
	}
	d.arrow("", fmt.Sprintf("M%d %dH%d", from, y+6, to-gap/2))
	d.label((from+to)/2, y-5, text, "")
}

// label writes text on a background, because lanes cross it. Lines are separated by a bar.
func (d *drawing) label(x, y int, text, class string) {
	lines := strings.Split(text, "|")
	for i, line := range lines {
		base := y - (len(lines)-1-i)*17
		width := len([]rune(line))*8 + 8
		fmt.Fprintf(&d.body, "  <rect class=\"label\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"16\"/>\n", x-width/2, base-13, width)
		d.text(class, x, base, line)
	}
}

// bend returns a path with one bend halfway between two points.
func bend(x1, y1, x2, y2 int) string {
	middle := (x1 + x2) / 2
	return fmt.Sprintf("M%d %dH%dV%dH%d", x1, y1, middle, y2, x2)
}
