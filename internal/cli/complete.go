// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/role"
)

// completionTimeout limits how long a completion may take.
const completionTimeout = 3 * time.Second

type lister func(ctx context.Context, s *session) []cobra.Completion

// firstArg completes the first argument, and nothing after it.
func (f *Factory) firstArg(lists ...lister) cobra.CompletionFunc { return f.firstArgs(1, lists...) }

// firstArgs completes the first n arguments, and nothing after them.
func (f *Factory) firstArgs(n int, lists ...lister) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) >= n {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return f.complete(cmd, lists...)
	}
}

// complete gathers completions. Errors are dropped: a shell that completes has no place to print them.
func (f *Factory) complete(cmd *cobra.Command, lists ...lister) ([]cobra.Completion, cobra.ShellCompDirective) {
	s, err := f.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	var all []cobra.Completion
	for _, list := range lists {
		all = append(all, list(ctx, s)...)
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

func chats(ctx context.Context, s *session) []cobra.Completion {
	return describeObjects(ctx, s, &v1beta1.AgentChatList{}, func(c *v1beta1.AgentChat) string { return "chat, " + string(c.Status.Phase) })
}

// describeObjects returns the names of the objects of a list with their descriptions.
func describeObjects[O client.Object](ctx context.Context, s *session, list client.ObjectList, describe func(O) string) []cobra.Completion {
	var names []cobra.Completion
	for _, object := range objects[O](ctx, s, list) {
		names = append(names, cobra.CompletionWithDesc(object.GetName(), terminal.Line(describe(object))))
	}
	return names
}

// objects returns the objects of a list, or none if they cannot be read.
func objects[O runtime.Object](ctx context.Context, s *session, list client.ObjectList) []O {
	_ = s.api.List(ctx, list, client.InNamespace(s.namespace))
	var all []O
	_ = meta.EachListItem(list, func(object runtime.Object) error {
		all = append(all, object.(O))
		return nil
	})
	return all
}

func names(list client.ObjectList) lister {
	return func(ctx context.Context, s *session) []cobra.Completion {
		var all []cobra.Completion
		for _, object := range objects[client.Object](ctx, s, list) {
			all = append(all, object.GetName())
		}
		return all
	}
}

func tasks(want func(v1beta1.AgentTask) bool) lister {
	return func(ctx context.Context, s *session) []cobra.Completion {
		var list v1beta1.AgentTaskList
		_ = s.api.List(ctx, &list, client.InNamespace(s.namespace))
		var names []cobra.Completion
		for _, t := range list.Items {
			if want(t) {
				names = append(names, cobra.CompletionWithDesc(t.Name, terminal.Line(string(t.Status.Phase)+": "+t.Spec.Role+t.Spec.Tool)))
			}
		}
		return names
	}
}

func anyTask(v1beta1.AgentTask) bool { return true }

func roleNames(ctx context.Context, s *session) []cobra.Completion {
	var names []cobra.Completion
	for _, name := range role.Names() {
		built, _ := role.BuiltIn(name)
		names = append(names, cobra.CompletionWithDesc(name, built.Description))
	}
	var list v1beta1.AgentRoleList
	_ = s.api.List(ctx, &list, client.InNamespace(s.namespace))
	for _, r := range list.Items {
		if _, isBuiltIn := role.BuiltIn(r.Name); !isBuiltIn {
			names = append(names, cobra.CompletionWithDesc(r.Name, terminal.Line(r.Spec.Description)))
		}
	}
	return names
}

// completeFlags registers completions for the flags that take the name of an object.
func completeFlags(root *cobra.Command, f *Factory) {
	_ = root.RegisterFlagCompletionFunc("namespace", f.flag(names(&corev1.NamespaceList{})))
	_ = root.RegisterFlagCompletionFunc("context", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		config, err := clientcmd.NewDefaultClientConfigLoadingRules().Load()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []cobra.Completion
		for name := range config.Contexts {
			names = append(names, name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	})
}

func (f *Factory) flag(list lister) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return f.complete(cmd, list)
	}
}
