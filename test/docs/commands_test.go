// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/nestor-dev/nestor/test/docs/page"
	"github.com/nestor-dev/nestor/test/patience"
)

const pageTimeout = 8 * time.Minute

// TestCommands runs the commands of every page. The pages of the doors share a namespace: a person reads them one after the other.
func TestCommands(t *testing.T) {
	t.Parallel()
	var doors []*page.Page
	for _, p := range allPages(t) {
		if strings.HasPrefix(title(p), "tasks/door-") {
			doors = append(doors, p)
			continue
		}
		if !hasCommands(p) || p.Marks[cluster] != "" {
			continue
		}
		t.Run(title(p), func(t *testing.T) {
			t.Parallel()
			newReader(t, p).follow()
		})
	}
	t.Run("doors", func(t *testing.T) {
		t.Parallel()
		s := openSuite(t)
		room := s.newEnvironment(t, doors[0])
		for _, p := range doors {
			read(t, s, p, room).follow()
		}
	})
}

func hasCommands(p *page.Page) bool {
	if isReference(p) {
		return false
	}
	for _, block := range p.Blocks {
		if block.IsShell() && block.Marks[runBy] == "" {
			return true
		}
	}
	return false
}

// isReference reports whether a page is the generated reference of the command line; see
// TestExamplesOfTheReferenceParse.
func isReference(p *page.Page) bool { return title(p) == "reference/cli" }

type reader struct {
	*testing.T
	stage *suite
	page  *page.Page
	room  environment
	shell *page.Shell
}

func newReader(t *testing.T, p *page.Page) *reader {
	t.Helper()
	s := openSuite(t)
	return read(t, s, p, s.newEnvironment(t, p))
}

func read(t *testing.T, s *suite, p *page.Page, in environment) *reader {
	t.Helper()
	r := &reader{T: t, stage: s, page: p, room: in}
	ctx, cancel := context.WithTimeout(t.Context(), pageTimeout)
	t.Cleanup(cancel)
	shell, err := page.NewShell(ctx, r.room.dir, r.room.scratch, r.room.env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shell.Close(); err != nil {
			t.Error(err)
		}
	})
	r.shell = shell
	return r
}

// follow runs the page from its beginning to its end.
func (r *reader) follow() {
	for _, block := range r.page.Blocks {
		if name := block.File(); name != "" {
			r.save(name, block)
		}
		if !block.IsShell() || block.Marks[runBy] != "" {
			continue
		}
		commands, err := block.Commands()
		if err != nil {
			r.Fatalf("%s: %v", r.page.Path, err)
		}
		for _, command := range commands {
			r.do(command)
		}
	}
}

func (r *reader) save(name string, block page.Block) {
	path := filepath.Join(r.room.dir, name)
	if err := os.WriteFile(path, []byte(r.rewrite(block.Text)), 0o600); err != nil {
		r.Fatalf("%s:%d: %v", r.page.Path, block.Line, err)
	}
}

// rewrite replaces places that a page names by those of this room.
func (r *reader) rewrite(text string) string {
	text = strings.ReplaceAll(text, "NAMESPACE=default", "NAMESPACE="+r.room.namespace)
	text = strings.ReplaceAll(text, "--timeout 1m", "--timeout 5m") // the machine may be busy with the other pages
	return strings.ReplaceAll(r.stage.hosts.Replace(text), "/namespaces/default/", "/namespaces/"+r.room.namespace+"/")
}

func (r *reader) do(command page.Command) {
	text := r.rewrite(command.Text)
	if command.Serves {
		r.serve(command, text)
		return
	}
	output, code, err := r.shell.Run(text)
	if err != nil {
		r.Fatalf("%s: %v\n%s", r.place(command), err, output)
	}
	if command.Want != nil && readOnlyCommand.MatchString(text) && (code != command.Code || !page.Matches(*command.Want, output)) {
		output, code = r.runUntilStable(command, text)
	}
	if code != command.Code {
		r.Fatalf("%s: exit code %d, want %d\n%s", r.place(command), code, command.Code, output)
	}
	if command.Want != nil && !page.Matches(*command.Want, output) {
		r.Errorf("%s: the page shows\n%s\nand it printed\n%s", r.place(command), *command.Want, output)
	}
}

// readOnlyCommand matches commands that change nothing and are repeated until the agents are done.
var readOnlyCommand = regexp.MustCompile(`^(kubectl (get|describe|auth|events|explain)|kubectl nestor (tree|transcript|usage|roles|doctor))\b`)

func (r *reader) runUntilStable(command page.Command, text string) (output string, code int) {
	_ = wait.PollUntilContextTimeout(r.Context(), 100*time.Millisecond, patience.Limit(), true, func(context.Context) (bool, error) {
		var err error
		output, code, err = r.shell.Run(text)
		return code == command.Code && page.Matches(*command.Want, output), err
	}) // the caller checks the last result
	return output, code
}

// serve runs a program until it prints something, as servers do when they are ready. It ends with the page's shell.
func (r *reader) serve(command page.Command, text string) {
	outputFile := filepath.Join(r.room.scratch, fmt.Sprintf("served-%d", command.Line))
	if output, _, err := r.shell.Run(fmt.Sprintf("{ %s\n} >'%s' 2>&1 &", text, outputFile)); err != nil {
		r.Fatalf("%s: %v\n%s", r.place(command), err, output)
	}
	if !patience.Until(func() bool {
		combined, err := os.ReadFile(outputFile)
		return err == nil && strings.Contains(string(combined), "\n")
	}) {
		r.Fatalf("%s: it printed nothing", r.place(command))
	}
	if output, code, err := r.shell.Run("kill -0 $!"); err != nil || code != 0 {
		combined, _ := os.ReadFile(outputFile)
		r.Fatalf("%s: it ended: %s%v\n%s", r.place(command), output, err, combined)
	}
}

func (r *reader) place(command page.Command) string {
	return fmt.Sprintf("%s:%d: %s", r.page.Path, command.Line, command.Text)
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	value, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(value))
}
