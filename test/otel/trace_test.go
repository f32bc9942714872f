// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package otel

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/patience"
	"github.com/nestor-dev/nestor/test/stack"
	"github.com/nestor-dev/nestor/test/world"
)

const apiKey = "sk-nobody-may-see-this"

// wholeTrace is the trace of one message, through all depths. Siblings are sorted by name: sorted by time, a control
// tool, whose times are whole milliseconds, may precede the reply that called it.
const wholeTrace = `invoke_agent orchestrator
  chat scripted
  chat scripted
  execute_tool delegate_to_agent
    invoke_agent coder
      chat scripted
      chat scripted
      execute_tool delegate_to_agent
        invoke_agent tester
          chat scripted
          chat scripted
          execute_tool think
      execute_tool submit_result
  invoke_agent orchestrator
    chat scripted
`

type environment struct {
	*world.World

	t         *testing.T
	collector *collector
}

func start(t *testing.T) *environment {
	t.Helper()
	w := &environment{t: t, collector: startCollector(t)}
	w.World = world.Start(t, stack.Options{Scripts: []string{"testdata/two-depths.yaml"}, Env: []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + w.collector.http, "OTEL_BSP_SCHEDULE_DELAY=50", "OTEL_METRIC_EXPORT_INTERVAL=100",
	}})
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "key"}, StringData: map[string]string{"key": apiKey}})
	provider := &v1beta1.ModelProvider{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "default"}}
	provider.Spec.BaseURL, provider.Spec.DefaultModel = w.ModelURL, "scripted"
	provider.Spec.APIKeyRef = &v1beta1.SecretKeyRef{Name: "key", Key: "key"}
	w.create(provider)
	w.create(&v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "chat"}})
	return w
}

func (w *environment) create(object client.Object) {
	w.t.Helper()
	if err := w.API.Create(w.t.Context(), object); err != nil {
		w.t.Fatal(err)
	}
}

func (w *environment) sendMessage(name string) {
	w.t.Helper()
	w.create(&v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: v1beta1.AgentMessageSpec{Chat: "chat", Content: "A private question."}})
}

// waitForSpans waits until the given number of spans with a name was received.
func (w *environment) waitForSpans(name string, count int) {
	w.t.Helper()
	eventually(w.t, fmt.Sprintf("%d spans %s", count, name), func(context.Context) (bool, error) {
		return w.count(name) >= count, nil
	})
}

// waitForTrace waits until as many spans as a whole trace has were exported after earlier ones. Spans end in no particular order.
func (w *environment) waitForTrace(before int) {
	w.t.Helper()
	eventually(w.t, "the spans of a whole trace", func(context.Context) (bool, error) {
		return len(w.collector.spans(w.t)) >= before+strings.Count(wholeTrace, "\n"), nil
	})
}

// count returns the number of received spans with a name.
func (w *environment) count(name string) int {
	w.t.Helper()
	count := 0
	for _, s := range w.collector.spans(w.t) {
		if s.Name == name {
			count++
		}
	}
	return count
}

// modelRequest has the relevant fields of a request to the model.
type modelRequest struct {
	IdempotencyKey string `json:"idempotencyKey"`
	Traceparent    string `json:"traceparent"`
	Role           string `json:"role"`
	Turn           int    `json:"turn"`
}

func (w *environment) modelRequests(ctx context.Context) ([]modelRequest, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.ModelAdmin+"/requests", nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var record struct {
		Requests []modelRequest `json:"requests"`
	}
	return record.Requests, json.NewDecoder(response.Body).Decode(&record)
}

