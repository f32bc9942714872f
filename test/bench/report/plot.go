// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// Dimensions of the plot in pixels.
const (
	plotWidth, plotHeight = 460, 320
	marginLeft, marginTop = 60, 36
	marginRight           = 16
	marginBottom          = 64
)

var colours = []string{"#1f77b4", "#d62728", "#2ca02c", "#9467bd"}

// chart is a set of lines over logarithmic axes.
type chart struct {
	title, x, y string
	lines       []line
}

type line struct {
	name   string
	points []point
}

type point struct{ x, y float64 }

// Plot draws throughput and overhead by the number of agents, as SVG.
func (r *Report) Plot() string {
	throughput := chart{title: "tool turns a second", x: "concurrent agents", y: "turns/s", lines: []line{
		r.line("MCP tool, latency 0", true, 0, Result.TurnsPerSecond), r.line("MCP tool, latency 200 ms", true, 200, Result.TurnsPerSecond),
		r.line("calculator, latency 0", false, 0, Result.TurnsPerSecond),
	}}
	overhead := chart{title: "overhead of a turn with an MCP tool", x: "concurrent agents", y: "ms", lines: []line{
		r.line("latency 0, p50", true, 0, median), r.line("latency 0, p95", true, 0, p95Overhead),
		r.line("latency 200 ms, p50", true, 200, median), r.line("latency 200 ms, p95", true, 200, p95Overhead),
	}}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">`+"\n", 2*plotWidth, plotHeight)
	b.WriteString(`<rect width="100%" height="100%" fill="white"/>` + "\n")
	throughput.draw(&b, 0)
	overhead.draw(&b, plotWidth)
	b.WriteString("</svg>\n")
	return b.String()
}

func median(r Result) float64      { return r.overhead(func(d Distribution) float64 { return d.P50 }) }
func p95Overhead(r Result) float64 { return r.overhead(func(d Distribution) float64 { return d.P95 }) }

func (r Result) overhead(of func(Distribution) float64) float64 {
	if r.OverheadMillis == nil {
		return 0
	}
	return of(*r.OverheadMillis)
}

// line returns the runs of five tool turns with a kind of tool and a latency, without zeros, which a logarithmic axis
// cannot show.
func (r *Report) line(name string, mcp bool, latency float64, value func(Result) float64) line {
	l := line{name: name}
	for _, result := range r.Results {
		fits := strings.HasPrefix(result.Name, "agents-") && result.ToolTurns == 5 && result.LatencyMillis == latency && result.Error == "" && strings.HasSuffix(result.Name, "-mcp") == mcp
		if y := value(result); fits && y > 0 {
			l.points = append(l.points, point{float64(result.Agents), y})
		}
	}
	slices.SortFunc(l.points, func(a, b point) int { return int(a.x - b.x) })
	return l
}

func (c chart) draw(b *strings.Builder, left float64) {
	xs, ys := c.axes()
	at := func(p point) (float64, float64) {
		return left + marginLeft + xs.place(p.x)*(plotWidth-marginLeft-marginRight), marginTop + (1-ys.place(p.y))*(plotHeight-marginTop-marginBottom)
	}
	text := func(x, y float64, anchor, label string) {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`+"\n", x, y, anchor, html.EscapeString(label))
	}
	text(left+plotWidth/2, 18, "middle", c.title+" ("+c.y+")")
	for tick := xs.low; tick <= xs.high; tick *= 10 {
		x, y := at(point{tick, ys.low})
		fmt.Fprintf(b, `<path d="M%.1f %.1fV%d" stroke="#ddd"/>`+"\n", x, y, marginTop)
		text(x, y+14, "middle", fmt.Sprintf("%g", tick))
	}
	for tick := ys.low; tick <= ys.high; tick *= 10 {
		x, y := at(point{xs.low, tick})
		fmt.Fprintf(b, `<path d="M%.1f %.1fH%.1f" stroke="#ddd"/>`+"\n", x, y, left+plotWidth-marginRight)
		text(x-6, y+4, "end", fmt.Sprintf("%g", tick))
	}
	text(left+plotWidth/2, plotHeight-marginBottom+30, "middle", c.x)
	for i, l := range c.lines {
		c.drawLine(b, l, colours[i], at)
		key := left + marginLeft + float64(i)*100
		fmt.Fprintf(b, `<rect x="%.1f" y="%d" width="10" height="10" fill="%s"/>`+"\n", key, plotHeight-22, colours[i])
		fmt.Fprintf(b, `<text x="%.1f" y="%d" font-size="9">%s</text>`+"\n", key+13, plotHeight-14, html.EscapeString(l.name))
	}
}

func (c chart) drawLine(b *strings.Builder, l line, colour string, at func(point) (float64, float64)) {
	var path strings.Builder
	for i, p := range l.points {
		x, y := at(p)
		fmt.Fprintf(&path, "%s%.1f %.1f", map[bool]string{true: "M", false: "L"}[i == 0], x, y)
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"><title>%s: %g agents, %.1f %s</title></circle>`+"\n",
			x, y, colour, html.EscapeString(l.name), p.x, p.y, c.y)
	}
	if len(l.points) > 1 {
		fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", path.String(), colour)
	}
}

// axis is a logarithmic axis from one power of ten to another.
type axis struct{ low, high float64 }

func (a axis) place(v float64) float64 {
	return (math.Log10(v) - math.Log10(a.low)) / (math.Log10(a.high) - math.Log10(a.low))
}

func (c chart) axes() (x, y axis) {
	var xs, ys []float64
	for _, l := range c.lines {
		for _, p := range l.points {
			xs, ys = append(xs, p.x), append(ys, p.y)
		}
	}
	return axisAround(xs), axisAround(ys)
}

func axisAround(values []float64) axis {
	if len(values) == 0 {
		return axis{1, 10}
	}
	a := axis{math.Pow(10, math.Floor(math.Log10(slices.Min(values)))), math.Pow(10, math.Ceil(math.Log10(slices.Max(values))))}
	if a.low == a.high {
		a.high *= 10
	}
	return a
}
