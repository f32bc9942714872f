// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/kube"
	"github.com/nestor-dev/nestor/internal/similar"
)

// target is what a NAME on the command line means: a chat or a task.
type target struct {
	chat *v1beta1.AgentChat
	task *v1beta1.AgentTask
}

func (t target) name() string {
	if t.task != nil {
		return t.task.Name
	}
	return t.chat.Name
}

// find resolves a name. chat/NAME and task/NAME select one if both exist.
func (s *session) find(ctx context.Context, name string) (target, error) {
	kind, rest, qualified := strings.Cut(name, "/")
	if !qualified {
		return s.findEither(ctx, name)
	}
	switch kind {
	case "chat", "agentchat", "achat":
		chat, err := s.getChat(ctx, rest)
		return target{chat: chat}, err
	case "task", "agenttask", "atask", "subagent", "sagent":
		task, err := s.getTask(ctx, rest)
		return target{task: task}, err
	}
	return target{}, usagef("%q is neither chat/NAME nor task/NAME", name)
}

func (s *session) findEither(ctx context.Context, name string) (target, error) {
	chat, errChat := s.getChat(ctx, name)
	if errChat != nil && !apierrors.IsNotFound(errChat) {
		return target{}, errChat
	}
	task, errTask := s.getTask(ctx, name)
	if errTask != nil && !apierrors.IsNotFound(errTask) {
		return target{}, errTask
	}
	switch {
	case errChat == nil && errTask == nil:
		return target{}, usagef("both a chat and a task are called %q: use chat/%s or task/%s", name, name, name)
	case errChat == nil:
		return target{chat: chat}, nil
	case errTask == nil:
		return target{task: task}, nil
	case kube.IsNoSuchAPI(errChat):
		return target{}, errChat
	}
	if suggestion := similar.DidYouMean(name, append(names(&v1beta1.AgentChatList{})(ctx, s), names(&v1beta1.AgentTaskList{})(ctx, s)...)); suggestion != "" {
		return target{}, fmt.Errorf("there is no chat and no task called %q in namespace %s%s", name, s.namespace, suggestion)
	}
	return target{}, fmt.Errorf("there is no chat and no task called %q in namespace %s: `kubectl nestor tree` lists them", name, s.namespace)
}

func (s *session) getChat(ctx context.Context, name string) (*v1beta1.AgentChat, error) {
	chat := &v1beta1.AgentChat{}
	return chat, s.get(ctx, name, chat)
}

func (s *session) getTask(ctx context.Context, name string) (*v1beta1.AgentTask, error) {
	task := &v1beta1.AgentTask{}
	return task, s.get(ctx, name, task)
}

func (s *session) get(ctx context.Context, name string, into client.Object) error {
	return s.api.Get(ctx, types.NamespacedName{Namespace: s.namespace, Name: name}, into)
}

// checkChatExists returns an error with advice if there is no such chat.
func (s *session) checkChatExists(ctx context.Context, name string) error {
	_, err := s.getChat(ctx, name)
	if apierrors.IsNotFound(err) && !kube.IsNoSuchAPI(err) {
		if suggestion := similar.DidYouMean(name, names(&v1beta1.AgentChatList{})(ctx, s)); suggestion != "" {
			return fmt.Errorf("there is no chat %q in namespace %s%s", name, s.namespace, suggestion)
		}
		return fmt.Errorf("there is no chat %q in namespace %s: `kubectl nestor new %s` creates it, `kubectl nestor tree` lists all chats", name, s.namespace, name)
	}
	return err
}
