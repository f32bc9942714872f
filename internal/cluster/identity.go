// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/sha256"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
)

// UIDs identify objects; names only address them. An object found by its name may be left over from a deleted owner, or
// belong to another owner, so all functions here check the owner.

// Read reads an object by its name, from the cache or from the API server.
type Read func(context.Context, types.NamespacedName, client.Object) error

// Characters of suffixes: no vowels, so that they form no words. The first is a letter, so that a suffixed name is
// never the name of a numbered child.
const (
	suffixLetters = "bcdfghjklmnpqrstvwxz"
	suffixChars   = suffixLetters + "2456789"
	suffixLength  = 5
)

// Suffix returns the suffix that turns a taken name into a new one. It depends on the UID of the owner, so it is the
// same after every restart, and on the full name, so that two long names that are truncated do not collide.
func Suffix(owner types.UID, name string) string {
	sum := sha256.Sum256([]byte(string(owner) + "/" + name))
	suffix := []byte{suffixLetters[int(sum[0])%len(suffixLetters)]}
	for _, b := range sum[1:suffixLength] {
		suffix = append(suffix, suffixChars[int(b)%len(suffixChars)])
	}
	return string(suffix)
}

// ChildTask returns the task of an agent's child, or nil. A task with that name and another owner is not the child's.
func ChildTask(ctx context.Context, owner client.Object, name string, read Read) (*v1beta1.AgentTask, error) {
	var task v1beta1.AgentTask
	err := read(ctx, types.NamespacedName{Namespace: owner.GetNamespace(), Name: name}, &task)
	if apierrors.IsNotFound(err) || (err == nil && !metav1.IsControlledBy(&task, owner)) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get task %s/%s: %w", owner.GetNamespace(), name, err)
	}
	return &task, nil
}

// FindChildTask is like ChildTask, but reads from the API server if the cache has no such task, or that of another
// owner.
func (r Reader) FindChildTask(ctx context.Context, owner client.Object, name string) (*v1beta1.AgentTask, error) {
	if task, err := ChildTask(ctx, owner, name, r.Observed); task != nil || err != nil {
		return task, err
	}
	return ChildTask(ctx, owner, name, r.Live)
}

// SubAgentNames returns the names that a task's sub-agent may have: the task's own, or one with a suffix if that is
// taken.
func SubAgentNames(task *v1beta1.AgentTask) []string {
	names := []string{task.Name}
	for range 2 {
		names = append(names, agent.AddSuffix(task.Name, Suffix(task.UID, names[len(names)-1])))
	}
	return names
}

// SubAgent returns the cached sub-agent of a task, or nil.
func (r Reader) SubAgent(ctx context.Context, task *v1beta1.AgentTask) (*v1beta1.SubAgent, error) {
	return findSubAgent(ctx, task, r.Cached)
}

// FindSubAgent is like SubAgent, but reads from the API server if the cache has no sub-agent with such a name, or
// those of other tasks.
func (r Reader) FindSubAgent(ctx context.Context, task *v1beta1.AgentTask) (*v1beta1.SubAgent, error) {
	if sub, err := findSubAgent(ctx, task, r.Observed); sub != nil || err != nil {
		return sub, err
	}
	return findSubAgent(ctx, task, r.Live)
}

func findSubAgent(ctx context.Context, task *v1beta1.AgentTask, read Read) (*v1beta1.SubAgent, error) {
	names := SubAgentNames(task)
	if shown := task.Status.SubAgent; shown != "" && shown != task.Name {
		names = append([]string{shown}, names...)
	}
	for _, name := range names {
		var sub v1beta1.SubAgent
		err := read(ctx, types.NamespacedName{Namespace: task.Namespace, Name: name}, &sub)
		if err == nil && metav1.IsControlledBy(&sub, task) {
			return &sub, nil
		}
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("get sub-agent %s/%s: %w", task.Namespace, name, err)
		}
	}
	return nil, nil
}

// OwnedByOther reports whether an object belongs to another chat or task than owner: its own owner was deleted, and
// owner has the same name.
func OwnedByOther(object, owner client.Object) bool {
	ref := metav1.GetControllerOf(object)
	return ref != nil && ref.UID != owner.GetUID() && NewObject(ref.Kind) != nil
}
