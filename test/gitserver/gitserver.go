// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package gitserver serves git repositories over HTTP to clients that know a password, for tests.
package gitserver

import (
	"context"
	"fmt"
	"net/http"
	"net/http/cgi"
	"os/exec"
	"path/filepath"
	"strings"
)

// Handler returns a handler that serves the repositories in a directory to a user with a password, for reads and for pushes.
func Handler(ctx context.Context, dir, user, password string) (http.Handler, error) {
	backend, err := Backend(ctx, dir, user)
	if err != nil {
		return nil, err
	}
	return WithPassword(user, password, backend), nil
}

// Backend returns a handler that serves the repositories in a directory to everyone. Pushes are made as the user.
func Backend(ctx context.Context, dir, user string) (http.Handler, error) {
	programs, err := exec.CommandContext(ctx, "git", "--exec-path").Output()
	if err != nil {
		return nil, fmt.Errorf("find the programs of git: %w", err)
	}
	return &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(programs)), "git-http-backend"),
		Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=" + user,
			"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*", "GIT_CONFIG_KEY_1=http.receivepack", "GIT_CONFIG_VALUE_1=true"},
	}, nil
}

// WithPassword returns a handler that serves only a user with a password.
func WithPassword(user, password string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, given, _ := r.BasicAuth(); name != user || given != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
