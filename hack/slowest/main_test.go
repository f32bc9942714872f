// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

const log = `{"Action":"start","Package":"github.com/nestor-dev/nestor/a"}
{"Action":"output","Package":"github.com/nestor-dev/nestor/a","Test":"TestQuick","Output":"chatter\n"}
{"Action":"pass","Package":"github.com/nestor-dev/nestor/a","Test":"TestQuick","Elapsed":0.1}
{"Action":"pass","Package":"github.com/nestor-dev/nestor/a","Test":"TestBoth/one","Elapsed":3}
{"Action":"pass","Package":"github.com/nestor-dev/nestor/a","Test":"TestBoth","Elapsed":3.2}
{"Action":"output","Package":"github.com/nestor-dev/nestor/a","Test":"TestWrong","Output":"    a_test.go:7: no\n"}
{"Action":"output","Package":"github.com/nestor-dev/nestor/a","Test":"TestWrong","Output":"  \u001b[38;5;9m[FAIL]\u001b[0m With SQLite [It] works\n"}
{"Action":"fail","Package":"github.com/nestor-dev/nestor/a","Test":"TestWrong","Elapsed":1}
{"Action":"output","Package":"github.com/nestor-dev/nestor/a","Output":"FAIL\tgithub.com/nestor-dev/nestor/a\t4.3s\n"}
{"Action":"output","Package":"github.com/nestor-dev/nestor/b","Output":"PASS\n"}
{"Action":"output","Package":"github.com/nestor-dev/nestor/b","Output":"ok  \tgithub.com/nestor-dev/nestor/b\t0.1s\n"}
{"Action":"fail","Package":"github.com/nestor-dev/nestor/a","Elapsed":4.3}
a line that is not JSON
`

func TestSlowest(t *testing.T) {
	const want = `    a_test.go:7: no
` + "  \x1b[38;5;9m[FAIL]\x1b[0m With SQLite [It] works\n" + `FAIL	github.com/nestor-dev/nestor/a	4.3s
ok  	github.com/nestor-dev/nestor/b	0.1s
a line that is not JSON

The slowest tests:
    3.0s  a TestBoth/one
    1.0s  a TestWrong
    0.1s  a TestQuick

Failed:
  a TestWrong
    [FAIL] With SQLite [It] works
`
	var out strings.Builder
	if err := run(strings.NewReader(log), &out, false); err != nil || out.String() != want {
		t.Errorf("(%v) got:\n%s\nwant:\n%s", err, out.String(), want)
	}
}

func TestPanicIsPrinted(t *testing.T) {
	const log = `{"Action":"output","Package":"a","Test":"TestOther","Output":"chatter\n"}
{"Action":"pass","Package":"a","Test":"TestOther","Elapsed":0.1}
{"Action":"output","Package":"a","Test":"TestWrong","Output":"panic: no\n"}
{"Action":"output","Package":"a","Output":"FAIL\ta\t1.0s\n"}
{"Action":"fail","Package":"a","Elapsed":1}
`
	var out strings.Builder
	if err := run(strings.NewReader(log), &out, false); err != nil || !strings.Contains(out.String(), "panic: no\n") || strings.Contains(out.String(), "chatter") {
		t.Errorf("(%v) got:\n%s", err, out.String())
	}
}

// What a suite prints beside a parallel test may be assigned to that test, which passes.
func TestSpecBesidePassingTest(t *testing.T) {
	const log = `{"Action":"output","Package":"a","Test":"TestBeside","Output":"[FAIL] With SQLite [It] works\n"}
{"Action":"pass","Package":"a","Test":"TestBeside","Elapsed":0.1}
{"Action":"fail","Package":"a","Test":"TestSuite","Elapsed":1}
{"Action":"output","Package":"a","Output":"FAIL\ta\t1.0s\n"}
{"Action":"fail","Package":"a","Elapsed":1}
`
	var out strings.Builder
	err := run(strings.NewReader(log), &out, false)
	if _, summary, _ := strings.Cut(out.String(), "Failed:"); err != nil || !strings.Contains(summary, "a TestSuite\n    [FAIL] With SQLite [It] works\n") {
		t.Errorf("(%v) got:\n%s", err, out.String())
	}
}

func TestVerbose(t *testing.T) {
	var out strings.Builder
	if err := run(strings.NewReader(log), &out, true); err != nil || !strings.Contains(out.String(), "chatter\n") {
		t.Errorf("(%v) got:\n%s", err, out.String())
	}
}
