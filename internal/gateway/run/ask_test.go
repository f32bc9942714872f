// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/kube"
)

func TestHasAskedAtAnyDepth(t *testing.T) {
	// top is the agent of the run. other belongs to another run.
	agents := []client.Object{}
	for name, parent := range map[string]string{"top": "", "middle": "top", "deep": "middle", "other": ""} {
		agents = append(agents, &v1beta1.SubAgent{ObjectMeta: metav1.ObjectMeta{
			Namespace: "a", Name: name, Labels: map[string]string{v1beta1.LabelParent: parent},
		}})
	}
	transcripts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, agent := range agents {
			if strings.Contains(r.URL.Path, "/"+historyv1.TranscriptName("SubAgent", agent.GetName())+"/") {
				call := historyv1.ToolCall{Tool: "ask_user", Arguments: fmt.Sprintf(`{"question":"Which %s?"}`, agent.GetName())}
				_ = json.NewEncoder(w).Encode(historyv1.Entry{Seq: 1, ToolCalls: []historyv1.ToolCall{call}})
			}
		}
	}))
	t.Cleanup(transcripts.Close)
	c := &Caller{
		User: "alice", API: fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithObjects(agents...).Build(),
		config: &rest.Config{Host: transcripts.URL},
	}
	task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "work"}}
	task.Status.SubAgent = "top"
	task.Status.Result = &v1beta1.TaskResult{Summary: "Which middle?"}
	for reply, asked := range map[string]bool{
		"Which top?":                 true,
		"Which deep?":                true,
		"Not used.\n\nWhich deep?":   true,
		"I do not know: Which deep?": false,
		"Which other?":               false,
		"Which middle?":              false, // the result of the run is not a question
	} {
		if got, err := c.HasAsked(t.Context(), task, reply); got != asked || err != nil {
			t.Errorf("%q was asked: %t, %v", reply, got, err)
		}
	}
	// Without an answer, a late reply to a question would start the work again.
	transcripts.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	if asked, err := c.HasAsked(t.Context(), task, "Which top?"); err == nil {
		t.Errorf("a history that cannot be read says %t", asked)
	}
}
