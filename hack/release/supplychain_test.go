// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// vulnerabilities runs the script with the given environment and without network access.
func vulnerabilities(t *testing.T, env ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join("..", "vulnerabilities.sh"), "./internal/streams")
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "GOVULNDB=") {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	cmd.Env = append(append(cmd.Env, "https_proxy=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1"), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestCheckIsSkippedWithoutDatabase(t *testing.T) {
	out, err := vulnerabilities(t)
	if err != nil || !strings.Contains(out, "skipped: the database https://vuln.go.dev cannot be reached") {
		t.Errorf("got %v: %s", err, out)
	}
}

func TestConfiguredDatabaseMustExist(t *testing.T) {
	out, err := vulnerabilities(t, "GOVULNDB=file://"+t.TempDir())
	if err == nil || !strings.Contains(out, "cannot be read") {
		t.Errorf("got %v: %s", err, out)
	}
}

func TestLocalDatabaseIsUsed(t *testing.T) {
	copied := t.TempDir()
	if err := os.Mkdir(filepath.Join(copied, "index"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"db.json": `{"modified":"2026-11-01T00:00:00Z"}`, "modules.json": "[]", "vulns.json": "[]"} {
		if err := os.WriteFile(filepath.Join(copied, "index", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// The check itself runs without a network: on a new machine the tool must be downloaded and built first.
	build := exec.CommandContext(t.Context(), "go", "tool", "-modfile=hack/tools/go.mod", "govulncheck", "-version")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := vulnerabilities(t, "GOVULNDB=file://"+copied)
	if err != nil || !strings.Contains(out, "No vulnerabilities found") {
		t.Errorf("got %v: %s", err, out)
	}
}

// TestWorkflowsHaveFewPermissions checks that no workflow has a token with write permissions, and that third-party actions
// are pinned to a commit.
func TestWorkflowsHaveFewPermissions(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", ".github", "workflows", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d workflows: %v", len(files), err)
	}
	pinned := regexp.MustCompile(`@[0-9a-f]{40}$`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var flow struct {
			Permissions *map[string]string `json:"permissions"`
			Jobs        map[string]struct {
				Permissions *map[string]string `json:"permissions"`
				Steps       []struct {
					Uses string `json:"uses"`
					Run  string `json:"run"`
				} `json:"steps"`
			} `json:"jobs"`
		}
		if err := yaml.Unmarshal(text, &flow); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if flow.Permissions == nil || len(*flow.Permissions) > 0 {
			t.Errorf("%s: the workflow must say permissions: {}", file)
		}
		for name, job := range flow.Jobs {
			if job.Permissions == nil {
				t.Errorf("%s: job %s does not say its permissions", file, name)
				continue
			}
			for scope, right := range *job.Permissions {
				if right != "read" && right != "none" {
					t.Errorf("%s: job %s may %s %s", file, name, right, scope)
				}
			}
			for _, step := range job.Steps {
				if step.Uses != "" && !pinned.MatchString(step.Uses) {
					t.Errorf("%s: job %s uses %s, which is not pinned to a commit", file, name, step.Uses)
				}
				if strings.Contains(step.Run, "${{") {
					t.Errorf("%s: job %s has an expression in a script: pass it as an environment variable", file, name)
				}
			}
		}
	}
}

func TestRenovateConfigurationIsJSON(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "renovate.json"))
	if err != nil {
		t.Fatal(err)
	}
	var config map[string]any
	if err := json.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
}
