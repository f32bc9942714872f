// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"mvdan.cc/sh/v3/shell"
	"mvdan.cc/sh/v3/syntax"

	"github.com/nestor-dev/nestor/internal/cli"
)

var flagName = regexp.MustCompile(`(?:^|[\s(\[/])--?([a-z][a-z0-9]*(?:-[a-z0-9]+)*)`)

// otherFlags are flags of other programs that pages name.
var otherFlags = map[string]string{
	"allow-http":                "mcp-remote",
	"api-key":                   "vLLM",
	"authentication-config":     "kube-apiserver",
	"cookie-refresh":            "oauth2-proxy",
	"enable-auto-tool-choice":   "vLLM",
	"pass-authorization-header": "oauth2-proxy",
}

// TestFlagsExist checks the flags that pages name in their text. Those in commands are checked by running them.
func TestFlagsExist(t *testing.T) {
	known := knownFlags(t)
	for _, p := range allPages(t) {
		if strings.HasSuffix(p.Path, "/v1beta1.md") { // it lists what is gone
			continue
		}
		for _, code := range p.Code {
			if !strings.HasPrefix(code, "--") {
				continue
			}
			for _, found := range flagName.FindAllStringSubmatch(code, -1) {
				if !known[found[1]] && otherFlags[found[1]] == "" {
					t.Errorf("%s: no program has a flag --%s", p.Path, found[1])
				}
			}
		}
	}
}

// knownFlags returns the flags of our programs and of the kubectl commands in pages.
func knownFlags(t *testing.T) map[string]bool {
	t.Helper()
	s := openSuite(t)
	known := map[string]bool{}
	remember := func(flag *pflag.Flag) { known[flag.Name] = true }
	command := newCommand()
	command.PersistentFlags().VisitAll(remember)
	for _, sub := range descendants(command) {
		sub.LocalFlags().VisitAll(remember)
	}
	kubectl := s.local.Kubectl
	for _, help := range [][]string{
		{filepath.Join(s.bin, "nestor-operator"), "--help"},
		{filepath.Join(s.bin, "nestor-gateway"), "--help"},
		{filepath.Join(s.bin, "nestor-workspace"), "--help"},
		{filepath.Join(s.bin, "nestor-scripted-model"), "--help"},
		{filepath.Join(s.bin, "helm"), "upgrade", "--help"},
		{kubectl, "options"},
		{kubectl, "wait", "--help"}, {kubectl, "get", "--help"}, {kubectl, "apply", "--help"}, {kubectl, "create", "--help"},
	} {
		for _, found := range flagName.FindAllStringSubmatch(output(t.Context(), help), -1) {
			known[found[1]] = true
		}
	}
	return known
}

func descendants(command *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, sub := range command.Commands() {
		all = append(append(all, sub), descendants(sub)...)
	}
	return all
}

// output returns the output of a program; some exit with an error after their help.
func output(ctx context.Context, args []string) string {
	combined, _ := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	return string(combined)
}

func newCommand() *cobra.Command {
	return cli.NewCommand(genericiooptions.NewTestIOStreamsDiscard(), nil)
}

// TestExamplesOfTheReferenceParse checks the examples of the generated reference of the command line. They name chats
// that do not exist, so they are only parsed; the pages and internal/cli run the commands.
func TestExamplesOfTheReferenceParse(t *testing.T) {
	for _, p := range allPages(t) {
		if !isReference(p) {
			continue
		}
		for _, block := range p.Blocks {
			commands, err := block.Commands()
			if err != nil || !block.IsShell() {
				continue
			}
			for _, command := range commands {
				for _, args := range calls(t, command.Text) {
					if err := parses(args); err != nil {
						t.Errorf("%s:%d: %s: %v", p.Path, command.Line, command.Text, err)
					}
				}
			}
		}
	}
}

// calls returns the arguments of `kubectl nestor` in a statement.
func calls(t *testing.T, statement string) (all [][]string) {
	t.Helper()
	file, err := syntax.NewParser().Parse(strings.NewReader(statement), "")
	if err != nil {
		t.Fatal(err)
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		call, ok := node.(*syntax.CallExpr)
		if !ok {
			return true
		}
		var text strings.Builder
		if err := syntax.NewPrinter().Print(&text, call); err != nil {
			t.Fatal(err)
		}
		combined, err := shell.Fields(strings.ReplaceAll(text.String(), "$(", `\$(`), func(string) string { return "value" })
		if err == nil && len(combined) > 2 && combined[0] == "kubectl" && combined[1] == "nestor" {
			all = append(all, combined[2:])
		}
		return true
	})
	return all
}

func parses(args []string) error {
	command, rest, err := newCommand().Find(args)
	if err != nil {
		return err
	}
	if err := command.ParseFlags(rest); err != nil {
		return err
	}
	return command.ValidateArgs(command.Flags().Args())
}
