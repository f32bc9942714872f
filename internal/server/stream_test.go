// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// listener reads a stream like a browser.
type listener struct {
	t      *testing.T
	lines  *bufio.Scanner
	cancel context.CancelFunc
	id     string // of the last event
}

func openEvents(t *testing.T, u *upstream, query, lastID string) *listener {
	t.Helper()
	page := httptest.NewServer(u.tokenSite())
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, page.URL+"/api/stream?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+knownToken)
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = response.Body.Close(); page.CloseClientConnections(); page.Close() })
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("got %d %s", response.StatusCode, response.Header.Get("Content-Type"))
	}
	return &listener{t: t, lines: bufio.NewScanner(response.Body), cancel: cancel}
}

// next returns the data of the next event with a name.
func (l *listener) next(name string) string {
	l.t.Helper()
	current := ""
	for l.lines.Scan() {
		field, value, _ := strings.Cut(l.lines.Text(), ": ")
		switch field {
		case "event":
			current = value
		case "id":
			l.id = value
		case "data":
			if current == name {
				return value
			}
		}
	}
	l.t.Fatalf("the stream ended before %q: %v", name, l.lines.Err())
	return ""
}

func watches(u *upstream) []string {
	var found []string
	for _, request := range u.requests() {
		if strings.Contains(request, "/agentchats?") && strings.Contains(request, "watch=true") {
			_, version, _ := strings.Cut(request, "resourceVersion=")
			version, _, _ = strings.Cut(version, "&")
			found = append(found, "watch "+version)
		} else if strings.Contains(request, "/agentchats?") {
			found = append(found, "list")
		}
	}
	return found
}

func TestStreamSendsObjectsAndChanges(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	u.chats = []string{"one"}
	l := openEvents(t, u, "namespace=default", "")
	if got := l.next("reset"); got != `{"resource":"agentchats"}` {
		t.Errorf("got %s", got)
	}
	if got := l.next("object"); !strings.Contains(got, `"type":"ADDED"`) || !strings.Contains(got, `"name":"one"`) || strings.Contains(got, "managedFields") {
		t.Errorf("got %s", got)
	}
	if l.id != "" {
		t.Errorf("an incomplete list must not set a position: %q", l.id)
	}
	l.next("synced")
	if l.id != "agentchats%40default=10" {
		t.Errorf("the position is %q", l.id)
	}
	u.changes <- map[string]any{"type": "MODIFIED", "object": object("one", "11")}
	if got := l.next("object"); !strings.Contains(got, `"type":"MODIFIED"`) {
		t.Errorf("got %s", got)
	}
	if l.id != "agentchats%40default=11" {
		t.Errorf("the position is %q", l.id)
	}
}

func TestStreamResumes(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	l := openEvents(t, u, "namespace=default", "agentchats%40default=42&agentchats%40other=7")
	u.changes <- map[string]any{"type": "ADDED", "object": object("two", "43")}
	l.next("object")
	if l.id != "agentchats%40default=43" {
		t.Errorf("the position is %q", l.id)
	}
	if diff := cmp.Diff([]string{"watch 42"}, watches(u)); diff != "" {
		t.Errorf("it requested what it already had: %s", diff)
	}
}

func TestExpiredPositionStartsWithList(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	u.expired["42"], u.chats = true, []string{"one"}
	l := openEvents(t, u, "namespace=default", "agentchats%40default=42")
	l.next("reset")
	l.next("synced")
	u.changes <- map[string]any{"type": "BOOKMARK", "object": object("", "50")}
	l.next("synced")
	if l.id != "agentchats%40default=50" {
		t.Errorf("the position is %q", l.id)
	}
	if diff := cmp.Diff([]string{"watch 42", "list", "watch 10"}, watches(u)); diff != "" {
		t.Error(diff)
	}
}

func TestDeniedAccessIsReported(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	u.denied = subAgents
	l := openEvents(t, u, "namespace=default&chat=one", "")
	if got := l.next("refused"); !strings.Contains(got, `"resource":"subagents"`) || !strings.Contains(got, `"code":403`) {
		t.Errorf("got %s", got)
	}
}

func TestTranscriptResumesAfterLastEntry(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	u.entries = []string{`{"seq":1,"kind":"Started"}`, `{"seq":2,"kind":"Assistant","content":"hello"}`, `{"seq":2,"kind":"Delta","delta":{"text":"mo"}}`}
	const name = "subagent.one-1"
	l := openEvents(t, u, "namespace=default&transcript="+name+":5", "")
	for !strings.Contains(l.next("transcript"), "Delta") {
	}
	if at := parseCursor(l.id)["transcript@default/"+name]; at != "2" {
		t.Errorf("the position is %q: deltas must be sent again", at)
	}
	l.cancel()
	again := openEvents(t, u, "namespace=default&transcript="+name+":5", l.id)
	if got := again.next("transcript"); strings.Contains(got, "Started") || !strings.Contains(got, "Delta") {
		t.Errorf("got %s", got)
	}
	asked := strings.Join(u.requests(), "\n")
	for _, want := range []string{"/transcripts/" + name + "/log?deltas=true&follow=true&tail=5", "/transcripts/" + name + "/log?deltas=true&follow=true&since=2"} {
		if !strings.Contains(asked, want) {
			t.Errorf("%s was not asked in\n%s", want, asked)
		}
	}
}

func TestMissingHistoryAPIIsReported(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	u.historic = false
	l := openEvents(t, u, "namespace=default&transcript=subagent.one-1:5", "")
	if got := l.next("refused"); !strings.Contains(got, `"transcript":"subagent.one-1"`) || !strings.Contains(got, `"code":404`) {
		t.Errorf("got %s", got)
	}
}

func TestInvalidStreamQueryIsRejected(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	for _, query := range []string{"", "namespace=..", "namespace=a&chat=a/b", "namespace=a&transcript=x", "namespace=a&transcript=x:0", "namespace=a&transcript=../x:1", "namespace=a" + strings.Repeat("&transcript=a:1", maxTranscripts+1)} {
		if got := ask(t, u.tokenSite(), http.MethodGet, "/api/stream?"+query, nil); got.Code != http.StatusBadRequest {
			t.Errorf("%q: got %d", query, got.Code)
		}
	}
	if asked := u.requests(); len(asked) > 0 {
		t.Errorf("asked %v", asked)
	}
}
