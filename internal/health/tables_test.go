// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// taskTable is the answer of an API server with a finished task and one that waits.
const taskTable = `{"kind":"Table","apiVersion":"meta.k8s.io/v1","columnDefinitions":[{"name":"Name"},{"name":"Phase"},{"name":"Reason"}%s],
	"rows":[{"cells":["done","Cancelled","QuotaExhausted",null]},{"cells":["work","Running","Running","RateLimited"]}]}`

func TestOlderAPIServers(t *testing.T) {
	limited := condition(v1beta1.ConditionReconciling, metav1.ConditionTrue, v1beta1.ReasonRateLimited, "slow down")
	task := func(name string, phase v1beta1.TaskPhase) client.Object {
		return &v1beta1.AgentTask{ObjectMeta: named(name), Status: v1beta1.AgentTaskStatus{Phase: phase, Conditions: limited}}
	}
	for name, tasks := range map[string]http.HandlerFunc{
		"one that cannot select by phase": func(w http.ResponseWriter, r *http.Request) {
			if r.FormValue("fieldSelector") != "" {
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"BadRequest","code":400,"message":"field label not supported: status.phase"}`)
				return
			}
			fmt.Fprintf(w, taskTable, `,{"name":"Waits"}`)
		},
		"one without the column":  func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, taskTable, "") },
		"one that has no tables":  func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"kind":"AgentTaskList","items":[]}`) },
		"one with shorter tables": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"kind":"Table"}`) },
	} {
		t.Run(name, func(t *testing.T) {
			mux := http.NewServeMux()
			mux.HandleFunc("GET /apis/nestor.dev/v1beta1/namespaces/team/agenttasks", func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				tasks(w, r)
			})
			server := httptest.NewServer(mux)
			t.Cleanup(server.Close)
			tables, err := NewTables(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			api := reader(t, interceptor.Funcs{}, task("done", v1beta1.TaskCancelled), task("work", v1beta1.TaskRunning))
			problems, err := Namespace{API: api, Tables: tables, Name: "team", OperatorNamespace: "nestor-system", Heartbeat: &Observer{}}.Problems(t.Context())
			if err != nil || len(problems) != 1 || problems[0].Key() != "RateLimit/AgentTask work" {
				t.Errorf("the problems are %v, %v", problems, err)
			}
		})
	}
}

func TestUnreadableTableIsError(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(server.Close)
	tables, err := NewTables(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if problems, err := (Namespace{API: reader(t, interceptor.Funcs{}), Tables: tables, Name: "team", Heartbeat: &Observer{}}).Problems(t.Context()); err == nil {
		t.Errorf("the problems are %v without an error for a person who is signed out", problems)
	}
}
