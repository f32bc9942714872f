// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// TestDockerfileBuilds builds the programs only from the files that the Dockerfile's first stage copies, with the
// command of that stage.
func TestDockerfileBuilds(t *testing.T) {
	first, later := stages(t)
	dir, out := t.TempDir(), t.TempDir()
	ignored := dockerignore(t)
	var build string
	for _, line := range first {
		if sources, ok := strings.CutPrefix(line, "COPY "); ok {
			copyInto(t, dir, strings.Fields(sources), ignored)
		}
		if _, command, ok := strings.Cut(line, "go build "); ok && strings.HasPrefix(line, "RUN ") {
			build = "go build " + command
		}
	}
	if build == "" {
		t.Fatal("the Dockerfile's first stage has no RUN with go build")
	}
	cmd := exec.Command("sh", "-c", strings.Replace(build, "/out/", out+"/", 1))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "VERSION=v1.2.3")
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, output)
	}
	for _, line := range later {
		if from, ok := strings.CutPrefix(line, "COPY --from=build /out/"); ok {
			program := strings.Fields(from)[0]
			if _, err := os.Stat(filepath.Join(out, program)); err != nil {
				t.Errorf("an image needs %s, which the build does not produce: %v", program, err)
			}
		}
	}
}

// instructions returns the Dockerfile's lines without comments, with continued lines joined.
func instructions(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(string(data), "\\\n", " ")) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			lines = append(lines, line)
		}
	}
	return lines
}

// stages splits the Dockerfile's instructions into the first stage and the later ones.
func stages(t *testing.T) (first, later []string) {
	t.Helper()
	lines := instructions(t)
	for i, line := range lines[1:] {
		if strings.HasPrefix(line, "FROM ") {
			return lines[:i+1], lines[i+1:]
		}
	}
	return lines, nil
}

// copyInto imitates COPY SOURCE... DESTINATION: the contents of a directory go into the destination, a file to it, or
// below it if it ends with a slash.
func copyInto(t *testing.T, dir string, args []string, ignored func(name string) bool) {
	t.Helper()
	sources, to := args[:len(args)-1], args[len(args)-1]
	for _, source := range sources {
		copied := 0
		err := filepath.WalkDir(filepath.Join(root, source), func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			name, err := filepath.Rel(root, file)
			if err != nil || ignored(filepath.ToSlash(name)) {
				return err
			}
			below, err := filepath.Rel(filepath.Join(root, source), file)
			if err != nil {
				return err
			}
			if below == "." && strings.HasSuffix(to, "/") {
				below = path.Base(source)
			}
			copied++
			return copyFile(file, filepath.Join(dir, to, below))
		})
		if err != nil {
			t.Fatalf("COPY %s: %v", source, err)
		}
		if copied == 0 {
			t.Fatalf("COPY %s: .dockerignore leaves no file of it", source)
		}
	}
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}

// dockerignore parses .dockerignore: the last pattern that matches a path, or a directory above it, decides.
func dockerignore(t *testing.T) func(name string) bool {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, ".dockerignore"))
	if err != nil {
		t.Fatal(err)
	}
	type rule struct {
		pattern *regexp.Regexp
		keep    bool
	}
	var rules []rule
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		pattern, keep := strings.CutPrefix(line, "!")
		expression := strings.NewReplacer(`\*\*/`, `(.*/)?`, `\*`, `[^/]*`).Replace(regexp.QuoteMeta(pattern))
		rules = append(rules, rule{regexp.MustCompile("^" + expression + "(/.*)?$"), keep})
	}
	return func(name string) bool {
		ignored := false
		for _, r := range rules {
			if r.pattern.MatchString(name) {
				ignored = !r.keep
			}
		}
		return ignored
	}
}
