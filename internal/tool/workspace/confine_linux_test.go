// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/tool/workspace/shell"
)

// TestBashChangesNothingOutsideRoot checks the restriction by Landlock.
func TestBashChangesNothingOutsideRoot(t *testing.T) {
	if !shell.CanConfine() {
		t.Skip("this kernel has no Landlock, or too old a one")
	}
	for name, command := range map[string]string{
		"overwrite":         `echo x > ../canary.txt`,
		"append":            `echo x >> ../canary.txt`,
		"truncate":          `truncate -s 0 ../canary.txt`,
		"create":            `echo x > ../new.txt`,
		"directory":         `mkdir ../new`,
		"remove":            `rm -f ../canary.txt; rm -rf ../outside`,
		"move out":          `mv a.txt ../new.txt`,
		"move in":           `mv ../canary.txt moved.txt`,
		"replace":           `cp a.txt ../outside/canary.txt`,
		"hard link out":     `ln a.txt ../new.txt`,
		"hard link in":      `ln ../canary.txt in.txt && echo x > in.txt`,
		"link":              `ln -s a.txt ../new.txt`,
		"through a link":    `ln -s ../canary.txt l && echo x > l`,
		"through cd":        `cd .. && echo x > canary.txt`,
		"through proc":      `echo x > /proc/self/cwd/../canary.txt`,
		"pipe":              `mkfifo ../new`,
		"other program":     `python3 -c 'open("../canary.txt", "w")' || perl -e 'open(F, ">", "../canary.txt") or die'`,
		"detached":          `setsid bash -c 'echo x > ../canary.txt' & wait; false`,
		"empty environment": `env -i /bin/bash -c 'echo x > ../canary.txt'`,
		"in a subshell":     `(exec bash -c '(echo x > ../canary.txt)')`,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBeside(t)
			result := b.call("bash", args{"command": command})
			if !result.IsError {
				t.Errorf("not refused: %s", resultText(result))
			}
			b.checkUnchanged(t)
		})
	}
}

func TestConfinedBashStillWorks(t *testing.T) {
	c := serve(t, map[string]string{"a/f.txt": "x"})
	c.ok("bash", args{"command": `set -e
mkdir b; mv a/f.txt b/g.txt; ln b/g.txt b/h.txt; ln -s g.txt b/l; rm b/h.txt
echo x > /dev/null; echo y | tee "$(mktemp)" > "$HOME/z"; sleep 100 & kill %1
git init -q . && git -c user.name=a -c user.email=a@example.com commit -q --allow-empty -m first`})
}

// TestBashCannotReachServerProcess checks that commands can neither read the server's memory and files nor stop
// it, not even as root (root may read its environment; for other users see the test of nestor-workspace).
func TestBashCannotReachServerProcess(t *testing.T) {
	if !shell.CanConfine() {
		t.Skip("this kernel has no Landlock, or too old a one")
	}
	c := serve(t, nil)
	server := strconv.Itoa(os.Getpid())
	for _, command := range []string{"cat /proc/" + server + "/mem", "readlink -v /proc/" + server + "/fd/1", "kill -0 " + server, "kill -0 $PPID"} {
		c.fails("bash", args{"command": command}, "ermi") // permission denied, or operation not permitted
	}
	// The same rule protects the server's working directory.
	put(t, filepath.Join(filepath.Dir(c.root), "beside.txt"), canary)
	if got := resultText(c.call("bash", args{"command": "cat /proc/" + server + "/root" + c.root + "/../beside.txt"})); strings.Contains(got, canary) {
		t.Errorf("the server's view of the file system is visible: %s", got)
	}
}
