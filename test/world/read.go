// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"slices"

	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// Task returns a function that reads a task, for Eventually.
func (r *Room) Task(name string) func() (*v1beta1.AgentTask, error) {
	return func() (*v1beta1.AgentTask, error) {
		task := &v1beta1.AgentTask{}
		return task, r.Get(name, task)
	}
}

// TaskPhase returns a function that reads the phase of a task, for Eventually.
func (r *Room) TaskPhase(name string) func() (v1beta1.TaskPhase, error) {
	return func() (v1beta1.TaskPhase, error) {
		task, err := r.Task(name)()
		return task.Status.Phase, err
	}
}

// WaitForPhase waits until a task is in a phase, and returns it.
func (r *Room) WaitForPhase(name string, phase v1beta1.TaskPhase) *v1beta1.AgentTask {
	r.Test.Helper()
	var task *v1beta1.AgentTask
	r.Eventually(func() (phase v1beta1.TaskPhase, err error) {
		task, err = r.Task(name)()
		return task.Status.Phase, err
	}).Should(Equal(phase), "the phase of "+name)
	return task
}

// Messages returns the messages of the room that a filter selects.
func (r *Room) Messages(selects func(v1beta1.AgentMessage) bool) []v1beta1.AgentMessage {
	r.Test.Helper()
	var list v1beta1.AgentMessageList
	r.Expect(r.List(&list)).To(Succeed())
	return slices.DeleteFunc(list.Items, func(m v1beta1.AgentMessage) bool { return !selects(m) })
}

// Standalone returns the standalone tasks of the room.
func (r *Room) Standalone() []v1beta1.AgentTask {
	r.Test.Helper()
	var list v1beta1.AgentTaskList
	r.Expect(r.List(&list)).To(Succeed())
	return slices.DeleteFunc(list.Items, func(task v1beta1.AgentTask) bool {
		return task.Spec.Chat != "" || task.Labels[v1beta1.LabelParent] != ""
	})
}
