// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/client/follow"
	"github.com/nestor-dev/nestor/internal/view"
)

type decideOptions struct {
	decision v1beta1.Decision
	call     string
	comment  string
	all      bool
	always   bool
	match    []string
	show     bool
	// edit opens the arguments in an editor, and arguments is a file that has them.
	edit      bool
	arguments string
	changes   changesReader
	timeout   time.Duration
	print     *printFlags
}

func newApprove(f *Factory) *cobra.Command {
	o := &decideOptions{decision: v1beta1.DecisionApprove, print: newPrintFlags("approved")}
	cmd := o.command(f, "approve", "Approve a tool call that waits for a decision")
	cmd.Long = dedent(`
		Approve a tool call that waits for a decision.

		TASK is the task whose agent or tool waits. The whole call is printed before it is approved: long arguments are read
		from the history API, and if that cannot be reached, nothing is approved. The decision applies to exactly the call
		that was printed. For a call of the workspace tools write and patch, a diff with the current file follows, if that
		can be read within two seconds; --show prints the call and the diff, and decides nothing. If several calls of the
		task wait, select one with --call, or all of them with --all. Without TASK, everything that waits is listed.

		With --edit or --arguments, the tool gets the arguments that you write instead of those of the model, if
		approval.editable of the role is set. The result tells the model which were used. --edit opens the editor in the
		environment variable KUBE_EDITOR or EDITOR, or vi.
	`)
	cmd.Example = dedent(`
		# List the waiting calls
		kubectl nestor approve

		# Print the call of first-2, and decide nothing
		kubectl nestor approve first-2 --show

		# Approve the call of first-2
		kubectl nestor approve first-2

		# Approve one of several calls, with a comment for the model
		kubectl nestor approve first-2 --call call_7 --comment "Fine, but do not touch the tests."

		# Change the arguments of the call in an editor, and approve it with them
		kubectl nestor approve first-2 --edit

		# Approve the call, and later ones of its tool in this chat that write below docs
		kubectl nestor approve first-2 --always --match path='docs/*'
	`)
	cmd.Flags().BoolVar(&o.always, "always", false, "Also approve later calls of the same tool in this chat, until the allowance is revoked (kubectl nestor allowances).")
	cmd.Flags().StringArrayVar(&o.match, "match", nil, "With --always, restrict an argument of later calls: NAME=PATTERN, where * stands for any characters. Can be repeated.")
	cmd.Flags().BoolVar(&o.show, "show", false, "Print the task's waiting calls and the changes that write or patch would make, and decide nothing.")
	cmd.Flags().BoolVar(&o.edit, "edit", false, "Change the arguments of the call in an editor before it is approved.")
	cmd.Flags().StringVar(&o.arguments, "arguments", "", "Approve the call with the arguments in this file, a JSON object; - reads the standard input.")
	cmd.MarkFlagsMutuallyExclusive("always", "all", "edit", "arguments")
	for _, decides := range []string{"always", "all", "match", "edit", "arguments", "comment", "output"} {
		cmd.MarkFlagsMutuallyExclusive("show", decides)
	}
	return cmd
}

func newDeny(f *Factory) *cobra.Command {
	o := &decideOptions{decision: v1beta1.DecisionDeny, print: newPrintFlags("denied")}
	cmd := o.command(f, "deny", "Deny a tool call that waits for a decision")
	cmd.Long = dedent(`
		Deny a tool call that waits for a decision.

		The model receives the denial with your comment and continues. TASK is the task whose agent or tool waits. If several
		calls of the task wait, select one with --call, or all of them with --all. Without TASK, everything that waits is
		listed.
	`)
	cmd.Example = dedent(`
		# Deny the call of first-2 and give the reason
		kubectl nestor deny first-2 --comment "Write into a branch, not into main."
	`)
	return cmd
}

