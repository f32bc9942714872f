// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
	"github.com/nestor-dev/nestor/internal/ledger/postgres"
)

func reasonOf(err error) ledger.Reason {
	var failure *ledger.Error
	if !errors.As(err, &failure) {
		return ""
	}
	return failure.Reason
}

func TestServerRestart(t *testing.T) {
	db := newDatabase(t)
	l := db.Open(t)
	ledgertest.Append(t, l, ledgertest.First(ledgertest.Agent("a"), 1))
	next := ledger.Batch{Agent: "a", After: 1, Events: ledgertest.Events("a", 1)}

	server.Stop()
	appendErr := l.Append(t.Context(), next)
	_, loadErr := l.Load(t.Context(), "a")
	_, openErr := postgres.Open(t.Context(), db.DSN)
	for what, err := range map[string]error{"append": appendErr, "load": loadErr, "open": openErr} {
		if !errors.Is(err, ledger.ErrUnavailable) || errors.Is(err, ledger.ErrNeedsAttention) {
			t.Errorf("%s without the server: %v, want ErrUnavailable", what, err)
		}
	}

	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ledgertest.Append(t, l, next)
	if a, err := l.Agent(t.Context(), "a"); err != nil || a.LastSeq != 2 {
		t.Errorf("agent at %d (%v), want 2", a.LastSeq, err)
	}
}

// TestBrokenIdleConnectionsAreReplaced restarts the server while the ledger is idle: the next append must succeed.
func TestBrokenIdleConnectionsAreReplaced(t *testing.T) {
	l := newDatabase(t).Open(t)
	ledgertest.Append(t, l, ledgertest.First(ledgertest.Agent("a"), 1))
	server.Stop()
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ledgertest.Append(t, l, ledger.Batch{Agent: "a", After: 1, Events: ledgertest.Events("a", 1)})
}

func TestReadOnlyDatabaseRecovers(t *testing.T) {
	db := newDatabase(t)
	l := db.Open(t)
	ledgertest.Append(t, l, ledgertest.First(ledgertest.Agent("a"), 1))
	next := ledger.Batch{Agent: "a", After: 1, Events: ledgertest.Events("a", 1)}

	readOnly(t, db.Raw, "on")
	if err := l.Append(t.Context(), next); reasonOf(err) != ledger.ReasonReadOnly || !errors.Is(err, ledger.ErrNeedsAttention) {
		t.Errorf("append: %v, want %s", err, ledger.ReasonReadOnly)
	}
	readOnly(t, db.Raw, "off")
	ledgertest.Append(t, l, next)
}

