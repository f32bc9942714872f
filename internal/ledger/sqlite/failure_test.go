// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
	"github.com/nestor-dev/nestor/internal/ledger/sqlite"
)

// expect checks that an error has a reason, needs attention, and names the file.
func expect(err error, reason ledger.Reason, file string) error {
	var failure *ledger.Error
	if !errors.As(err, &failure) || failure.Reason != reason {
		return fmt.Errorf("got %w, want %s", err, reason)
	}
	if !errors.Is(err, ledger.ErrNeedsAttention) || errors.Is(err, ledger.ErrUnavailable) {
		return fmt.Errorf("%w: want ErrNeedsAttention", err)
	}
	if !strings.Contains(err.Error(), "sqlite:"+file) || !strings.Contains(err.Error(), reason.Advice()) {
		return fmt.Errorf("%w: want it to name %s and to contain advice", err, file)
	}
	return nil
}

func TestFullDiskLosesNothingAndRecovers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger.db")
	l, inside, err := sqlite.OpenInside(t.Context(), "sqlite:"+file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	if err := inside.LimitPages(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	promised := ledgertest.NewAcknowledged(1)
	err = ledgertest.AppendForever(t.Context(), l, "a", func(seq int64) { promised.Add("a", seq) })
	if err := expect(err, ledger.ReasonFull, file); err != nil {
		t.Fatal(err)
	}
	promised.Check(t, l)

	if err := inside.LimitPages(t.Context(), 1<<30); err != nil {
		t.Fatal(err)
	}
	before := promised.Events()
	enough := errors.New("enough")
	ctx, stop := context.WithCancelCause(t.Context())
	err = ledgertest.AppendForever(ctx, l, "a", func(seq int64) {
		if promised.Add("a", seq); seq > before+300 {
			stop(enough)
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("with space again: %v", err)
	}
	promised.Check(t, l)
}

func TestCorruptFileIsRecognised(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger.db")
	promised := ledgertest.NewAcknowledged(1)
	fill(t, file, promised)
	backup, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	t.Run("not a database", func(t *testing.T) {
		write(t, file, bytes.Repeat([]byte("garbage "), 1000))
		_, err := sqlite.Open(t.Context(), "sqlite:"+file)
		if err := expect(err, ledger.ReasonCorrupt, file); err != nil {
			t.Error(err)
		}
	})
	t.Run("damaged pages", func(t *testing.T) {
		damaged := bytes.Clone(backup)
		// The first page, which describes the others, is unchanged: this damage shows only when the rows are read.
		for i := 4096; i < len(damaged); i++ {
			damaged[i] ^= 0x5a
		}
		write(t, file, damaged)
		l, err := sqlite.Open(t.Context(), "sqlite:"+file)
		if err == nil {
			t.Cleanup(func() { _ = l.Close() })
			_, err = l.Load(t.Context(), "a")
		}
		if err := expect(err, ledger.ReasonCorrupt, file); err != nil {
			t.Error(err)
		}
	})
	t.Run("restored", func(t *testing.T) {
		write(t, file, backup)
		l, err := sqlite.Open(t.Context(), "sqlite:"+file)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		promised.Check(t, l)
	})
}

// fill creates a ledger with some events and closes it.
func fill(t *testing.T, file string, promised *ledgertest.Acknowledged) {
	t.Helper()
	l, err := sqlite.Open(t.Context(), "sqlite:"+file)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	err = ledgertest.AppendForever(ctx, l, "a", func(seq int64) {
		if promised.Add("a", seq); seq > 300 {
			stop()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// write replaces the ledger and the files next to it.
func write(t *testing.T, file string, data []byte) {
	t.Helper()
	for _, part := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(file + part); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestReadOnlyFileRecovers runs in a child process without root privileges, because root may write to every file.
func TestReadOnlyFileRecovers(t *testing.T) {
	dir := t.TempDir()
	if os.Getuid() == 0 {
		if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o711), os.Chown(dir, nobody, nobody)); err != nil {
			t.Fatal(err)
		}
	}
	if err := child(t, "readonly", "sqlite:"+filepath.Join(dir, "ledger.db")).Run(); err != nil {
		t.Errorf("child: %v", err)
	}
}

const nobody = 65534

func failOnReadOnlyFile(ctx context.Context, dsn string) error {
	if os.Getuid() == 0 {
		if err := errors.Join(syscall.Setgid(nobody), syscall.Setuid(nobody)); err != nil {
			return err
		}
	}
	file := strings.TrimPrefix(dsn, "sqlite:")
	l, inside, err := sqlite.OpenInside(ctx, dsn)
	if err != nil {
		return err
	}
	if err := l.Append(ctx, ledgertest.First(ledgertest.Agent("a"), 1)); err != nil {
		return err
	}

	// The file becomes read-only while the ledger is open.
	inside.Disconnect()
	if err := os.Chmod(file, 0o400); err != nil {
		return err
	}
	next := ledger.Batch{Agent: "a", After: 1, Events: ledgertest.Events("a", 1)}
	if err := expect(l.Append(ctx, next), ledger.ReasonReadOnly, file); err != nil {
		return fmt.Errorf("append: %w", err)
	}
	if _, err := l.Load(ctx, "a"); err != nil {
		return fmt.Errorf("reading must still work: %w", err)
	}
	if _, err := sqlite.Open(ctx, dsn); expect(err, ledger.ReasonReadOnly, file) != nil {
		return fmt.Errorf("open: %w", expect(err, ledger.ReasonReadOnly, file))
	}

	// When the file and those next to it are writable again, the same ledger continues.
	parts, err := filepath.Glob(file + "*")
	if err != nil {
		return err
	}
	for _, part := range parts {
		if err := os.Chmod(part, 0o600); err != nil {
			return err
		}
	}
	if err := l.Append(ctx, next); err != nil {
		return fmt.Errorf("append to a writable file: %w", err)
	}
	return l.Close()
}

// TestDeletedFileIsDetected deletes and replaces the file of an open ledger: later writes would be lost with the process without
// an error.
func TestDeletedFileIsDetected(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger.db")
	l, err := sqlite.Open(t.Context(), "sqlite:"+file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	if err := l.Append(t.Context(), ledgertest.First(ledgertest.Agent("a"), 1)); err != nil {
		t.Fatal(err)
	}
	next := ledger.Batch{Agent: "a", After: 1, Events: ledgertest.Events("a", 1)}
	aside := file + ".aside"
	if err := os.Rename(file, aside); err != nil {
		t.Fatal(err)
	}
	if err := expect(l.Append(t.Context(), next), ledger.ReasonMissing, file); err != nil {
		t.Errorf("deleted: %v", err)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a new file was created in its place (%v)", err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := expect(l.Append(t.Context(), next), ledger.ReasonMissing, file); err != nil {
		t.Errorf("replaced: %v", err)
	}
	if err := os.Rename(aside, file); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(t.Context(), next); err != nil {
		t.Errorf("put back: %v", err)
	}
}
