// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gitclone

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/nestor-dev/nestor/internal/tool/workspace/giturl"
)

// HelperArgument is the first argument with which git runs the program to request a user name and a password; main
// must then call [AnswerGit].
const HelperArgument = "git-credential"

// AnswerGit answers a request of git for credentials as described in git-credential(7). The arguments are those after
// HelperArgument: the server that may receive the credentials, their directory, and git's operation. A request for
// any other server gets no answer.
func AnswerGit(arguments []string, request io.Reader, answer io.Writer) error {
	if len(arguments) != 3 {
		return errors.New("git requests credentials in an unknown way")
	}
	origin, dir, operation := arguments[0], arguments[1], arguments[2]
	if operation != "get" || !matchesOrigin(origin, request) {
		return nil
	}
	for _, name := range []string{"username", "password"} {
		value, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return fmt.Errorf("git requests a %s, but the credentials have none", name)
		}
		fmt.Fprintf(answer, "%s=%s\n", name, strings.TrimSpace(string(value)))
	}
	return nil
}

// matchesOrigin reports whether a request is for the given server only.
func matchesOrigin(origin string, request io.Reader) bool {
	var protocols, hosts []string
	lines := bufio.NewScanner(request)
	for lines.Scan() && lines.Text() != "" {
		if name, value, _ := strings.Cut(lines.Text(), "="); name == "protocol" {
			protocols = append(protocols, value)
		} else if name == "host" {
			hosts = append(hosts, value)
		}
	}
	if len(protocols) != 1 || len(hosts) != 1 {
		return false
	}
	want, err := giturl.Parse(origin + "/-")
	if err != nil {
		return false
	}
	got, err := giturl.Parse(protocols[0] + "://" + hosts[0] + "/-")
	return err == nil && got == want
}
