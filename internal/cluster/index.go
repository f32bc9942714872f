// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// ChatField indexes tasks and messages by their chat, TaskField indexes messages by their standalone task, OwnerField
// indexes sub-agents by the UID of their task, TriggerField indexes tasks and messages by the UID of the trigger that
// created them, and HeldField those with the finalizer of a firing by the name of the trigger.
const (
	ChatField    = "spec.chat"
	TaskField    = "spec.task"
	OwnerField   = "metadata.controller"
	TriggerField = "metadata.trigger"
	HeldField    = "metadata.held"
)

// FieldIndex is the value by which the objects of a kind are listed.
type FieldIndex struct {
	Object client.Object
	Field  string
	value  func(client.Object) string
}

// Values returns the value of an object as a list, which is empty if it has none.
func (i FieldIndex) Values(object client.Object) []string {
	if value := i.value(object); value != "" {
		return []string{value}
	}
	return nil
}

// Indexes returns the indexes of the cache.
func Indexes() []FieldIndex {
	return []FieldIndex{
		{&v1beta1.AgentTask{}, ChatField, ChatOf},
		{&v1beta1.AgentMessage{}, ChatField, ChatOf},
		{&v1beta1.SubAgent{}, OwnerField, controllerUID},
		{&v1beta1.AgentTask{}, TriggerField, TriggerUID},
		{&v1beta1.AgentMessage{}, TriggerField, TriggerUID},
		{&v1beta1.AgentTask{}, HeldField, heldBy},
		{&v1beta1.AgentMessage{}, HeldField, heldBy},
		{&v1beta1.AgentMessage{}, TaskField, func(o client.Object) string { return o.(*v1beta1.AgentMessage).Spec.StandaloneTask() }},
	}
}

// Index adds the indexes to the cache.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	for _, index := range Indexes() {
		if err := indexer.IndexField(ctx, index.Object, index.Field, index.Values); err != nil {
			return fmt.Errorf("index %T by %s: %w", index.Object, index.Field, err)
		}
	}
	return nil
}

func indexed(object client.Object, field string) string {
	for _, index := range Indexes() {
		if index.Field == field && reflect.TypeOf(index.Object) == reflect.TypeOf(object) {
			return index.value(object)
		}
	}
	return ""
}

func controllerUID(object client.Object) string {
	if ref := metav1.GetControllerOf(object); ref != nil {
		return string(ref.UID)
	}
	return ""
}

// TriggerUID returns the UID of the trigger that created a task or message, or "".
func TriggerUID(object client.Object) string {
	uid, _, _ := strings.Cut(object.GetAnnotations()[v1beta1.AnnotationFiring], "/")
	return uid
}

// heldBy returns the name of the trigger of a task or message with the finalizer of a firing, or "".
func heldBy(object client.Object) string {
	if hasFiringFinalizer(object) {
		return object.GetLabels()[v1beta1.LabelTrigger]
	}
	return ""
}

// ChatKey returns the namespace and name of the chat of a task or message, and whether it has one.
func ChatKey(object client.Object) (types.NamespacedName, bool) {
	name := ChatOf(object)
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: name}, name != ""
}

// ChatOf returns the chat of a task or message, or "".
func ChatOf(object client.Object) string {
	switch o := object.(type) {
	case *v1beta1.AgentTask:
		return o.Spec.Chat
	case *v1beta1.AgentMessage:
		return o.Spec.Chat
	}
	return ""
}
