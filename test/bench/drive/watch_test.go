// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package drive_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/nestor-dev/nestor/test/bench/drive"
)

// TestWatchIsRestarted: the first list is rejected, the first watch ends after one event, and the second one sends
// the rest.
func TestWatchIsRestarted(t *testing.T) {
	var requests, watches atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) == 1 {
			http.Error(w, "storage is initializing", http.StatusTooManyRequests)
			return
		}
		if r.URL.Query().Get("watch") == "" {
			fmt.Fprint(w, `{"metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"a"},"status":{"phase":"Running"}}]}`)
			return
		}
		if watches.Add(1) == 1 {
			fmt.Fprintln(w, `{"type":"BOOKMARK","object":{"metadata":{"name":"ignored"}}}`)
			fmt.Fprintln(w, `{"type":"MODIFIED","object":{"metadata":{"name":"b"},"status":{"phase":"Running"}}}`)
			return
		}
		fmt.Fprintln(w, `{"type":"MODIFIED","object":{"metadata":{"name":"a"},"status":{"phase":"Success"}}}`)
	}))
	defer server.Close()
	client, err := drive.NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	err = client.Watch(t.Context(), "/things", func(o drive.Object) bool {
		seen = append(seen, o.Metadata.Name+" "+o.Status.Phase)
		return o.Status.Phase == "Success"
	})
	if got, want := fmt.Sprint(seen), "[a Running b Running a Running a Success]"; err != nil || got != want {
		t.Errorf("saw %s (%v), want %s", got, err, want)
	}
}

func TestCreatesStopAtFirstError(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) > 100 {
			http.Error(w, "no more", http.StatusForbidden)
		}
	}))
	defer server.Close()
	client, err := drive.NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	bodies := make([][]byte, 5000)
	startTimes, err := client.CreateAll(t.Context(), "/things", bodies[:100])
	if err != nil || len(startTimes) != 100 || startTimes[99].IsZero() {
		t.Errorf("a hundred creates: %v", err)
	}
	if _, err := client.CreateAll(t.Context(), "/things", bodies); err == nil {
		t.Error("a refusal went unnoticed")
	}
	if n := asked.Load(); n > 1000 {
		t.Errorf("%d creates were tried although they were refused", n)
	}
}
