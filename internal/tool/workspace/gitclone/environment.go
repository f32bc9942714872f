// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gitclone

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/nestor-dev/nestor/internal/tool/workspace/giturl"
)

// prepare builds git's environment. Settings are passed as environment variables, which override the repository's
// configuration. cleanup removes the home directory with the copy of the key.
func (s Source) prepare(remote giturl.Remote) (git repository, cleanup func(), err error) {
	home, err := os.MkdirTemp("", "nestor-clone-")
	if err != nil {
		return git, nil, fmt.Errorf("create home directory for git: %w", err)
	}
	cleanup = func() { _ = os.RemoveAll(home) }
	git = repository{dir: s.Dir, private: s.Credentials != "", env: []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + home,
		"LANG=C.UTF-8",
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_TERMINAL_PROMPT=0",
		"GIT_ALLOW_PROTOCOL=" + protocols(remote.Scheme),
	}}
	// The directory of a volume belongs to root, and git refuses a repository in a directory of another user.
	settings := []string{"core.hooksPath=" + os.DevNull, "credential.helper=", "submodule.recurse=false", "http.proxy=", "safe.directory=*"}
	if s.Credentials != "" {
		// Git treats a server that it was redirected to like the original one and might send it the credentials.
		settings = append(settings, "http.followRedirects=false")
		if remote.Scheme != "ssh" {
			settings = append(settings, fmt.Sprintf("credential.%s.helper=!%s %s %s %s",
				remote.Origin(), quote(s.Program), HelperArgument, quote(remote.Origin()), quote(s.Credentials)))
		}
	}
	if remote.Scheme == "ssh" {
		command, err := s.sshCommand(home)
		if err != nil {
			cleanup()
			return git, nil, err
		}
		git.env = append(git.env, "GIT_SSH_COMMAND="+command, "GIT_SSH_VARIANT=ssh")
	}
	git.env = append(git.env, asVariables(settings)...)
	return git, cleanup, nil
}

// protocols returns the protocols that git may use for a URL and after a redirect. Others can run commands.
func protocols(scheme string) string {
	if scheme == "http" || scheme == "https" {
		return "http:https"
	}
	return scheme
}

// sshCommand returns an ssh command that connects only to servers in known_hosts and uses only the credentials' key.
func (s Source) sshCommand(home string) (string, error) {
	command := "ssh -F /dev/null -o BatchMode=yes -o StrictHostKeyChecking=yes -o GlobalKnownHostsFile=/dev/null -o IdentitiesOnly=yes"
	if s.Credentials == "" {
		return command, nil
	}
	command += " -o UserKnownHostsFile=" + quote(filepath.Join(s.Credentials, "known_hosts"))
	key, err := os.ReadFile(filepath.Join(s.Credentials, "ssh-privatekey"))
	if errors.Is(err, os.ErrNotExist) {
		return command, nil
	}
	if err != nil {
		return "", fmt.Errorf("read ssh key: %w", err)
	}
	// Ssh rejects a key that others may read, which can be the case for a mounted Secret.
	private := filepath.Join(home, "key")
	if err := os.WriteFile(private, key, 0o600); err != nil {
		return "", fmt.Errorf("copy ssh key: %w", err)
	}
	return command + " -i " + quote(private), nil
}

func asVariables(settings []string) []string {
	all := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(settings))}
	for i, setting := range settings {
		name, value, _ := strings.Cut(setting, "=")
		all = append(all, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, name), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, value))
	}
	return all
}

// quote quotes text for the shell with which git runs programs.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
