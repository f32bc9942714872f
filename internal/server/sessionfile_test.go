// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

func signIn(t *testing.T, o *localIdentity) *http.Cookie {
	t.Helper()
	w := httptest.NewRecorder()
	o.login(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/login?token="+o.linkSecret, nil))
	cookies := w.Result().Cookies()
	if len(cookies) != 1 {
		t.Fatalf("signing in set the cookies %v", cookies)
	}
	return cookies[0]
}

func signedIn(t *testing.T, o *localIdentity, cookie *http.Cookie) bool {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, whoamiPath, nil)
	r.AddCookie(cookie)
	_, err := o.Config(r)
	if err != nil && !errors.Is(err, ErrSignedOut) {
		t.Fatal(err)
	}
	return err == nil
}

func newTestIdentity(t *testing.T, file string) *localIdentity {
	t.Helper()
	o, err := newLocalIdentity(&rest.Config{}, file)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestASessionOutlivesARestart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "session")
	cookie := signIn(t, newTestIdentity(t, file))
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the file of the session is %v, %v", info, err)
	}
	again := newTestIdentity(t, file)
	if !signedIn(t, again, cookie) {
		t.Error("the session is not valid after a restart")
	}
	if second := signIn(t, again); !signedIn(t, again, second) || !signedIn(t, again, cookie) {
		t.Error("signing in with the new link ended the session of the open page")
	}
	if signedIn(t, again, &http.Cookie{Name: cookie.Name, Value: "guess"}) {
		t.Error("another value was accepted")
	}
	if signedIn(t, newTestIdentity(t, ""), cookie) {
		t.Error("a session that was not kept is valid after a restart")
	}
}

func TestReadableSessionFileIsRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "session")
	cookie := signIn(t, newTestIdentity(t, file))
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	again := newTestIdentity(t, file)
	if signedIn(t, again, cookie) {
		t.Error("the session of a file that others can read is valid")
	}
	signIn(t, again)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("after signing in again the file is %v, %v", info, err)
	}
	for _, damaged := range []string{"", "{", `{"cookie":"a"}`, `{"session":"a"}`} {
		if err := os.WriteFile(file, []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		if o := newTestIdentity(t, file); o.session != "" || o.cookie == "" {
			t.Errorf("the file %q gave the session %q", damaged, o.session)
		}
	}
}

func TestLocalPageRefusesPublicListener(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", ":0") // not accepted from: it is closed at once
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = Local(t.Context(), LocalOptions{Config: &rest.Config{}, Listener: listener})
	if err == nil || !strings.Contains(err.Error(), "not on loopback") {
		t.Errorf("Local: %v", err)
	}
	if err := listener.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener is still open: %v", err)
	}
}
