// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// ask creates a task whose agent uses a provider of the room.
func (r *testNamespace) ask(name, provider string) func() string {
	return r.runTask(name, v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent, Role: "general", Instruction: "Submit it.", ModelProvider: provider})
}

func chunk(delta string) string { return `data: {"choices":[{"delta":` + delta + "}]}\n\n" }

// submits is a reply that ends an agent with a result.
var submits = chunk(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"submit_result","arguments":"{\"result\":\"fine\"}"}}]}`) + "data: [DONE]\n\n"

// endlessProvider is a provider that sends one text once, and another one repeatedly until the client is gone or a
// gigabyte was sent.
func endlessProvider(status int, once, again string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		if strings.HasPrefix(once, "{") {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, once)
		if again == "" {
			return
		}
		block := strings.Repeat(again, 1+(64<<10)/len(again))
		for sent := 0; sent < 1<<30; sent += len(block) {
			if _, err := io.WriteString(w, block); err != nil {
				return
			}
		}
	})
}

func replyAttack(name, attempts, stops string, provider http.Handler, words string) attack {
	return attack{
		name: name, attempt: attempts, defence: stops,
		run: inNamespace(func(r *testNamespace) {
			r.provider("foe", r.serve(provider))
			task := r.ask("task", "foe")
			r.Eventually(task).Should(And(HavePrefix("Failed ModelError"), ContainSubstring(words)))
			r.Expect(len(task())).To(BeNumerically("<", 800))
		}),
		control: inNamespace(func(r *testNamespace) {
			r.provider("good", r.serve(endlessProvider(200, submits, "")))
			r.Eventually(r.ask("task", "good")).Should(Equal(success("fine")))
		}),
	}
}

func manyCalls() string {
	var b strings.Builder
	for i := range 10_000 {
		b.WriteString(chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":"c%d","function":{"name":"think","arguments":"{}"}}]}`, i, i)))
	}
	return b.String() + "data: [DONE]\n\n"
}

var endless = map[string]http.Handler{
	"text":     endlessProvider(200, "", chunk(`{"content":"`+strings.Repeat("x", 4000)+`"}`)),
	"line":     endlessProvider(200, "data: ", "x"),
	"event":    endlessProvider(200, "", "data: x\n"),
	"comments": endlessProvider(200, "", ": thinking\n\n"),
	"error":    endlessProvider(500, "", "never "),
	"calls":    endlessProvider(200, manyCalls(), ""),
	"whole":    endlessProvider(200, `{"choices":[{"message":{"content":"`, "x"),
	"nested":   endlessProvider(200, `{"choices":`, "["),
}

var _ = class(
	"providers",
	attack{
		name:    "a list of models fills the memory",
		attempt: "/models is 32 MiB long",
		defence: "a limit on the list of models",
		run: inNamespace(func(r *testNamespace) {
			body := `{"data":[` + strings.Repeat(`{"id":"m"},`, 3<<20) + `{"id":"m"}]}`
			r.Eventually(r.provider("foe", r.serve(endlessProvider(200, body, "")))).Should(HavePrefix("False InvalidResponse: The provider's list of models cannot be used"))
		}),
		control: inNamespace(func(r *testNamespace) {
			r.Eventually(r.provider("good", r.serve(endlessProvider(200, `{"data":[{"id":"m"}]}`, "")))).Should(HavePrefix("True Ready"))
		}),
	},
	replyAttack("a reply never ends", "a stream of text without end", "a limit on the size of a reply", endless["text"], "more than 1 MiB of text"),
	replyAttack("a line never ends", "a stream with one line without end", "a limit on the size of an event", endless["line"], "an event that is larger than 2 MiB"),
	replyAttack("an event never ends", "a stream with one event of endless lines", "a limit on the size of an event", endless["event"], "an event that is larger than 2 MiB"),
	replyAttack("a stream contains no data", "a stream of comments without end", "a limit on the size of a stream", endless["comments"], "larger than 64 MiB"),
	replyAttack("a reply has 10,000 tool calls", "a reply contains 10,000 tool calls", "a limit on the calls of a reply", endless["calls"], "more than 128 tool calls"),
	replyAttack("an error never ends", "the body of an error is endless", "only the beginning is read", endless["error"], "never"),
	replyAttack("a reply is nested without end", "a reply has a million levels", "a limit on the size and depth of a reply", endless["nested"], ""),
	attack{
		name:    "the operator runs out of memory",
		attempt: "every kind of endless provider and a dozen tool servers with lists of 15 MiB, results of 20 MiB and endless streams, all at the same time",
		defence: "the limits: the operator stays below 512 MiB, and others are served",
		run: func(t *testing.T, w *target) {
			w = w.takeRestartable(t)
			r := w.newNamespace(t)
			r.Expect(w.Operator.Kill()).To(Succeed()) // the peak is that of a new operator
			r.Expect(w.StartOperator(t.Context())).To(Succeed())
			for name, provider := range endless {
				r.provider(name, r.serve(provider))
				for i := range 2 {
					r.ask(fmt.Sprintf("%s-%d", name, i), name)
				}
			}
			for i := range 4 {
				r.toolServer(fmt.Sprintf("schema-%d", i), r.serve(&hostileServer{list: schema(`{"type":"object","description":"` + strings.Repeat("x", 15<<20) + `"}`)}))
				r.toolServer(fmt.Sprintf("bomb-%d", i), r.serve(&hostileServer{list: zipped(200 << 20)}))
				f := &hostileServer{tools: []string{mcpTool("act", "Acts.", true)}, call: listing(`[],"content":[{"type":"text","text":"` + strings.Repeat("x", 20<<20) + `"}]`)}
				r.toolServer(fmt.Sprintf("result-%d", i), r.serve(f))
				for j := range 2 {
					r.callTool(fmt.Sprintf("result-%d-%d", i, j), fmt.Sprintf("result-%d__act", i))
				}
			}
			good := w.newNamespace(t)
			good.Eventually(good.runTask("task", v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent, Role: "general", Instruction: "Submit fine"})).Should(Equal(success("fine")))
			r.Eventually(r.unfinished).WithTimeout(5 * time.Minute).Should(BeEmpty()) // they read gigabytes
			peak := w.peak(t)
			t.Logf("the operator's peak memory was %d MiB", peak>>20)
			r.Expect(peak).To(BeNumerically("<", 512<<20))
		},
		control: func(t *testing.T, w *target) {
			if peak := w.peak(t); peak < 20<<20 {
				t.Errorf("the operator's peak memory is reported as %d bytes", peak)
			}
		},
	},
)

// unfinished returns the tasks of the room that have not ended.
func (r *testNamespace) unfinished() []string {
	var list v1beta1.AgentTaskList
	if err := r.List(&list); err != nil {
		return []string{err.Error()}
	}
	var names []string
	for i := range list.Items {
		if p := list.Items[i].Status.Phase; p != v1beta1.TaskFailed && p != v1beta1.TaskSuccess {
			names = append(names, list.Items[i].Name)
		}
	}
	return names
}

var highWater = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peak returns the peak memory of the operator in bytes.
func (w *target) peak(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.Operator.Pid))
	if err != nil {
		t.Fatal(err)
	}
	match := highWater.FindSubmatch(status)
	if match == nil {
		t.Fatalf("no VmHWM in %s", status)
	}
	kilobytes, err := strconv.Atoi(string(match[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}
