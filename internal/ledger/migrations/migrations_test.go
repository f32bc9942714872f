// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package migrations

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestBothDriversHaveSameMigrations(t *testing.T) {
	sqlite, err := SQLite()
	if err != nil {
		t.Fatal(err)
	}
	postgres, err := Postgres()
	if err != nil {
		t.Fatal(err)
	}
	if len(sqlite) != len(postgres) || len(sqlite) == 0 {
		t.Fatalf("sqlite has %d migrations and postgres %d", len(sqlite), len(postgres))
	}
	for i := range sqlite {
		if sqlite[i].Version != postgres[i].Version || sqlite[i].Name != postgres[i].Name {
			t.Errorf("sqlite has %d %s where postgres has %d %s", sqlite[i].Version, sqlite[i].Name, postgres[i].Version, postgres[i].Name)
		}
	}
}

func TestStatementsAreSplitAtLineEnds(t *testing.T) {
	files := fstest.MapFS{
		"x/0001_first.sql":  {Data: []byte("-- A comment; with a semicolon;\nCREATE TABLE a (\n    -- inside\n    b TEXT DEFAULT ';'\n);\n\nCREATE INDEX c ON a (b);\n")},
		"x/0002_second.sql": {Data: []byte("DROP TABLE a")},
	}
	got, err := read(files, "x")
	if err != nil {
		t.Fatal(err)
	}
	want := []Migration{
		{Version: 1, Name: "first", Statements: []string{"CREATE TABLE a (\n    b TEXT DEFAULT ';'\n);", "CREATE INDEX c ON a (b);"}},
		{Version: 2, Name: "second", Statements: []string{"DROP TABLE a"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("migrations (-want +got):\n%s", diff)
	}
}

func TestMigrationNumbersAreConsecutive(t *testing.T) {
	for _, name := range []string{"x/0002_gap.sql", "x/first.sql", "x/0000_zero.sql"} {
		if _, err := read(fstest.MapFS{name: {}}, "x"); err == nil {
			t.Errorf("%s was accepted as the first migration", name)
		}
	}
}
