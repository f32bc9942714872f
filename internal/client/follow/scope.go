// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/view"
)

// Scope selects what to watch: a chat, the standalone tasks of a namespace, or with neither the whole namespace. Without a namespace it
// selects everything in the cluster; use Snapshot.ByNamespace then.
type Scope struct {
	Namespace  string
	Chat       string
	Standalone bool
}

func (s Scope) selector() labels.Selector {
	switch {
	case s.Chat != "":
		return labels.SelectorFromSet(labels.Set{v1beta1.LabelChat: s.Chat})
	case s.Standalone:
		return unlabelled
	}
	return labels.Everything()
}

// unlabelled selects what belongs to no chat.
var unlabelled = func() labels.Selector {
	requirement, err := labels.NewRequirement(v1beta1.LabelChat, selection.DoesNotExist, nil)
	if err != nil {
		panic(err) // the label is a constant
	}
	return labels.NewSelector().Add(*requirement)
}()

func (s Scope) chatField() fields.Selector {
	if s.Chat == "" {
		return fields.Everything()
	}
	return fields.OneTermEqualSelector("metadata.name", s.Chat)
}

func (s Scope) options(list client.ObjectList) []client.ListOption {
	options := []client.ListOption{client.InNamespace(s.Namespace)}
	if _, isChat := list.(*v1beta1.AgentChatList); isChat {
		return append(options, client.MatchingFieldsSelector{Selector: s.chatField()})
	}
	return append(options, client.MatchingLabelsSelector{Selector: s.selector()})
}

// ReadSnapshot reads the current state of a scope.
func ReadSnapshot(ctx context.Context, api client.Reader, scope Scope) (view.Snapshot, error) {
	return read(ctx, api, scope.options)
}

func read(ctx context.Context, api client.Reader, options func(client.ObjectList) []client.ListOption) (view.Snapshot, error) {
	var (
		chats    v1beta1.AgentChatList
		messages v1beta1.AgentMessageList
		tasks    v1beta1.AgentTaskList
		agents   v1beta1.SubAgentList
	)
	for _, list := range []client.ObjectList{&chats, &messages, &tasks, &agents} {
		if err := api.List(ctx, list, options(list)...); err != nil {
			return view.Snapshot{}, err
		}
	}
	return view.NewSnapshot(chats.Items, messages.Items, tasks.Items, agents.Items), nil
}
