// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package doors

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/npm"
)

// Directories below hack with clients from npm.
const (
	fewClients  = "door-clients"
	moreClients = "more-door-clients"
)

// skipUnlessAll skips a test with the clients that only make door-clients runs.
func skipUnlessAll(t *testing.T) {
	t.Helper()
	if os.Getenv("DOOR_CLIENTS") != "all" {
		t.Skip("make door-clients runs it")
	}
}

// runScript runs a script with a client. Besides the addresses of the gateway, it gets one with which it holds the
// tool, waits until it was called, and releases it.
func (r *room) runScript(dir, script string, args ...string) {
	r.t.Helper()
	var entered <-chan struct{}
	release := func() {}
	r.t.Cleanup(func() { release() })
	steps := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		switch strings.TrimPrefix(request.URL.Path, "/") {
		case "hold":
			var held chan<- struct{}
			entered, held = r.box.hold()
			release = sync.OnceFunc(func() { close(held) })
		case "entered":
			select {
			case <-entered:
			case <-request.Context().Done():
			}
		case "release":
			release()
		default:
			http.NotFound(w, request)
		}
	}))
	r.t.Cleanup(steps.Close)
	env := []string{
		"NESTOR_URL=" + r.GatewayURL, "NESTOR_TOKEN=" + r.token, "NESTOR_NAMESPACE=" + r.Namespace,
		"NESTOR_STEPS=" + steps.URL,
	}
	ctx, cancel := context.WithCancel(r.t.Context())
	defer cancel()
	output := npm.Program{Dir: dir, Script: script, Args: args, Env: env}.Output(ctx, r.t)
	r.Expect(output).To(HaveSuffix("ok\n"))
}

// addBlockedRole creates a role whose runs cannot start, because its provider does not exist.
func (r *room) addBlockedRole() {
	r.t.Helper()
	role := &v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Name: "waits"}}
	role.Spec.SystemPrompt, role.Spec.ModelProvider = "You wait.", "later"
	r.Create(role)
}

// exercised checks what a client left that had a question, an approval, a failure, an abort and a retry.
func (r *room) exercised() {
	r.t.Helper()
	r.Expect(r.box.files()).To(ConsistOf("notes-1.2", "notes-1.3"))
	started := map[string]int{}
	for _, task := range r.Standalone() {
		for _, words := range []string{"Release the notes", "Give up", "Say hello"} {
			if strings.Contains(task.Spec.Instruction, words) { // some clients add instructions of their own
				started[task.Spec.Role+": "+words]++
			}
		}
	}
	wanted := map[string]int{"releaser: Release the notes": 2, "releaser: Give up": 1, "waits: Say hello": 1}
	r.Expect(started).To(Equal(wanted), "nothing was started twice")
}

func exercise(t *testing.T, dir, script string, args ...string) {
	t.Helper()
	t.Run(script+" "+strings.Join(args, " "), func(t *testing.T) {
		t.Parallel()
		r := newRoom(t)
		r.addBlockedRole()
		r.runScript(dir, script, args...)
		r.exercised()
	})
}

// TestMostUsedClients runs the most used clients of the OpenAI door, with both APIs, streamed and not.
func TestMostUsedClients(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"openai-steps.mjs", "ai-sdk.mjs", "langchain.mjs"} {
		for _, api := range []string{"chat", "responses"} {
			exercise(t, fewClients, script, api)
			exercise(t, fewClients, script, api, "stream")
		}
	}
}

// TestMoreClients runs other clients of the OpenAI door.
func TestMoreClients(t *testing.T) {
	skipUnlessAll(t)
	t.Parallel()
	// LlamaIndex leaves the replies out of the conversation that it sends to the responses API, so it only runs with chat
	// completions.
	for _, script := range []string{"llamaindex.mjs", "genkit.mjs", "mastra.mjs"} {
		exercise(t, moreClients, script, "chat")
		exercise(t, moreClients, script, "chat", "stream")
	}
}

// TestMoreClientsOfOtherDoors runs clients of MCP and AG-UI.
func TestMoreClientsOfOtherDoors(t *testing.T) {
	skipUnlessAll(t)
	t.Parallel()
	for _, script := range []string{"mcp-use.mjs", "mastra-mcp.mjs", "mcp-remote.mjs", "copilotkit.mjs"} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			r := newRoom(t)
			r.addBlockedRole()
			r.runScript(moreClients, script)
			r.Eventually(r.box.files).Should(ConsistOf("notes-1.2", "notes-1.3"), "an aborted request does not end the run")
			r.exercised()
		})
	}
}

// TestClientsOfEarlierVersions runs clients of versions that are served in part, or not at all.
func TestClientsOfEarlierVersions(t *testing.T) {
	skipUnlessAll(t)
	t.Parallel()
	for _, script := range []string{"ag-ui-0.mjs", "a2a-0.mjs"} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			newRoom(t).runScript(moreClients, script)
		})
	}
}