func (o *decideOptions) command(f *Factory, use, short string) *cobra.Command {
	cmd := &cobra.Command{
		Use: use + " [TASK]", Short: short,
		Args:              argCount(0, 1, "the name of one task"),
		ValidArgsFunction: f.firstArg(tasks(needsApproval)),
		RunE:              f.runE(o.run),
	}
	cmd.Flags().StringVar(&o.call, "call", "", "The ID of the call, if several wait.")
	cmd.Flags().BoolVar(&o.all, "all", false, "Decide all calls of the task that wait.")
	cmd.Flags().StringVarP(&o.comment, "comment", "c", "", "A comment for the model.")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 30*time.Second, "How long to wait for the operator to handle the decision.")
	cmd.MarkFlagsMutuallyExclusive("call", "all")
	o.print.add(cmd)
	return cmd
}

func needsApproval(t v1beta1.AgentTask) bool {
	return t.Status.Waiting != nil && t.Status.Waiting.Kind == v1beta1.WaitingApproval
}

func (o *decideOptions) run(ctx context.Context, s *session, args []string) error {
	if len(args) == 0 {
		return s.printAsks(ctx)
	}
	to, err := s.find(ctx, args[0])
	if err != nil {
		return err
	}
	if to.task == nil {
		return usagef("%s is a chat: name the task whose call waits; `kubectl nestor approve` lists them", args[0])
	}
	chat := to.task.Spec.Chat
	now, err := follow.ReadSnapshot(ctx, s.api, follow.Scope{Namespace: s.namespace, Chat: chat, Standalone: chat == ""})
	if err != nil {
		return err
	}
	asks, err := o.selectCalls(to.task.Name, asksOf(to.task, now))
	if err != nil {
		return err
	}
	o.changes = changesReader{s: s, now: now}
	for _, ask := range asks {
		if o.show {
			err = o.showCall(ctx, s, ask)
		} else {
			err = o.decide(ctx, s, ask)
		}
		if err != nil {
			return explainTimeout(err, operatorWait)
		}
	}
	return nil
}

// asksOf returns the open questions and approvals of a task's own agent or tool, and for a standalone task also
// those of the agents below it.
func asksOf(task *v1beta1.AgentTask, now view.Snapshot) []view.Ask {
	var below []*view.Node
	if node := view.Find(now.Tree(""), task.Name); task.Spec.Chat == "" && node != nil {
		below = node.Children
	}
	return slices.DeleteFunc(now.Asks(task.Spec.Chat), func(a view.Ask) bool { return a.Task != task.Name && view.Find(below, a.Task) == nil })
}

func (o *decideOptions) selectCalls(task string, asks []view.Ask) ([]view.Ask, error) {
	asks = slices.DeleteFunc(asks, func(a view.Ask) bool { return a.Kind != v1beta1.WaitingApproval })
	if o.call != "" {
		asks = slices.DeleteFunc(asks, func(a view.Ask) bool { return a.Call != o.call })
	}
	switch {
	case len(asks) == 0 && o.call != "":
		return nil, fmt.Errorf("task %s does not wait for a decision on call %s", task, o.call)
	case len(asks) == 0:
		return nil, fmt.Errorf("task %s does not wait for a decision; `kubectl nestor approve` lists what waits", task)
	case len(asks) > 1 && !o.all && !o.show:
		var calls []string
		for _, a := range asks {
			calls = append(calls, fmt.Sprintf("\n  --call %s   %s", a.Call, describeAsk(a)))
		}
		return nil, usagef("%d calls of %s wait: select one with --call, or use --all%s", len(asks), task, fmt.Sprint(calls))
	}
	return asks, nil
}

func describeAsk(a view.Ask) string {
	return terminal.Fit(terminal.Line(a.Tool+" "+terminal.JSON(a.Arguments)), 100)
}

