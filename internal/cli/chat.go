// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

type chatOptions struct {
	create bool
	plain  bool
}

func newChat(f *Factory) *cobra.Command {
	o := chatOptions{}
	cmd := &cobra.Command{
		Use:   "chat [NAME]",
		Short: "Talk to agents on a full screen",
		Long: dedent(`
			Talk to agents on a full screen, which shows the conversation, its tasks, and the questions and approvals that wait for you.

			Without NAME, it opens the only chat of the namespace, lets you choose one of several, or creates one if there is
			none. Leaving does not stop the agents: they run in the cluster, and the same command returns to the chat.

			Keys:
			  enter                 send; while an agent asks a question: answer it
			  alt+enter, ctrl+j     insert a new line
			  esc                   while an agent asks a question: write to the orchestrator instead, and back
			  ctrl+y, ctrl+n        approve or deny the call that is shown; the text in the input becomes the comment
			  ctrl+e                open the arguments of that call in an editor, and approve it with the changed ones
			  ctrl+g                show the whole call
			  tab                   switch to the tasks and back; there: arrows select, enter opens, ctrl+x cancels
			  ctrl+o                open or close all tasks
			  up, down              with an empty input: earlier messages, to send them again
			  pgup, pgdn            scroll; with an empty input also home and end
			  ctrl+c                leave

			Lines that begin with a slash are commands: /attach FILE (to the next message), /approve [TASK], /deny [TASK] [COMMENT],
			/cancel [TASK], /diff (of the workspace), /role NAME and /model NAME (from the next turn on), /new [NAME] (another chat),
			/help, /quit.

			Without a terminal, or with --plain, it works line by line: each line of standard input is a message or command, sent
			when the previous one has been handled. At the end of the input, it waits for the work to end, and exits.

			` + exitCodes + `
		`),
		Example: dedent(`
			# Open the only chat of the namespace, or create one
			kubectl nestor chat

			# Open the chat first, and create it if it does not exist
			kubectl nestor chat first --create

			# From a script
			printf '%s\n' "Summarise what was released this year." "It is 2024" | kubectl nestor chat first
		`),
		Args:              argCount(0, 1, "at most one name of a chat"),
		ValidArgsFunction: f.firstArg(chats),
		RunE:              f.runE(o.run),
	}
	cmd.Flags().BoolVar(&o.create, "create", false, "Create the chat if it does not exist.")
	cmd.Flags().BoolVar(&o.plain, "plain", false, "Work line by line, even on a terminal.")
	return cmd
}

func (o *chatOptions) run(ctx context.Context, s *session, args []string) error {
	name := ""
	if len(args) == 1 {
		name = strings.TrimPrefix(strings.TrimPrefix(args[0], "chat/"), "agentchat.nestor.dev/")
	}
	name, err := o.findOrCreateChat(ctx, s, name)
	if err != nil {
		return err
	}
	if s.interactive() && !o.plain && !s.isDumbTerminal() {
		return s.runFullScreen(ctx, name)
	}
	return s.runLineMode(ctx, name)
}

// findOrCreateChat returns the name of the chat to open, and creates the chat if needed.
func (o *chatOptions) findOrCreateChat(ctx context.Context, s *session, name string) (string, error) {
	if name != "" && o.create {
		chat := s.newChatObject(name)
		if err := client.IgnoreAlreadyExists(s.api.Create(ctx, chat)); err != nil {
			return "", fmt.Errorf("create the chat: %w", err)
		}
		return name, nil
	}
	if name != "" {
		return name, s.checkChatExists(ctx, name)
	}
	var list v1beta1.AgentChatList
	if err := s.api.List(ctx, &list, client.InNamespace(s.namespace)); err != nil {
		return "", err
	}
	switch len(list.Items) {
	case 0:
		name, err := s.createChat(ctx, s.newChatObject(""))
		if err == nil {
			s.noticef("agentchat.nestor.dev/%s created", name)
		}
		return name, err
	case 1:
		return list.Items[0].Name, nil
	}
	return s.pickChat(ctx)
}

// isDumbTerminal reports whether the terminal cannot move the cursor.
func (s *session) isDumbTerminal() bool {
	for _, variable := range s.environ {
		if variable == "TERM=dumb" || variable == "TERM=" {
			return true
		}
	}
	return false
}
