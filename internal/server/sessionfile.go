// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// sessionFile is the path of a file that keeps the session of a local page; empty keeps none.
type sessionFile string

// keptSession is the content of a sessionFile.
type keptSession struct {
	Cookie  string `json:"cookie"`
	Session string `json:"session"`
}

// read returns the kept session. A file that others can read, or that is damaged, is ignored: the person signs in again.
func (f sessionFile) read() (keptSession, error) {
	if f == "" {
		return keptSession{}, nil
	}
	info, err := os.Stat(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return keptSession{}, nil
	}
	if err != nil {
		return keptSession{}, fmt.Errorf("read the session of the page: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return keptSession{}, nil
	}
	text, err := os.ReadFile(string(f))
	if err != nil {
		return keptSession{}, fmt.Errorf("read the session of the page: %w", err)
	}
	var session keptSession
	if damaged := json.Unmarshal(text, &session); damaged != nil || session.Cookie == "" {
		session = keptSession{}
	}
	return session, nil
}

// write replaces the file by one that only its owner can read.
func (f sessionFile) write(session keptSession) error {
	if f == "" {
		return nil
	}
	text, err := json.Marshal(session)
	if err != nil {
		return fmt.Errorf("encode the session of the page: %w", err)
	}
	// A file of that name keeps its mode when it is written.
	if err := os.Remove(string(f)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replace the session of the page: %w", err)
	}
	if err := os.WriteFile(string(f), append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("keep the session of the page: %w", err)
	}
	return nil
}
