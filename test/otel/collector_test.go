// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package otel

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/nestor-dev/nestor/test/patience"
	"github.com/nestor-dev/nestor/test/ports"
)

// collector is an OpenTelemetry Collector that writes what it receives to files.
type collector struct {
	dir string
	// http and grpc are its OTLP endpoints.
	http, grpc string
}

const config = `
receivers:
  otlp: {protocols: {http: {endpoint: %[2]s}, grpc: {endpoint: %[3]s}}}
exporters:
  file/traces: {path: %[1]s/traces.jsonl, flush_interval: 50ms}
  file/metrics: {path: %[1]s/metrics.jsonl, flush_interval: 50ms}
service:
  pipelines:
    traces: {receivers: [otlp], exporters: [file/traces]}
    metrics: {receivers: [otlp], exporters: [file/metrics]}
`

// startCollector builds a collector and runs it until the test ends.
func startCollector(t *testing.T) *collector {
	t.Helper()
	dir := t.TempDir()
	// In a place that stays: the Go tool links only what has changed.
	program, err := filepath.Abs(filepath.Join("..", "..", "bin", "test", "collector"))
	if err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = filepath.Join("..", "..", "hack", "collector")
	if texts, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the collector: %v\n%s", err, texts)
	}
	c := &collector{dir: dir, http: freeAddress(t), grpc: freeAddress(t)}
	file := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, config, dir, c.http, c.grpc), 0o600); err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	run := exec.CommandContext(ctx, program, "--config", "file:"+file)
	run.Stdout, run.Stderr = &output, &output
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = run.Wait()
		if t.Failed() {
			t.Logf("the collector's output:\n%s", output.String())
		}
	})
	for _, address := range []string{c.http, c.grpc} {
		eventually(t, "the collector listens", func(ctx context.Context) (bool, error) {
			connection, err := new(net.Dialer).DialContext(ctx, "tcp", address)
			if err != nil {
				return false, nil //nolint:nilerr // it has not started yet
			}
			return true, connection.Close()
		})
	}
	return c
}

type span struct {
	TraceID    string      `json:"traceId"`
	SpanID     string      `json:"spanId"`
	Parent     string      `json:"parentSpanId"`
	Name       string      `json:"name"`
	Start      json.Number `json:"startTimeUnixNano"`
	End        json.Number `json:"endTimeUnixNano"`
	Attributes []struct {
		Key   string                     `json:"key"`
		Value map[string]json.RawMessage `json:"value"`
	} `json:"attributes"`
}

func (s span) attribute(key string) string {
	for _, a := range s.Attributes {
		if a.Key != key {
			continue
		}
		for _, value := range a.Value {
			return strings.Trim(string(value), `"`)
		}
	}
	return ""
}

func (s span) startsAt() int64 {
	at, _ := s.Start.Int64()
	return at
}

// spans returns everything received so far, by start time.
func (c *collector) spans(t *testing.T) []span {
	t.Helper()
	var spans []span
	for line := range c.lines(t, "traces.jsonl") {
		var batch struct {
			ResourceSpans []struct {
				ScopeSpans []struct {
					Spans []span `json:"spans"`
				} `json:"scopeSpans"`
			} `json:"resourceSpans"`
		}
		if err := json.Unmarshal([]byte(line), &batch); err != nil {
			continue // it is being written
		}
		for _, resource := range batch.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				spans = append(spans, scope.Spans...)
			}
		}
	}
	slices.SortStableFunc(spans, func(a, b span) int { return int(a.startsAt() - b.startsAt()) })
	return spans
}

// lines yields the lines of a file that may not exist yet.
func (c *collector) lines(t *testing.T, name string) func(yield func(string) bool) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return func(yield func(string) bool) {
		scanner := bufio.NewScanner(bytes.NewReader(content))
		scanner.Buffer(nil, 16<<20)
		for scanner.Scan() {
			if !yield(scanner.Text()) {
				return
			}
		}
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := ports.Free(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return address
}

func eventually(t *testing.T, what string, holds func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience.Limit(), true, holds); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
