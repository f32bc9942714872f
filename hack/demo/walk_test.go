// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// buildCLI builds kubectl-nestor, as make demo does, and returns its directory.
func buildCLI(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", dir+string(os.PathSeparator), "../../cmd/kubectl-nestor")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build kubectl-nestor: %v\n%s", err, out)
	}
	return dir
}

// How fast a newcomer reads and types.
const (
	wordsPerMinute      = 200
	charactersPerMinute = 200
	// walkLimit is how long the walk from the README to the first approved change may take, without the time that programs take.
	walkLimit = 3 * time.Minute
)

// playFirstChange runs the commands that the demo prints, up to the first approved change, and estimates how long a newcomer reads and types.
func playFirstChange(t *testing.T, demo *runningDemo) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	opening, _, _ := strings.Cut(string(readme), "\nA person talks")
	if !strings.Contains(opening, "make demo ") {
		t.Fatalf("the README does not begin with the command:\n%s", opening)
	}
	_, printed, _ := strings.Cut(demo.output(), "In another terminal:")
	typed, read := []string{"make demo"}, len(strings.Fields(opening))+len(strings.Fields(printed))
	began := time.Now()
	for line := range strings.Lines(printed) {
		command, found := strings.CutPrefix(line, "  ")
		command, _, _ = strings.Cut(command, "   #")
		command = strings.TrimSpace(command)
		if !found || command == "" {
			continue
		}
		typed = append(typed, command)
		if strings.HasPrefix(command, ". ") {
			continue // shell reads it before each command
		}
		demo.run(command)
		if strings.Contains(command, " approve ") {
			break
		}
	}
	changed := filepath.Join(demo.dir, "projects", "first-*", "docs", "usage.md")
	demo.eventually("the approved change is made", func() bool {
		written, err := filepath.Glob(changed)
		return err == nil && len(written) == 1
	})
	transcript := ""
	demo.eventually("the orchestrator has seen the answer", func() bool {
		transcript = demo.run("kubectl nestor transcript first")
		return strings.Contains(transcript, "the security reviewer has your answer")
	})
	if strings.Contains(transcript, "Failed") {
		t.Errorf("a call of the tour fails:\n%s", transcript)
	}
	reading := time.Duration(read) * time.Minute / wordsPerMinute
	typing := time.Duration(len(strings.Join(typed, "\n"))) * time.Minute / charactersPerMinute
	t.Logf("%d words (%s), %d commands (%s); the programs took %s", read, reading.Round(time.Second), len(typed), typing.Round(time.Second), time.Since(began).Round(time.Second))
	if reading+typing > walkLimit {
		t.Errorf("a newcomer reads and types for %s, want at most %s", reading+typing, walkLimit)
	}
}

// run runs a command that the demo prints. One that follows a chat ends with 5 when agents wait for the person.
func (p *runningDemo) run(command string) string {
	p.t.Helper()
	const waiting = 5
	out, err := p.command(command).CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == waiting && strings.Contains(command, "--follow") {
		err = nil
	}
	if err != nil {
		p.t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}

// checkNewChats checks that a chat has the sample project however it is made.
func checkNewChats(t *testing.T, demo *runningDemo) {
	for name, create := range map[string]string{
		"by-cli":     "kubectl nestor new by-cli",
		"by-kubectl": `echo '{"apiVersion":"nestor.dev/v1beta1","kind":"AgentChat","metadata":{"name":"by-kubectl"}}' | kubectl create -f -`,
		"by-spec":    `echo '{"apiVersion":"nestor.dev/v1beta1","kind":"AgentChat","metadata":{"name":"by-spec"},"spec":{"limits":{"maxDepth":2}}}' | kubectl create -f -`,
	} {
		demo.shell(create)
		if path := demo.shell("kubectl get agentchat " + name + " -o jsonpath='{.spec.workspace.directory.path}'"); path != filepath.Join(demo.dir, "sample-project") {
			t.Errorf("the workspace of %s is %q", name, path)
		}
	}
	demo.shell(`echo '{"apiVersion":"nestor.dev/v1beta1","kind":"AgentChat","metadata":{"name":"own"},"spec":{"workspace":{"emptyDir":{}}}}' | kubectl create -f -`)
	if own := demo.shell("kubectl get agentchat own -o jsonpath='{.spec.workspace}'"); strings.Contains(own, "directory") {
		t.Errorf("a chat with a workspace of its own has %s", own)
	}
}

// playExamples runs the commands on the pages of examples. The other examples of the demo are played by test/examples: a role binding takes effect
// a moment after its creation, and quotas stay.
func playExamples(t *testing.T, demo *runningDemo) {
	for name, want := range map[string]string{
		"invoice-extraction": "11450 true",
		"reviewed-writing":   "Checkout failed from 10:00 to 10:20 UTC.",
	} {
		page, err := os.ReadFile("../../examples/" + name + "/README.md")
		if err != nil {
			t.Fatal(err)
		}
		_, commands, _ := strings.Cut(string(page), "```sh\n")
		commands, _, found := strings.Cut(commands, "```")
		if !found {
			t.Fatalf("the page of %s has no commands", name)
		}
		if out := demo.shell("cd ../.. && set -e\n" + commands); !strings.Contains(out, want) {
			t.Errorf("%s prints this, want %q:\n%s", name, want, out)
		}
	}
}
