// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/view"
)

// standstillOf returns why the work of an object stands still, or nil.
func standstillOf(resource string, object *unstructured.Unstructured) *view.Standstill {
	status := map[string]any{}
	for _, field := range []string{"phase", "conditions"} { // an inbox has thousands of objects: the rest is not converted
		if value, found, err := unstructured.NestedFieldNoCopy(object.Object, "status", field); found && err == nil {
			status[field] = value
		}
	}
	var (
		chat  v1alpha1.AgentChat
		task  v1alpha1.AgentTask
		agent v1alpha1.SubAgent
	)
	switch strings.TrimPrefix(resource, runsPrefix) {
	case chats:
		if runtime.DefaultUnstructuredConverter.FromUnstructured(status, &chat.Status) == nil {
			return view.OfChat(&chat)
		}
	case tasks:
		if runtime.DefaultUnstructuredConverter.FromUnstructured(status, &task.Status) == nil {
			return view.OfTask(&task)
		}
	case subAgents:
		if runtime.DefaultUnstructuredConverter.FromUnstructured(status, &agent.Status) == nil {
			return view.OfAgent(&agent)
		}
	}
	return nil
}
