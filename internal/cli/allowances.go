// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/kubewatch"
	"github.com/nestor-dev/nestor/internal/view"
)

type allowancesOptions struct {
	revoke  string
	timeout time.Duration
	print   *printFlags
}

func newAllowances(f *Factory) *cobra.Command {
	o := allowancesOptions{print: newPrintFlags("revoked")}
	cmd := &cobra.Command{
		Use:   "allowances CHAT",
		Short: "List or revoke the tools that were allowed for a chat",
		Long: dedent(`
			List or revoke the tools that were allowed for a chat.

			An allowance approves calls of one tool in one chat. It is made with kubectl nestor approve --always. Calls that
			it has approved stay approved when it is revoked. With -o, the chat is printed: its status.allowances are the
			allowances.
		`),
		Example: dedent(`
			# List the allowances of a chat
			kubectl nestor allowances first

			# End one
			kubectl nestor allowances first --revoke first-x7k2p
		`),
		Args:              argCount(1, 1, "the name of one chat"),
		ValidArgsFunction: f.firstArg(chats),
		RunE:              f.runE(o.run),
	}
	cmd.Flags().StringVar(&o.revoke, "revoke", "", "The name of the allowance to end.")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 30*time.Second, "How long to wait for the operator to handle the revoke.")
	o.print.add(cmd)
	return cmd
}

func (o *allowancesOptions) run(ctx context.Context, s *session, args []string) error {
	if err := s.checkChatExists(ctx, args[0]); err != nil {
		return err
	}
	chat, err := s.getChat(ctx, args[0])
	if err != nil {
		return err
	}
	if o.revoke != "" {
		return o.end(ctx, s, chat)
	}
	if o.print.format != "" {
		return s.print(o.print, chat)
	}
	if len(chat.Status.Allowances) == 0 {
		s.noticef("No tool is allowed for the chat %s; kubectl nestor approve TASK --always allows one.", chat.Name)
		return nil
	}
	table := terminal.Table{Heading: []string{"NAME", "TOOL", "ARGUMENTS", "BY", "SINCE"}}
	for _, a := range chat.Status.Allowances {
		since := ""
		if a.StartTime != nil {
			since = a.StartTime.UTC().Format(time.RFC3339)
		}
		table.Rows = append(table.Rows, []string{a.Name, a.Tool, terminal.Line(describePatterns(a.Arguments)), terminal.Line(a.User), since})
	}
	table.Print(s.humanOutput())
	return nil
}

func (o *allowancesOptions) end(ctx context.Context, s *session, chat *v1beta1.AgentChat) error {
	if !hasAllowance(chat, o.revoke) {
		return fmt.Errorf("chat %s has no allowance %q: `kubectl nestor allowances %s` lists them", chat.Name, o.revoke, chat.Name)
	}
	ctx, cancel := withTimeout(ctx, o.timeout)
	defer cancel()
	message, err := s.postAndWait(ctx, v1beta1.AgentMessageSpec{Chat: chat.Name, Revoke: &v1beta1.Revoke{Allowance: o.revoke}})
	if err != nil {
		return explainTimeout(err, operatorWait)
	}
	return s.printSent(o.print, message, chat)
}

// addAllowance makes a decision a standing one if --always is set.
func (o *decideOptions) addAllowance(ask view.Ask, spec *v1beta1.AgentMessageSpec) error {
	switch {
	case !o.always && len(o.match) > 0:
		return usagef("--match requires --always")
	case !o.always:
		return nil
	case ask.Chat == "":
		return usagef("--always is for the calls of a chat, and %s is a standalone task", ask.Task)
	case ask.DenyRequesters:
		return errors.New("the role or a policy of this call requires a decision about each call: approve it without --always")
	}
	spec.Approval.Allow = &v1beta1.Allow{}
	for _, m := range o.match {
		name, pattern, ok := strings.Cut(m, "=")
		if !ok || name == "" || pattern == "" {
			return usagef("--match %q is not NAME=PATTERN", m)
		}
		spec.Approval.Allow.Arguments = append(spec.Approval.Allow.Arguments, v1beta1.ArgumentPattern{Name: name, Pattern: pattern})
	}
	return nil
}

// waitAllowed waits until the status of a chat shows an allowance, so that the next command finds it.
func (s *session) waitAllowed(ctx context.Context, chat, allowance string) error {
	about := &v1beta1.AgentChat{}
	about.Name, about.Namespace = chat, s.namespace
	_, err := kubewatch.Until(ctx, s.api, about, &v1beta1.AgentChatList{}, func(c *v1beta1.AgentChat) bool { return hasAllowance(c, allowance) })
	return err
}

func hasAllowance(chat *v1beta1.AgentChat, allowance string) bool {
	return slices.ContainsFunc(chat.Status.Allowances, func(a v1beta1.ChatAllowance) bool { return a.Name == allowance })
}

func describeAllowance(tool string, patterns []v1beta1.ArgumentPattern) string {
	if len(patterns) == 0 {
		return terminal.Line(tool)
	}
	return terminal.Line(tool + " with " + describePatterns(patterns))
}

func describePatterns(patterns []v1beta1.ArgumentPattern) string {
	if len(patterns) == 0 {
		return "any"
	}
	all := make([]string, len(patterns))
	for i, p := range patterns {
		all[i] = p.Name + ": " + p.Pattern
	}
	return strings.Join(all, ", ")
}
