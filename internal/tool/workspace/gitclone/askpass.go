// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gitclone

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// AskPassVariable is the environment variable that tells the program that git
// runs it to ask for a user name or a password; its value is the directory of
// credentials. Main must then call [Answer].
const AskPassVariable = "NESTOR_WORKSPACE_ASKPASS"

// Answer returns the answer to a question of git's, such as
// "Password for 'https://example.com': ".
func Answer(credentials, question string) (string, error) {
	name := "password"
	if strings.HasPrefix(question, "Username") {
		name = "username"
	}
	value, err := os.ReadFile(filepath.Join(credentials, name))
	if err != nil {
		return "", fmt.Errorf("git asks for a %s, but the credentials have none", name)
	}
	return strings.TrimSpace(string(value)), nil
}
