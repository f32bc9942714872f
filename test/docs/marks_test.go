// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// runBy marks commands that another test runs.
const runBy = "run by"

// maxElsewhere is the maximum number of commands that are left to other tests.
const maxElsewhere = 84

// runners are the tests that run what cannot run here, with a check that they exist.
var runners = map[string]func(*testing.T) bool{
	"go test ./hack/demo":                           hasTest("hack/demo", "TestTour"),
	"go test ./internal/cli":                        hasTest("internal/cli", "TestChatOnAScreen"),
	"go test ./internal/ledger/connect":             hasTest("internal/ledger/connect", "TestTransferSurvivesKills"),
	"go test ./test/docs -run TestBackupAndRestore": hasTest("test/docs", "TestBackupAndRestore"),
	"go test ./test/chaos":                          hasTest("test/chaos", "TestInvariantsUnderFailures"),
	"go test ./test/bench":                          hasTest("test/bench", "TestScenarios"),
	"make test":                                     hasTarget("test"),
	"make verify":                                   hasTarget("verify"),
	"make compat":                                   hasTarget("compat"),
	"make e2e":                                      hasTarget("e2e"),
	"make images-test":                              hasTarget("images-test"),
	"make e2e install":                              hasFile("test/e2e/install_test.go"),
	"make e2e operator":                             hasFile("test/e2e/crash_test.go"),
	"make e2e replicas":                             hasFile("test/e2e/replicas_test.go"),
	"make e2e tour":                                 hasFile("test/e2e/tour_test.go"),
	"make e2e uninstall":                            hasFile("test/e2e/uninstall_test.go"),
	"make e2e upgrade":                              hasFile("test/e2e/upgrade_test.go"),
	"make web-e2e":                                  hasTarget("web-e2e"),
}

func TestEveryCommandIsRun(t *testing.T) {
	elsewhere, here := map[string]int{}, 0
	for _, p := range allPages(t) {
		for _, block := range p.Blocks {
			if isReference(p) {
				continue
			}
			if block.Language == "" {
				t.Errorf("%s:%d: the block has no fence or no language (use text if nothing else fits)", p.Path, block.Line)
			}
			if !block.IsShell() {
				continue
			}
			commands, err := block.Commands()
			if err != nil {
				t.Errorf("%s: %v", p.Path, err)
			}
			by := block.Marks[runBy]
			if by == "" {
				here += len(commands)
				continue
			}
			exists, listed := runners[by]
			if !listed || !exists(t) {
				t.Errorf("%s:%d: no such test: %s; see runners", p.Path, block.Line, by)
			}
			elsewhere[by] += len(commands)
		}
	}
	sum := 0
	for by, count := range elsewhere {
		t.Logf("%3d commands are run by %s", count, by)
		sum += count
	}
	t.Logf("%3d commands are run here, %d elsewhere", here, sum)
	if sum > maxElsewhere {
		t.Errorf("%d commands are not run here; %d is the most", sum, maxElsewhere)
	}
}

// hasTest reports whether a package has a test whose name has a prefix.
func hasTest(dir, prefix string) func(*testing.T) bool {
	return func(t *testing.T) bool {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, declared := range parsed.Decls {
				if f, ok := declared.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, prefix) {
					return true
				}
			}
		}
		return false
	}
}

func hasFile(name string) func(*testing.T) bool {
	return func(*testing.T) bool {
		_, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
		return err == nil
	}
}

func makefiles(t *testing.T) []string {
	t.Helper()
	files := []string{filepath.Join(root, "Makefile")}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, included := range regexp.MustCompile(`(?m)^include (.+)$`).FindAllStringSubmatch(string(text), -1) {
		for _, name := range strings.Fields(included[1]) {
			files = append(files, filepath.Join(root, filepath.FromSlash(name)))
		}
	}
	return files
}

func hasTarget(target string) func(*testing.T) bool {
	return func(t *testing.T) bool {
		t.Helper()
		known := regexp.MustCompile(`(?m)^` + target + `:`)
		for _, file := range makefiles(t) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if known.Match(text) {
				return true
			}
		}
		return false
	}
}
