// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"testing"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/test/npm"
)

func startJS(t *testing.T, arguments ...string) *npm.Server {
	t.Helper()
	return npm.Program{Dir: "a2a-sdk", Script: "agent.mjs", Args: arguments}.Serve(t)
}

// TestForeignAgent lets the client talk to an agent on the SDK of another language.
func TestForeignAgent(t *testing.T) {
	for name, arguments := range map[string][]string{"JSON-RPC": nil, "without streaming": {"--no-streaming"}, "REST": {"--rest"}} {
		t.Run(name, func(t *testing.T) {
			server := startJS(t, arguments...)
			client := newTestClient(t, server.URL, nil)
			req := request("weather please")
			questionReply := complete(t, client, req)
			again := complete(t, newTestClient(t, server.URL, nil), req) // as after a crash
			if questionReply.ID != again.ID || argument(t, questionReply, "ask_user", "question") != "Which city?" {
				t.Errorf("question %+v, then %+v", questionReply, again)
			}
			answer := next(req, questionReply, "m2", "Berlin")
			for range 2 {
				if reply := complete(t, client, answer); reply.Text != "It is sunny in Berlin." {
					t.Errorf("the answer is %+v", reply)
				}
			}
			if messages := server.WaitForPrinted(t, "message: ", 2); len(messages) != 2 || messages[0] != messageID(req)+" task" || messages[1] != messageID(answer)+" answer" {
				t.Errorf("the agent got %q", messages)
			}
		})
	}
}

// TestForeignAgentIsCancelled cancels the work of an agent on the SDK of another language.
func TestForeignAgentIsCancelled(t *testing.T) {
	server := startJS(t)
	questionReply := complete(t, newTestClient(t, server.URL, nil), request("weather please"))
	if err := newTestClient(t, server.URL, nil).Cancel(t.Context(), next(request("weather please"), questionReply, "", "")); err != nil {
		t.Fatal(err)
	}
	if cancelled := server.WaitForPrinted(t, "cancelled: ", 1); len(cancelled) != 1 || cancelled[0] != questionReply.ID {
		t.Errorf("cancelled %q, want %s", cancelled, questionReply.ID)
	}
	req := request("work hard")
	req.Conversation, req.Tools = "another", nil
	if reply, err := newTestClient(t, server.URL, nil).Complete(t.Context(), req, nil); err != nil || reply.Outcome() != model.OutcomeAnswer {
		t.Errorf("nothing to cancel: %+v, %v", reply, err)
	}
}
