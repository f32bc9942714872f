// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package localmode

import (
	"errors"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

func TestPageKeepsAddressAndSession(t *testing.T) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	// The page may not be built, so that nothing follows the link to it.
	browser := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	get := func(url string) int {
		t.Helper()
		response, err := browser.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		return response.StatusCode
	}
	dir := t.TempDir()
	start := func() (l *Local, address string) {
		t.Helper()
		l = &Local{Dir: dir, Config: &rest.Config{Host: "http://127.0.0.1:1"}, failed: make(chan error, 1)}
		var err error
		l.pageListener, err = l.listenAgain(t.Context(), "page-address") // the page may not be built
		if err := errors.Join(err, l.openGateway(t.Context()), l.servePage(t.Context())); err != nil {
			t.Fatal(err)
		}
		address, _, _ = strings.Cut(l.page, "/login")
		return l, address
	}
	stop := func(l *Local) {
		t.Helper()
		if err := l.Stop(); err != nil {
			t.Fatal(err)
		}
	}

	first, address := start()
	if status := get(address + "/api/catalog"); status != http.StatusUnauthorized {
		t.Errorf("before signing in: %d", status)
	}
	get(first.page)
	if status := get(address + "/api/catalog"); status != http.StatusOK {
		t.Errorf("after signing in: %d", status)
	}
	browser.CloseIdleConnections()
	stop(first)

	second, again := start()
	if again != address {
		t.Errorf("the page is at %s after a restart, and was at %s", again, address)
	}
	if status := get(again + "/api/catalog"); status != http.StatusOK {
		t.Errorf("after a restart the session gets %d", status)
	}
	if second.page == first.page {
		t.Error("the link of the first start is printed again")
	}

	_, other := start() // the port is taken by the second
	if other == address {
		t.Errorf("two pages are at %s", address)
	}
	stop(second)
	select {
	case err := <-second.failed:
		t.Error(errors.Join(errors.New("a page that was stopped failed"), err))
	default:
	}
}
