// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// Snapshot is the state of a scope at one moment.
type Snapshot struct {
	// Namespace is the namespace of all objects, in the parts that ByNamespace returns.
	Namespace string
	Chats     []v1beta1.AgentChat
	Messages  []v1beta1.AgentMessage // in the order of the conversation
	Tasks     []v1beta1.AgentTask
	Agents    []v1beta1.SubAgent
	// Err is the reason why the snapshot may be outdated: the connection is lost. It is nil while the snapshot is current.
	Err error
}

// NewSnapshot returns the snapshot of objects of one namespace, with the messages in the order of the conversation.
func NewSnapshot(chats []v1beta1.AgentChat, messages []v1beta1.AgentMessage, tasks []v1beta1.AgentTask, agents []v1beta1.SubAgent) Snapshot {
	sortMessages(messages, tasks)
	return Snapshot{Chats: chats, Messages: messages, Tasks: tasks, Agents: agents}
}

// Chat returns the chat with the name, or nil.
func (s Snapshot) Chat(name string) *v1beta1.AgentChat { return withName(s.Chats, name) }

// Message returns the message with the name, or nil.
func (s Snapshot) Message(name string) *v1beta1.AgentMessage { return withName(s.Messages, name) }

// Task returns the task with the name, or nil.
func (s Snapshot) Task(name string) *v1beta1.AgentTask { return withName(s.Tasks, name) }

func withName[T any, P interface {
	*T
	GetName() string
}](objects []T, name string) P {
	for i := range objects {
		if object := P(&objects[i]); object.GetName() == name {
			return object
		}
	}
	return nil
}

// AgentOf returns the sub-agent of a task, or nil.
func (s Snapshot) AgentOf(task *v1beta1.AgentTask) *v1beta1.SubAgent { return s.agents().of(task) }

// agentIndex has sub-agents by the UIDs of their owners, or by name without one. They are matched by owner, because a
// sub-agent with the task's name may belong to a deleted task.
type agentIndex struct {
	owned   map[types.UID]*v1beta1.SubAgent
	unowned map[string]*v1beta1.SubAgent
}

func (s Snapshot) agents() agentIndex {
	index := agentIndex{map[types.UID]*v1beta1.SubAgent{}, map[string]*v1beta1.SubAgent{}}
	for i := range s.Agents {
		if owner := metav1.GetControllerOfNoCopy(&s.Agents[i]); owner != nil {
			index.owned[owner.UID] = &s.Agents[i]
			continue
		}
		index.unowned[s.Agents[i].Name] = &s.Agents[i]
	}
	return index
}

func (x agentIndex) of(task *v1beta1.AgentTask) *v1beta1.SubAgent {
	return cmp.Or(x.owned[task.UID], x.unowned[AgentName(task)])
}

// AgentName returns the name of a task's sub-agent.
func AgentName(task *v1beta1.AgentTask) string {
	return cmp.Or(task.Status.SubAgent, task.Name)
}