// readOnly sets whether new connections to the database are read-only, and ends the others.
func readOnly(t *testing.T, raw *sql.DB, value string) {
	t.Helper()
	conn, err := raw.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	var name string
	if err := conn.QueryRowContext(t.Context(), "SELECT current_database()").Scan(&name); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{
		"SET default_transaction_read_only = off",
		"ALTER DATABASE " + name + " SET default_transaction_read_only = " + value,
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
	} {
		if _, err := conn.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPasswordIsNeverPrinted fails to open ledgers in many ways; no error may contain the password.
func TestPasswordIsNeverPrinted(t *testing.T) {
	const secret = "tr0ub4dor"
	host := serverHost()
	for name, dsn := range map[string]string{
		"wrong password":          "postgres://nestor:" + secret + "@" + host + "/postgres?sslmode=disable",
		"wrong user":              "postgresql://" + secret + "-user:" + secret + "@" + host + "/postgres?sslmode=disable",
		"missing database":        "postgres://nestor:" + secret + "@" + host + "/missing?sslmode=disable",
		"password as parameter":   "postgres://" + host + "/postgres?user=nestor&password=" + secret + "&sslmode=disable",
		"escaped parameter name":  "postgres://" + host + "/postgres?user=nestor&pass%77ord=" + secret + "&sslmode=disable",
		"nobody listens":          "postgres://nestor:" + secret + "@127.0.0.1:1/postgres",
		"port not a number":       "postgres://nestor:" + secret + "@host:port/postgres",
		"bad parameter":           "postgres://nestor:" + secret + "@host/postgres?sslmode=" + secret,
		"bad pool size":           "postgres://nestor:" + secret + "@host/postgres?pool_max_conns=" + secret,
		"bad escape in password":  "postgres://nestor:%zz" + secret + "@host/postgres",
		"bad escape in parameter": "postgres://host/postgres?password=%zz" + secret,
		"bad escape in path":      "postgres://nestor:" + secret + "@host/%zz",
		"@ in password":           "postgres://nestor:12@" + secret + "@host/postgres",
		"/ in password":           "postgres://nestor:12/" + secret + "@host/postgres",
		"? in password":           "postgres://nestor:12?" + secret + "@host/postgres",
		"# in password":           "postgres://nestor:12#" + secret + "@host/postgres",
		"space in password":       "postgres://nestor:12 " + secret + "@" + host + "/postgres?sslmode=disable",
		"no user":                 "postgres://:" + secret + "@" + host + "/postgres?sslmode=disable",
		"@ forgotten":             "postgres://nestor:" + secret + "/postgres",
		"no host":                 "postgres://nestor:" + secret + "@",
		"brackets":                "postgres://nestor:" + secret + "@[::1/postgres",
	} {
		t.Run(name, func(t *testing.T) {
			l, err := postgres.Open(t.Context(), dsn)
			if err == nil {
				t.Fatal("open succeeded", l.Close())
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the error contains the password: %v", err)
			}
			for wrapped := err; wrapped != nil; wrapped = errors.Unwrap(wrapped) {
				if strings.Contains(wrapped.Error(), secret) {
					t.Errorf("an error in the chain contains the password: %T", wrapped)
				}
			}
			if !errors.Is(err, ledger.ErrInvalid) && !strings.Contains(err.Error(), "ledger postgres") {
				t.Errorf("the error does not name the ledger: %v", err)
			}
		})
	}
}

func TestConnectFailuresAreDistinguished(t *testing.T) {
	url := newDatabase(t).DSN
	base, _, _ := strings.Cut(url, "?")
	_, rest, _ := strings.Cut(url, "@")
	for name, test := range map[string]struct {
		dsn  string
		want ledger.Reason
	}{
		"wrong password":   {"postgres://nestor:wrong@" + rest, ledger.ReasonDenied},
		"missing database": {base + "_missing?sslmode=disable", ledger.ReasonMisconfigured},
		"nobody listens":   {"postgres://nestor:wrong@127.0.0.1:1/x", ledger.ReasonUnavailable},
		"bad parameter":    {base + "?sslmode=perhaps", ledger.ReasonMisconfigured},
	} {
		if _, err := postgres.Open(t.Context(), test.dsn); reasonOf(err) != test.want {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}

func TestNameOfLedgerHasNoSecret(t *testing.T) {
	db := newDatabase(t)
	l := db.Open(t)
	_, rest, _ := strings.Cut(db.DSN, "@")
	host, _, _ := strings.Cut(rest, "?")
	if got, want := l.Name(), "postgres://"+host; got != want {
		t.Errorf("name %q, want %q", got, want)
	}
}

// A process that is stopped in the middle of a transaction must not keep its locks.
func TestStoppedProcessLosesItsTransaction(t *testing.T) {
	db := newDatabase(t)
	l := db.Open(t)
	stopped, err := postgres.OpenWithIdleTimeout(t.Context(), db.DSN, 200*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stopped.Close() }()
	update := func(l ledger.Ledger, replica string, during func()) error {
		return l.UpdateShares(t.Context(), replica, []string{"calls"}, time.Hour, func([]ledger.Share) []ledger.Share {
			during()
			return []ledger.Share{{Resource: "calls", Amount: 10}}
		})
	}
	locked, resume, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		ended <- update(stopped, "stopped", func() {
			close(locked)
			<-resume
		})
	}()
	<-locked
	if err := update(l, "other", func() {}); err != nil {
		t.Errorf("the update of another replica: %v", err)
	}
	close(resume)
	if err := <-ended; !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("the update of the process that was stopped: %v, want it to be retried", err)
	}
	err = l.UpdateShares(t.Context(), "reader", []string{"calls"}, time.Hour, func(all []ledger.Share) []ledger.Share {
		if len(all) != 1 || all[0].Replica != "other" {
			t.Errorf("the shares are %+v, want the one of the other replica", all)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := update(stopped, "stopped", func() {}); err != nil {
		t.Errorf("the next update of the process that was stopped: %v", err)
	}
}
