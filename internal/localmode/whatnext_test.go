// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package localmode

import (
	"bytes"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// printedLocal returns a Local as it is when the demo prints its instructions.
func printedLocal(t *testing.T, model Model) *Local {
	t.Helper()
	gateway, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = gateway.Close() })
	return &Local{
		Dir: "/demo", Log: "/demo/demo.log", Sample: "/demo/sample", fresh: true, gateway: gateway, page: "http://127.0.0.1:1/login?token=t",
		options: Options{Model: model, CLI: "/bin/kubectl-nestor"},
	}
}

func TestDemoPrintsFirstChatCommands(t *testing.T) {
	page, err := os.ReadFile(filepath.FromSlash("../../docs/tasks/first-chat.md"))
	if err != nil {
		t.Fatal(err)
	}
	printed := 0
	for line := range strings.Lines(printedLocal(t, Model{}).WhatNext()) {
		command, _, _ := strings.Cut(strings.TrimSpace(line), "  #")
		if len(line) > 90 { // the longest command; texts have at most 80
			t.Errorf("%q is too long for a terminal", line)
		}
		command = strings.TrimSpace(command)
		if !strings.HasPrefix(command, "kubectl nestor ") {
			continue
		}
		printed++
		if !bytes.Contains(page, []byte(command)) {
			t.Errorf("docs/tasks/first-chat.md lacks %q", command)
		}
	}
	if printed < 5 {
		t.Errorf("the demo printed %d commands", printed)
	}
}

func TestSecondDemoIsExplained(t *testing.T) {
	dir := t.TempDir()
	cluster := filepath.Join(dir, "cluster")
	if err := os.MkdirAll(cluster, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, stateFile), []byte(`{"format":4}`), 0o600); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Create(filepath.Join(cluster, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	l, err := Start(t.Context(), Options{Dir: dir, Out: &out})
	if err == nil {
		t.Fatal(errors.Join(errors.New("a second demo started"), l.Stop()))
	}
	for _, want := range []string{"a demo already runs in " + dir, ". " + filepath.Join(dir, "use.sh"), "DEMO_DIR="} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
}

func TestTheHintsFitTheDemo(t *testing.T) {
	served := Model{API: v1beta1.APIOpenAI, BaseURL: "http://127.0.0.1:1/v1", Name: "qwen3"}
	for name, tc := range map[string]struct {
		model       Model
		edit        func(*Local)
		want, never string
	}{
		"a real model":       {served, func(*Local) {}, "kubectl nestor send first-qwen3 ", "17 * 23"},
		"a chat in use":      {Model{}, func(l *Local) { l.fresh = false }, "kubectl nestor chat first ", "first-2"},
		"no page":            {Model{}, func(l *Local) { l.page = "" }, "make web", "the link signs you in"},
		"no kubectl nestor":  {Model{}, func(l *Local) { l.options.CLI = "" }, "make build", "\x00"},
		"everything is here": {Model{}, func(*Local) {}, "the link signs you in", "make build"},
	} {
		t.Run(name, func(t *testing.T) {
			l := printedLocal(t, tc.model)
			tc.edit(l)
			if text := l.WhatNext(); !strings.Contains(text, tc.want) || strings.Contains(text, tc.never) {
				t.Errorf("want %q and not %q in:\n%s", tc.want, tc.never, text)
			}
		})
	}
}

func TestKeyIsCheckedBeforeDemo(t *testing.T) {
	const key = "sk-not-to-be-printed"
	for name, tc := range map[string]struct {
		status    int
		wantError string
		wantSaid  string
	}{
		"accepted":     {status: http.StatusOK},
		"rejected":     {status: http.StatusUnauthorized, wantError: "Set ANTHROPIC_API_KEY"},
		"out of order": {status: http.StatusBadGateway, wantSaid: "agents wait until it does"},
		"no list":      {status: http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(tc.status)
				_, _ = w.Write([]byte(`{"data": [], "has_more": false, "error": {"type": "error", "message": "` + key + `"}}`))
			}))
			defer server.Close()
			var said bytes.Buffer
			l := &Local{out: &said, options: Options{Model: Model{API: v1beta1.APIAnthropic, BaseURL: server.URL, Name: "m", Key: key}}}
			err := l.startModel(t.Context())
			if tc.wantError == "" && err != nil || tc.wantError != "" && (err == nil || !strings.Contains(err.Error(), tc.wantError)) {
				t.Errorf("startModel: %v, want %q", err, tc.wantError)
			}
			if !strings.Contains(said.String(), tc.wantSaid) {
				t.Errorf("said %q, want %q", &said, tc.wantSaid)
			}
			if err != nil && strings.Contains(err.Error(), key) || strings.Contains(said.String(), key) {
				t.Errorf("the key was printed: %v, %q", err, &said)
			}
		})
	}
}
