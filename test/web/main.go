// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Command web runs the real stack for the tests and screenshots of the web page: a control plane, the operator, a
// scripted model, a tool server, and pages for several users. It prints its results as lines of JSON on standard
// output, and reads commands from standard input:
//
//	open USER NAMESPACE   serve a page as USER (admin, alice, bob or another user without permissions) and print its link
//	tokens                serve a page with token sign-in, and print its address and a token
//	oidc                  serve a page with sign-in at the issuer, and print its address
//	long NAMESPACE CHAT   create a chat with an agent that has 10,000 messages; the operator must be down
//	create USER JSON      create an object of nestor.dev as USER
//	restart               stop the operator and start another one
//	down                  stop the operator
//	up                    start it again
//	ledger up|down        make the ledger answer or not
//	model up|down|limited make the model answer, fail, or limit the rate of calls
//	quota NAMESPACE       create a quota that the namespace has used up
//
// With --issuer, it also starts an OpenID Connect issuer, which the API server trusts. It exits when its standard input
// is closed, and leaves nothing behind.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "web:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	logger := logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	s, err := newStack(ctx, slices.Contains(os.Args, "--issuer"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	respond(map[string]string{"kubeconfig": s.cluster.Kubeconfig, "kubectl": s.cluster.Kubectl})
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		answer, err := s.runCommand(ctx, strings.Fields(lines.Text()))
		if err != nil {
			answer = map[string]string{"error": err.Error()}
		}
		respond(answer)
	}
	return lines.Err()
}

func respond(answer map[string]string) {
	line, err := json.Marshal(answer)
	if err != nil {
		panic(fmt.Sprintf("encode an answer: %v", err)) // strings always encode
	}
	fmt.Println(string(line))
}

func (s *stack) runCommand(ctx context.Context, command []string) (map[string]string, error) {
	switch {
	case len(command) == 3 && command[0] == "open":
		return s.open(ctx, command[1], command[2])
	case len(command) == 1 && command[0] == "tokens":
		return s.tokens(ctx)
	case len(command) == 1 && command[0] == "oidc":
		return s.oidc()
	case len(command) == 3 && command[0] == "long":
		return s.createLongTranscript(ctx, command[1], command[2], 10_000)
	case len(command) == 2:
		return s.fault(ctx, command[0], command[1])
	case len(command) > 2 && command[0] == "create":
		return s.create(ctx, command[1], strings.Join(command[2:], " "))
	case len(command) == 1 && command[0] == "down":
		return map[string]string{"operator": "stopped"}, s.stopOperator()
	case len(command) == 1 && command[0] == "up":
		return map[string]string{"operator": "started"}, s.startOperator(ctx)
	case len(command) == 1 && command[0] == "restart":
		return map[string]string{"operator": "restarted"}, errors.Join(s.stopOperator(), s.startOperator(ctx))
	}
	return nil, fmt.Errorf("unknown command %q", strings.Join(command, " "))
}
