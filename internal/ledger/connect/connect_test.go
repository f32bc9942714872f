// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package connect_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/connect"
)

func TestOpenChoosesTheDriver(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger.db")
	l, err := connect.Open(t.Context(), "sqlite:"+file)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := l.Name(), "sqlite:"+file; got != want {
		t.Errorf("name %q, want %q", got, want)
	}
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Errorf("close twice: %v", err)
	}
	for _, scheme := range []string{"postgres", "postgresql"} {
		_, err := connect.Open(t.Context(), scheme+"://user:pa55word@127.0.0.1:1/db")
		if !errors.Is(err, ledger.ErrUnavailable) {
			t.Errorf("%s: %v, want ErrUnavailable", scheme, err)
		}
	}
}

func TestOpenRefusesOtherSchemes(t *testing.T) {
	for _, dsn := range []string{"", "ledger.db", "mysql://user:pa55word@host/db", "postgres:user:pa55word", "://"} {
		l, err := connect.Open(t.Context(), dsn)
		if !errors.Is(err, ledger.ErrInvalid) || l != nil {
			t.Errorf("open %q: %v, %v, want ErrInvalid", dsn, l, err)
		}
		if err != nil && strings.Contains(err.Error(), "pa55word") {
			t.Errorf("the error repeats the connection string: %v", err)
		}
	}
}
