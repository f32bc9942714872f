// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// tokenVariable may contain the token instead of a file.
const tokenVariable = "NESTOR_WORKSPACE_TOKEN"

// minToken is the minimum length of a token.
const minToken = 16

// readToken returns the bearer token. There is no flag for it, because arguments are visible to every process on the
// machine. Commands do not inherit the variable, and hideMemory prevents them from reading it in /proc.
func readToken(file string) (string, error) {
	token := os.Getenv(tokenVariable)
	if err := os.Unsetenv(tokenVariable); err != nil {
		return "", err
	}
	if file != "" {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("read token: %w", err)
		}
		token = string(content)
	}
	token = strings.TrimSpace(token)
	if token == "" {
		return "", errors.New("no token: name a file with --token-file or set " + tokenVariable)
	}
	if len(token) < minToken {
		return "", fmt.Errorf("the token is too short; use %d characters or more, for example from: openssl rand -hex 32", minToken)
	}
	return token, nil
}
