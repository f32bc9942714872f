// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// childRole is the environment variable that makes the test binary run a child process, which may be killed or give up its
// privileges.
const childRole = "NESTOR_LEDGER_CHILD"

func TestMain(m *testing.M) {
	roles := map[string]func(ctx context.Context, dsn string) error{"append": appendUntilKilled, "readonly": failOnReadOnlyFile}
	role, ok := roles[os.Getenv(childRole)]
	if !ok {
		os.Exit(m.Run())
	}
	if err := role(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func child(t *testing.T, role, dsn string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, dsn)
	cmd.Env = append(os.Environ(), childRole+"="+role)
	cmd.Stderr = os.Stderr
	return cmd
}
