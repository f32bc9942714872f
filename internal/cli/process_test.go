// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

type programResult struct {
	stdout, stderr string
	code           int
}

// command returns the program as a separate process.
func command(dir string, environ []string, args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(self)
	cmd.Args = append([]string{program}, args...)
	cmd.Dir, cmd.Env = dir, append(environ, "PATH="+os.Getenv("PATH"), "TZ=UTC")
	return cmd
}

// runProgram runs the program without a terminal.
func runProgram(dir string, environ []string, input string, args ...string) programResult {
	cmd := command(dir, environ, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &stdout, &stderr
	_ = cmd.Run() // the exit code is checked
	return programResult{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// masks replace text that differs between runs.
var masks = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`https://127\.0\.0\.1:\d+`), "HOST"},
	{regexp.MustCompile(`Kubernetes v\S+`), "Kubernetes VERSION"},
	{regexp.MustCompile(`call_[a-z0-9]+_\d+`), "CALL"},
	{regexp.MustCompile(`\b(first|second|releases|researcher|chat|doctor)-[bcdfghjklmnpqrstvwxz2456789]{5}\b`), "$1-RANDOM"},
	{regexp.MustCompile(`\d\d:\d\d:\d\d`), "TIME"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dTTIMEZ`), "DATE"},
	{regexp.MustCompile(`\b\d+(\.\d+)?k\b`), "N"},
	{regexp.MustCompile(`\b\d+m?s\b`), "AGE"},
	{regexp.MustCompile(`[▏▎▍▌▋▊▉█]+`), "BAR"},
	{regexp.MustCompile(`(\S)  +`), "$1  "},
	{regexp.MustCompile(`  \d{3}  `), "  N  "},
	{regexp.MustCompile(`  #\d+ TIME`), "  #N TIME"},
	{regexp.MustCompile(`(?m) +$`), ""},
}

func mask(text, namespace string) string {
	text = regexp.MustCompile(`\b`+namespace+`\b`).ReplaceAllString(text, "NAMESPACE")
	for _, m := range masks {
		text = m.pattern.ReplaceAllString(text, m.with)
	}
	return text
}
