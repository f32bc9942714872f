// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/view"
)

// row is what lists show of a chat or a task beside the object itself.
type row struct {
	Run       *view.Run       `json:"run,omitempty"`
	WaitState *view.WaitState `json:"waitState,omitempty"`
}

func rowOf(resource, user string, object *unstructured.Unstructured) row {
	switch strings.TrimPrefix(resource, runsPrefix) {
	case chats:
		if chat := typed[v1beta1.AgentChat](object); chat != nil {
			return row{Run: runFor(user, view.RunOfChat(chat)), WaitState: view.OfChat(chat)}
		}
	case tasks:
		if task := typed[v1beta1.AgentTask](object); task != nil {
			return row{Run: runFor(user, view.RunOfTask(task)), WaitState: view.OfTask(task)}
		}
	}
	return row{}
}

func runFor(user string, run view.Run) *view.Run {
	for i := range run.Asks {
		run.Asks[i] = run.Asks[i].For(user)
	}
	return &run
}

// typed returns an object as its type, or nil if it does not have its form.
func typed[T any](object *unstructured.Unstructured) *T {
	var t T
	if runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &t) != nil {
		return nil
	}
	return &t
}
