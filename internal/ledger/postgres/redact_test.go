// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nestor-dev/nestor/internal/ledger/postgres"
)

// TestErrorsHidePasswords opens ledgers with passwords that contain all kinds of characters, escaped and not. The
// passwords have a mark at both ends, to detect parts of them.
func TestErrorsHidePasswords(t *testing.T) {
	const mark = "Zq9"
	host := serverHost()
	rapid.Check(t, func(r *rapid.T) {
		password := mark + rapid.StringOfN(rapid.RuneFrom([]rune(":/?#[]@!$&'()*+,;% \"<>\\^`{|}~\n\x00é0aA.-_")), 0, 8, -1).Draw(r, "password") + mark
		user, query := password, password
		if rapid.Bool().Draw(r, "escaped") {
			user, query = strings.TrimPrefix(url.UserPassword("", password).String(), ":"), url.QueryEscape(password)
		}
		dsn := rapid.SampledFrom([]string{
			"postgres://nestor:" + user + "@" + host + "/postgres?sslmode=disable",
			"postgres://" + user + "@" + host + "/postgres?user=nestor&sslmode=disable",
			"postgres://nestor:" + user + "@" + host,
			"postgresql://" + host + "/postgres?user=nestor&sslmode=disable&password=" + query,
			"postgres://" + host + "/postgres?password=" + query + "&user=nestor&sslmode=disable",
		}).Draw(r, "dsn")
		l, err := postgres.Open(t.Context(), dsn)
		if err == nil {
			r.Fatalf("open succeeded: %v", l.Close())
		}
		if strings.Contains(err.Error(), mark) {
			r.Errorf("the error contains a part of the password: %v", err)
		}
	})
}

// serverHost returns the address of the server, or an unused port.
func serverHost() string {
	if server == nil {
		return "127.0.0.1:1"
	}
	_, rest, _ := strings.Cut(server.URL("postgres"), "@")
	host, _, _ := strings.Cut(rest, "/")
	return host
}
