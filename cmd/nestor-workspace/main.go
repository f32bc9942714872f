// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/nestor-dev/nestor/internal/tool/workspace/gitclone"
	"github.com/nestor-dev/nestor/internal/tool/workspace/shell"
	"github.com/nestor-dev/nestor/internal/version"
)

const usage = `nestor-workspace serves the files of one directory to agents, over MCP.

  nestor-workspace --root DIR --token-file FILE    serve a directory
  nestor-workspace clone --root DIR --url URL      fill a directory from git, once
  nestor-workspace publish --url URL --branch NAME push changes for the operator
  nestor-workspace version                         print the version

To try it, on files of your own:

  (umask 077; openssl rand -hex 32 > ~/.nestor-workspace-token)
  nestor-workspace --root . --token-file ~/.nestor-workspace-token

and point an MCP client (Streamable HTTP) at http://127.0.0.1:7410/ with the
header "Authorization: Bearer TOKEN". File tools cannot leave the directory. The
bash tool reads what you can read and uses the network as you do: run it in a
container, or use --no-bash.

"nestor-workspace --help" and "nestor-workspace clone --help" list the flags.
`

func main() {
	// Git runs this program to request credentials; see package gitclone.
	if len(os.Args) > 1 && os.Args[1] == gitclone.HelperArgument {
		os.Exit(answerGit(os.Args[2:]))
	}
	// A Runner runs this program to supervise a command; see package shell.
	if len(os.Args) > 2 && os.Args[1] == shell.SupervisorArgument {
		os.Exit(shell.Supervise(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "nestor-workspace:", err)
		os.Exit(1)
	}
}

func answerGit(arguments []string) int {
	if err := gitclone.AnswerGit(arguments, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// run dispatches on the first argument.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return errors.New("--root is missing; name the directory to serve")
	}
	switch args[0] {
	case "clone":
		return clone(ctx, args[1:], stdout)
	case "publish":
		return publish(ctx, args[1:], stdout, stderr)
	case "version", "--version":
		fmt.Fprintln(stdout, "nestor-workspace", version.String())
		return nil
	case "help":
		fmt.Fprint(stdout, usage)
		return nil
	case "serve":
		args = args[1:]
	}
	return serve(ctx, args, stdout, stderr)
}
