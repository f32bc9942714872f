// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package migrations

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

//go:embed sqlite/*.sql postgres/*.sql
var files embed.FS

// Migration changes a schema from the previous version to Version.
type Migration struct {
	Version int64
	// Name is the part of the file name after the number.
	Name       string
	Statements []string
}

// SQLite returns the migrations of the sqlite driver in order.
func SQLite() ([]Migration, error) { return read(files, "sqlite") }

// Postgres returns the migrations of the postgres driver in order.
func Postgres() ([]Migration, error) { return read(files, "postgres") }

func read(fsys fs.FS, folder string) ([]Migration, error) {
	entries, err := fs.ReadDir(fsys, folder)
	if err != nil {
		return nil, fmt.Errorf("list migrations of %s: %w", folder, err)
	}
	var migrations []Migration
	for i, entry := range entries {
		file := path.Join(folder, entry.Name())
		number, name, _ := strings.Cut(strings.TrimSuffix(entry.Name(), ".sql"), "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil || version != int64(i+1) {
			return nil, fmt.Errorf("read migration %s: the number must be %04d", file, i+1)
		}
		text, err := fs.ReadFile(fsys, file)
		if err != nil {
			return nil, fmt.Errorf("read migration %s: %w", file, err)
		}
		migrations = append(migrations, Migration{Version: version, Name: name, Statements: split(string(text))})
	}
	return migrations, nil
}

// split splits a file into statements, which drivers run one by one.
func split(text string) []string {
	var statements []string
	var current strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "--") {
			continue
		}
		current.WriteString(line)
		if !strings.HasSuffix(strings.TrimRight(line, " \t\r\n"), ";") {
			continue
		}
		statements = append(statements, strings.TrimSpace(current.String()))
		current.Reset()
	}
	if rest := strings.TrimSpace(current.String()); rest != "" {
		statements = append(statements, rest)
	}
	return statements
}