func TestOneTraceSurvivesTheOperator(t *testing.T) {
	w := start(t)
	w.sendMessage("first")
	eventually(t, "the tester waits for its model", func(ctx context.Context) (bool, error) {
		requests, err := w.modelRequests(ctx)
		return slices.ContainsFunc(requests, func(r modelRequest) bool { return r.Role == "tester" && r.Turn == 2 }), err
	})
	// What has ended and was not exported would be lost with the operator: all but what the tester and the coder above it wait for.
	for name, count := range map[string]int{"execute_tool think": 1, "execute_tool delegate_to_agent": 1, "chat scripted": 4, "invoke_agent orchestrator": 1} {
		w.waitForSpans(name, count)
	}
	if err := w.Operator.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := w.StartOperator(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.waitForTrace(0)
	spans := w.collector.spans(t)
	if diff := cmp.Diff(wholeTrace, render(t, spans)); diff != "" {
		t.Errorf("the trace is another one (-want +got):\n%s", diff)
	}
	for _, s := range spans {
		if s.TraceID != spans[0].TraceID {
			t.Errorf("%s is in another trace", s.Name)
		}
	}
	w.checkAttributes(spans)
	w.checkTraceparents(spans)
	w.checkSecrecy("private", apiKey)
	w.checkMetrics()
	w.checkServed()

	// With content, in another trace.
	w.restart("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY")
	second := w.nextTrace("second")
	if output := second[1].attribute("gen_ai.input.messages"); !strings.Contains(output, "A private question.") {
		t.Errorf("content capture is enabled, but the content is missing: %q", output)
	}
	w.checkSecrecy(apiKey)

	// With the other protocol.
	w.restart("OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+w.collector.grpc, "OTEL_SERVICE_NAME=by-grpc")
	w.nextTrace("third")
	for _, file := range []string{"traces.jsonl", "metrics.jsonl"} {
		eventually(t, file+" has what came by gRPC", func(context.Context) (bool, error) {
			for line := range w.collector.lines(t, file) {
				if strings.Contains(line, `"by-grpc"`) {
					return true, nil
				}
			}
			return false, nil
		})
	}
}

// restart replaces the operator by one with additional environment variables.
func (w *environment) restart(env ...string) {
	w.t.Helper()
	ended, cancel := context.WithTimeout(w.t.Context(), patience.Limit())
	defer cancel()
	if err := w.Operator.Terminate(ended); err != nil {
		w.t.Fatalf("the operator ended with %v", err)
	}
	if err := w.LaunchOperator(w.t.Context(), env...); err != nil {
		w.t.Fatal(err)
	}
}

// nextTrace sends a message, and returns the spans of its complete trace.
func (w *environment) nextTrace(message string) []span {
	w.t.Helper()
	before := len(w.collector.spans(w.t))
	w.sendMessage(message)
	w.waitForTrace(before)
	spans := w.collector.spans(w.t)[before:]
	if diff := cmp.Diff(wholeTrace, render(w.t, spans)); diff != "" {
		w.t.Errorf("the trace of the %s message is another one (-want +got):\n%s", message, diff)
	}
	return spans
}

// checkAttributes checks the attributes that the conventions require.
func (w *environment) checkAttributes(spans []span) {
	w.t.Helper()
	required := map[string][]string{
		"chat": {"gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.response.model", "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens",
			"gen_ai.response.finish_reasons", "gen_ai.conversation.id", "gen_ai.agent.name", "gen_ai.agent.id", "server.address", "server.port"},
		"execute_tool": {"gen_ai.operation.name", "gen_ai.tool.name", "gen_ai.tool.call.id", "gen_ai.conversation.id", "gen_ai.agent.name"},
		"invoke_agent": {"gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.conversation.id", "gen_ai.agent.name", "gen_ai.agent.id"},
	}
	for _, s := range spans {
		operation, _, _ := strings.Cut(s.Name, " ")
		if s.attribute("gen_ai.operation.name") != operation {
			w.t.Errorf("%s is the operation %q", s.Name, s.attribute("gen_ai.operation.name"))
		}
		for _, key := range required[operation] {
			if s.attribute(key) == "" {
				w.t.Errorf("%s has no %s", s.Name, key)
			}
		}
	}
}

// checkTraceparents checks that the model received the span of each answered call.
func (w *environment) checkTraceparents(spans []span) {
	w.t.Helper()
	requests, err := w.modelRequests(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	sent := map[string]bool{}
	for _, r := range requests {
		sent[r.Traceparent] = true
	}
	for _, s := range spans {
		if strings.HasPrefix(s.Name, "chat ") && !sent["00-"+s.TraceID+"-"+s.SpanID+"-01"] {
			w.t.Errorf("the model never received %s of the trace %s; it received %v", s.SpanID, s.TraceID, sent)
		}
	}
}

// checkSecrecy checks that the given texts are in nothing that was sent.
func (w *environment) checkSecrecy(texts ...string) {
	w.t.Helper()
	for _, file := range []string{"traces.jsonl", "metrics.jsonl"} {
		for line := range w.collector.lines(w.t, file) {
			for _, word := range texts {
				if strings.Contains(line, word) {
					w.t.Errorf("%s contains %q", file, word)
				}
			}
		}
	}
}

func (w *environment) checkMetrics() {
	w.t.Helper()
	eventually(w.t, "the metrics of the conventions", func(context.Context) (bool, error) {
		missing := map[string]bool{"gen_ai.client.operation.duration": true, "gen_ai.client.token.usage": true, "gen_ai.invoke_agent.duration": true, "gen_ai.execute_tool.duration": true}
		for line := range w.collector.lines(w.t, "metrics.jsonl") {
			for name := range missing {
				if strings.Contains(line, `"name":"`+name+`"`) {
					delete(missing, name)
				}
			}
		}
		return len(missing) == 0, nil
	})
}

// libraryMetric matches metrics of the operator's libraries in the dashboard and the alerts.
var libraryMetric = regexp.MustCompile(`\b(controller_runtime|workqueue|rest_client|process)_[a-z_]+`)

// checkServed checks that the operator serves the library metrics of the dashboard and the alerts. hack/monitoring
// checks its own metrics.
func (w *environment) checkServed() {
	w.t.Helper()
	for _, file := range []string{"rules.yaml", "dashboard.json"} {
		content, err := os.ReadFile(filepath.Join("..", "..", "config", "monitoring", file))
		if err != nil {
			w.t.Fatal(err)
		}
		for _, name := range libraryMetric.FindAllString(string(content), -1) {
			// Some metrics exist only after their first use, and the operator has just started.
			eventually(w.t, "the operator to serve "+name+", which "+file+" asks for", func(ctx context.Context) (bool, error) {
				served, err := w.served(ctx)
				return strings.Contains(served, "\n"+name), err
			})
		}
	}
}

// served returns the metrics that Prometheus would read.
func (w *environment) served(ctx context.Context) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.Metrics+"/metrics", nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	served, err := io.ReadAll(response.Body)
	return string(served), err
}

// render formats spans as a tree. It reports duplicate IDs and missing parents.
func render(t *testing.T, spans []span) string {
	t.Helper()
	known := map[string]bool{"": true}
	for _, s := range spans {
		if known[s.SpanID] {
			t.Errorf("two spans have the id of %s", s.Name)
		}
		known[s.SpanID] = true
	}
	var b strings.Builder
	var under func(parent, indent string)
	under = func(parent, indent string) {
		children := slices.DeleteFunc(slices.Clone(spans), func(s span) bool { return s.Parent != parent })
		slices.SortStableFunc(children, func(a, b span) int { return strings.Compare(a.Name, b.Name) })
		for _, s := range children {
			fmt.Fprintf(&b, "%s%s\n", indent, s.Name)
			under(s.SpanID, indent+"  ")
		}
	}
	under("", "")
	for _, s := range spans {
		if !known[s.Parent] {
			t.Errorf("the parent of %s is missing", s.Name)
		}
	}
	return b.String()
}
