// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

type newChatOptions struct {
	role, provider, model string
	maxTokens, maxCost    int64
	maxDepth, maxParallel int32
	message               string
	workspace             workspaceOptions
	dryRun                dryRun
	print                 *printFlags
}

func newNewChat(f *Factory) *cobra.Command {
	o := newChatOptions{print: newPrintFlags("created")}
	cmd := &cobra.Command{
		Use:   "new [NAME]",
		Short: "Create a chat",
		Long: dedent(`
			Create a chat.

			Without NAME, a name is generated and printed. Everything has a default: the role orchestrator, the model provider
			default, no workspace and no limit on cost.
		`),
		Example: dedent(`
			# Create the chat first
			kubectl nestor new first

			# Create one that works on a repository and may use at most a million tokens
			kubectl nestor new review --git https://example.com/team/shop.git --max-tokens 1000000

			# Create one with a first message, and open it
			kubectl nestor chat $(kubectl nestor new -m "Plan the move to PostgreSQL." -o name)

			# Write a manifest, for GitOps
			kubectl nestor new first --dry-run=client -o yaml > chat.yaml
		`),
		Args:              argCount(0, 1, "at most one name"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              f.runE(o.run),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.role, "role", "", "The role of the orchestrator (default orchestrator).")
	flags.StringVar(&o.provider, "provider", "", "The ModelProvider (default: the role's, else the one named default).")
	flags.StringVar(&o.model, "model", "", "The model (default: the role's, else the provider's).")
	flags.Int64Var(&o.maxTokens, "max-tokens", 0, "How many tokens the whole chat may use; 0 is no limit.")
	flags.Int64Var(&o.maxCost, "max-cost-micros", 0, "What the whole chat may cost, in millionths of the currency; 0 is no limit.")
	flags.Int32Var(&o.maxDepth, "max-depth", 0, "How deep sub-agents may be nested (default 2).")
	flags.Int32Var(&o.maxParallel, "max-parallel", 0, "How many sub-agents may work at a time (default 8).")
	flags.StringVarP(&o.message, "message", "m", "", "Send this message to the new chat.")
	o.workspace.register(cmd)
	o.dryRun.register(cmd)
	o.print.add(cmd)
	_ = cmd.RegisterFlagCompletionFunc("role", f.flag(roleNames))
	_ = cmd.RegisterFlagCompletionFunc("provider", f.flag(names(&v1beta1.ModelProviderList{})))
	return cmd
}

func (o *newChatOptions) run(ctx context.Context, s *session, args []string) error {
	if err := o.dryRun.check(); err != nil {
		return err
	}
	name := ""
	if len(args) == 1 {
		name = strings.TrimPrefix(args[0], "chat/")
	}
	chat := s.newChatObject(name)
	chat.Spec.Role, chat.Spec.ModelProvider, chat.Spec.Model = o.role, o.provider, o.model
	chat.Spec.Limits = v1beta1.ChatLimits{MaxTotalTokens: o.maxTokens, MaxCostMicros: o.maxCost, MaxDepth: o.maxDepth, MaxParallelTasks: o.maxParallel}
	var err error
	if chat.Spec.Workspace, err = o.workspace.workspace(); err != nil {
		return err
	}
	var missing error
	if o.dryRun.disabled() {
		missing = s.warnMissing(ctx, o.role, o.provider)
	}
	if err := s.create(ctx, chat, o.dryRun); err != nil {
		return err
	}
	if o.message != "" && o.dryRun.disabled() {
		if _, err := s.post(ctx, v1beta1.AgentMessageSpec{Chat: chat.Name, Content: o.message}); err != nil {
			return fmt.Errorf("chat %s was created, but: %w", chat.Name, err)
		}
	}
	if err := s.print(o.print, chat); err != nil || o.message == "" {
		return err
	}
	return cannotHandle(chat.Name, missing)
}

func (s *session) newChatObject(name string) *v1beta1.AgentChat {
	chat := &v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
	if name == "" {
		chat.GenerateName = "chat-"
	}
	return chat
}
