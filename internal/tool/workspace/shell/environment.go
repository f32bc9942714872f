// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"cmp"
	"os"
)

// Environment returns the environment of commands: a few fixed variables, and those of the server's that are named in
// allow. Temporary files go to home.
func Environment(home string, allow []string) []string {
	env := []string{
		"HOME=" + home,
		"TMPDIR=" + home,
		"LANG=" + cmp.Or(os.Getenv("LANG"), "C.UTF-8"),
		"PATH=" + cmp.Or(os.Getenv("PATH"), "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
		"TERM=dumb",
		// Keep tools from prompting and paging.
		"GIT_TERMINAL_PROMPT=0",
		"GIT_PAGER=cat",
		"PAGER=cat",
	}
	for _, name := range allow {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
