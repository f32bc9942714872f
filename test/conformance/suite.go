// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/json"
	"io/fs"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/test/forward"
)

const (
	// packages is where make mcp-servers installs the suite, seen from a directory below test.
	packages = "../../hack/mcp-servers"
	// newest is a revision that all scenarios which apply to it run with too. Without a revision a scenario runs with the newest of the
	// earlier ones, if it applies there.
	newest = "2026-07-28"
	// scenarioTimeout is generous, because the machine may be busy.
	scenarioTimeout = "180000"
)

// outcome is how a scenario ended.
type outcome struct {
	failed []string // the IDs of the checks that failed
	errors []string // why they failed
	passed bool     // whether a check passed, and none failed
}

// RunServer runs the server scenarios against the server at a URL, and compares the outcomes with a table.
func RunServer(t *testing.T, url, table string) {
	t.Helper()
	run(t, table, "server", "--url", url)
}

// RunClient runs the client scenarios against a program, which gets the URL of a server as its last argument.
func RunClient(t *testing.T, program, table string) {
	t.Helper()
	run(t, table, "client", "--command", program)
}

// WithToken returns the URL of a proxy on loopback that adds a bearer token to requests, because the suite cannot.
func WithToken(t *testing.T, server, token string) string {
	t.Helper()
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(forward.Handler(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: target.Scheme, Host: target.Host})
		r.Out.Host = r.In.Host // scenarios send false ones
		r.Out.Header.Set("Authorization", "Bearer "+token)
	}}))
	t.Cleanup(func() {
		proxy.CloseClientConnections()
		proxy.Close()
	})
	return proxy.URL + target.Path
}

func run(t *testing.T, table string, arguments ...string) {
	t.Helper()
	outcomes := map[string]outcome{}
	for suffix, version := range map[string][]string{"": nil, "@" + newest: {"--spec-version", newest}} {
		for scenario, o := range runSuite(t, append(arguments, version...)) {
			outcomes[scenario+suffix] = o
		}
	}
	readTable(t, table).compare(t, outcomes)
}

// runSuite runs the suite once and returns the outcomes by scenario.
func runSuite(t *testing.T, arguments []string) map[string]outcome {
	t.Helper()
	directory := t.TempDir()
	script := filepath.Join(packages, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")
	node, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(script)
	}
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatalf("the conformance suite is needed in CI: install node and run make mcp-servers: %v", err)
	}
	if err != nil {
		t.Skipf("the conformance suite is missing: install node and run make mcp-servers: %v", err)
	}
	preload, err := filepath.Abs(filepath.Join(packages, "node20.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	whole := append([]string{"--import", preload, script}, arguments...)
	whole = append(whole, "--suite", "all", "--output-dir", directory, "--timeout", scenarioTimeout)
	output, err := exec.CommandContext(t.Context(), node, whole...).CombinedOutput()
	outcomes := readOutcomes(t, directory)
	if len(outcomes) == 0 {
		t.Fatalf("the suite did not run: %v\n%s", err, output)
	}
	return outcomes
}

// directoryName is the name of a directory with results: a scenario and the time.
var directoryName = regexp.MustCompile(`^(?:server-)?(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$`)

// readOutcomes reads the results that the suite wrote.
func readOutcomes(t *testing.T, directory string) map[string]outcome {
	t.Helper()
	outcomes := map[string]outcome{}
	err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "checks.json" {
			return err
		}
		relative, err := filepath.Rel(directory, filepath.Dir(path))
		if err != nil {
			return err
		}
		match := directoryName.FindStringSubmatch(filepath.ToSlash(relative))
		if match == nil {
			t.Errorf("the suite wrote results to %s", relative)
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		outcomes[match[1]] = decode(t, text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return outcomes
}

// decode reads the checks of a scenario. The checks of the messages' schemas do not show that the scenario did anything.
func decode(t *testing.T, text []byte) outcome {
	t.Helper()
	var checks []struct{ ID, Status, ErrorMessage string }
	if err := json.Unmarshal(text, &checks); err != nil {
		t.Fatal(err)
	}
	var o outcome
	for _, check := range checks {
		switch {
		case check.Status == "FAILURE":
			o.failed = append(o.failed, check.ID)
			o.errors = append(o.errors, check.ID+": "+check.ErrorMessage)
		case check.Status == "SUCCESS" && !strings.HasPrefix(check.ID, "wire-schema"):
			o.passed = true
		}
	}
	o.passed = o.passed && len(o.failed) == 0
	return o
}
