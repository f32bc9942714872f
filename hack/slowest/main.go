// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Command slowest reads the output of `go test -json`, prints what go test prints without -json, then the ten slowest tests, and last what
// failed, because the end of a long log is what people and CI show. With -v it prints the output of tests that passed, too.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

func main() {
	verbose := flag.Bool("v", false, "print the output of every test")
	flag.Parse()
	if err := run(os.Stdin, os.Stdout, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "slowest:", err)
		os.Exit(1)
	}
}

// event is a line of `go test -json`; see `go doc test2json`.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

type test struct{ pkg, name string }

type timing struct {
	test
	seconds float64
}

func run(in io.Reader, out io.Writer, verbose bool) error {
	lines := bufio.NewReader(in)
	outputs := map[test][]string{}
	var timings []timing
	var failures []string
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				fmt.Fprintf(out, "%s", line) // a build error, for example
				continue
			}
			of := test{e.Package, e.Test}
			switch {
			case e.Output != "" && (verbose || e.Test == ""):
				if !isNoise(e.Output) || verbose {
					fmt.Fprint(out, e.Output)
				}
			case e.Output != "":
				outputs[of] = append(outputs[of], e.Output)
			case e.Test == "" && e.Action == "fail": // a panic or a timeout ends tests without an outcome
				for name, lines := range outputs {
					if name.pkg == e.Package {
						fmt.Fprint(out, strings.Join(lines, ""))
						if _, specs := failure(name, lines); len(specs) > 0 {
							failures = append(failures, specs...)
						}
					}
				}
			case e.Test != "" && (e.Action == "pass" || e.Action == "fail"):
				timings = append(timings, timing{of, e.Elapsed})
				name, specs := failure(of, outputs[of])
				if e.Action == "fail" {
					fmt.Fprint(out, strings.Join(outputs[of], ""))
					failures = append(append(failures, name), specs...)
				} else if len(specs) > 0 {
					continue // go test assigns what a parallel suite prints to any test of the package; the end of the package decides
				}
				delete(outputs, of)
			}
		}
		if err == io.EOF {
			report(out, timings)
			reportFailures(out, failures)
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// isNoise reports whether go test omits a line of a package without -v.
func isNoise(line string) bool {
	return line == "PASS\n" || strings.HasSuffix(line, "[no test files]\n") || strings.HasPrefix(line, "testing: warning")
}

// failure returns the name of a test, and the specs that failed in its output if it is a suite of Ginkgo.
func failure(of test, output []string) (name string, specs []string) {
	for _, line := range output {
		line = ansi.ReplaceAllString(strings.TrimSpace(line), "")
		if strings.HasPrefix(line, "[FAIL]") || strings.HasPrefix(line, "[PANICKED!]") || strings.HasPrefix(line, "[TIMEDOUT]") {
			specs = append(specs, "  "+line)
		}
	}
	return shortPackage(of.pkg) + " " + of.name, specs
}

// ansi matches the codes with which Ginkgo colours its output.
var ansi = regexp.MustCompile("\x1b\\[[0-9;]*m")

func reportFailures(out io.Writer, failures []string) {
	if len(failures) == 0 {
		return
	}
	fmt.Fprintln(out, "\nFailed:")
	for _, line := range failures {
		fmt.Fprintln(out, "  "+line)
	}
}

func shortPackage(pkg string) string { return strings.TrimPrefix(pkg, "github.com/nestor-dev/nestor/") }

func report(out io.Writer, timings []timing) {
	parents := map[test]bool{}
	for _, t := range timings {
		for i, r := range t.name {
			if r == '/' {
				parents[test{t.pkg, t.name[:i]}] = true
			}
		}
	}
	// A parent's time includes that of its subtests.
	timings = slices.DeleteFunc(timings, func(t timing) bool { return parents[t.test] })
	slices.SortStableFunc(timings, func(a, b timing) int { return cmp.Compare(b.seconds, a.seconds) })
	fmt.Fprintln(out, "\nThe slowest tests:")
	for _, t := range timings[:min(10, len(timings))] {
		fmt.Fprintf(out, "%7.1fs  %s %s\n", t.seconds, shortPackage(t.pkg), t.name)
	}
}