// decide prints one call and sends the decision about it.
func (o *decideOptions) decide(ctx context.Context, s *session, ask view.Ask) error {
	ask, err := o.readCall(ctx, s, ask)
	if err != nil {
		return err
	}
	approval := v1beta1.Approval{Decision: o.decision, Comment: o.comment}
	if approval.Arguments, err = o.editedArguments(ctx, s, ask); err != nil {
		return err
	}
	spec := decisionMessage(ask, approval)
	decided := ask
	decided.Arguments = cmp.Or(spec.Approval.Arguments, ask.Arguments)
	s.noticef("%s", exactCall(decided))
	out := terminal.Writer(s.ErrOut, s.environ)
	for _, line := range diffLines(indented(ask.Arguments)+"\n", indented(decided.Arguments)+"\n") {
		fmt.Fprintln(out, line.Render(0))
	}
	printBounded(out, o.changes.tryRead(ctx, decided), ask.Task)
	if err := o.addAllowance(ask, &spec); err != nil {
		return err
	}
	ctx, cancel := withTimeout(ctx, o.timeout) // reading what the call would change takes nothing of it
	defer cancel()
	message, err := s.postAndWait(ctx, spec)
	if err != nil {
		return err
	}
	if spec.Approval.Allow != nil {
		if err := s.waitAllowed(ctx, ask.Chat, message.Name); err != nil {
			return err
		}
		s.noticef("%s needs no approval in %s from now on; to end this: kubectl nestor allowances %s --revoke %s",
			describeAllowance(ask.Tool, spec.Approval.Allow.Arguments), ask.Chat, ask.Chat, message.Name)
	}
	task := &v1beta1.AgentTask{}
	task.Name, task.Namespace = ask.Task, s.namespace
	return s.printSent(o.print, message, task)
}

// readCall returns a call with its full arguments, if the user may decide about it. A call can be denied without them.
func (o *decideOptions) readCall(ctx context.Context, s *session, ask view.Ask) (view.Ask, error) {
	ctx, cancel := withTimeout(ctx, o.timeout)
	defer cancel()
	if err := s.checkMayDecide(ctx, ask); err != nil {
		return ask, err
	}
	whole, err := s.fullArguments(ctx, ask)
	if err != nil && o.decision == v1beta1.DecisionApprove {
		return ask, err
	}
	return whole, nil
}

// showCall prints one call, what it would change, and how to approve it.
func (o *decideOptions) showCall(ctx context.Context, s *session, ask view.Ask) error {
	if err := o.printCall(ctx, s, ask); err != nil {
		return err
	}
	decide := "kubectl nestor approve " + ask.Task
	if ask.Call != "" {
		decide += " --call " + terminal.Line(ask.Call)
	}
	s.noticef("nothing was decided; to approve it: %s", decide)
	return nil
}

// printCall prints one call and what it would change.
func (o *decideOptions) printCall(ctx context.Context, s *session, ask view.Ask) error {
	ctx, cancel := withTimeout(ctx, o.timeout)
	defer cancel()
	ask, err := s.fullArguments(ctx, ask)
	if err != nil {
		return err
	}
	out := s.humanOutput()
	fmt.Fprintln(out, exactCall(ask))
	lines, err := o.changes.read(ctx, ask)
	if err != nil {
		s.noticef("what the call would change cannot be shown: %s", terminal.Line(err.Error()))
	}
	for _, line := range lines {
		fmt.Fprintln(out, line.Render(0))
	}
	return nil
}

// exactCall returns a call with every character visible, and why policies require the approval.
func exactCall(ask view.Ask) string {
	text := terminal.Exact(ask.Tool + " " + terminal.JSON(ask.Arguments))
	for _, line := range ask.Reasons {
		text += "\n" + terminal.Exact(line)
	}
	return text
}

// checkMayDecide returns an error if the user may not decide about a call. It is checked before anything is sent.
func (s *session) checkMayDecide(ctx context.Context, ask view.Ask) error {
	if !ask.DenyRequesters {
		return nil
	}
	user, err := s.user(ctx)
	if err != nil {
		return err
	}
	return ask.CheckMayDecide(user)
}

// decisionMessage returns the message with a decision about a call.
func decisionMessage(ask view.Ask, approval v1beta1.Approval) v1beta1.AgentMessageSpec {
	approval.Task, approval.ToolCall, approval.ArgumentsDigest = ask.Task, ask.Call, ask.Digest
	spec := v1beta1.AgentMessageSpec{Chat: ask.Chat, Approval: &approval}
	if ask.Chat == "" {
		spec.Task = ask.Task
	}
	return spec
}

// printAsks prints everything in the namespace that waits for a person.
func (s *session) printAsks(ctx context.Context) error {
	o := waitingOptions{}
	now, err := o.read(ctx, s)
	if err != nil {
		return err
	}
	return o.print(s, now)
}
