// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/view"
)

// row has the fields of an object from which problems are derived; the object itself may be large.
type row struct {
	name     string
	provider string
	// reasons are those of the conditions that are not True.
	reasons []string
}

// listed is a kind whose objects are read as rows.
type listed struct {
	kind, resource string
	// selector selects the objects on the API server.
	selector string
	columns  []string
	// fromCells returns the row of a table's cells, or false for an object that can have no problem.
	fromCells func(cells []string) (row, bool)
	// newList and newObject return empty ones, for an API server that has no such table, and for the details of one
	// object.
	newList   func() client.ObjectList
	newObject func() client.Object
}

// unfinished selects the tasks that have not ended. Most tasks of a namespace have.
const unfinished = "status.phase!=" + string(v1beta1.TaskSuccess) + ",status.phase!=" + string(v1beta1.TaskFailed) + ",status.phase!=" + string(v1beta1.TaskCancelled)

// The kinds whose objects are large or many.
var (
	agentChats = listed{
		kind: "AgentChat", resource: "agentchats", columns: []string{"Name", "Provider", "Ready", "Reason", "Waits"},
		fromCells: func(cells []string) (row, bool) {
			return row{name: cells[0], provider: cells[1], reasons: append(notTrue(cells[2], cells[3]), cells[4])}, true
		},
		newList: func() client.ObjectList { return &v1beta1.AgentChatList{} }, newObject: func() client.Object { return &v1beta1.AgentChat{} },
	}
	// A task has the conditions of its sub-agent, so the sub-agents are not read.
	agentTasks = listed{
		kind: "AgentTask", resource: "agenttasks", selector: unfinished, columns: []string{"Name", "Phase", "Reason", "Waits"},
		fromCells: func(cells []string) (row, bool) {
			return row{name: cells[0], reasons: cells[2:]}, !view.Ended(v1beta1.TaskPhase(cells[1]))
		},
		newList: func() client.ObjectList { return &v1beta1.AgentTaskList{} }, newObject: func() client.Object { return &v1beta1.AgentTask{} },
	}
	agentRoles = listed{
		kind: "AgentRole", resource: "agentroles", columns: []string{"Name", "Provider"},
		fromCells: func(cells []string) (row, bool) { return row{name: cells[0], provider: cells[1]}, cells[1] != "" },
		newList:   func() client.ObjectList { return &v1beta1.AgentRoleList{} },
	}
	toolServers = listed{
		kind: "ToolServer", resource: "toolservers", columns: []string{"Name", "Ready", "Reason"},
		fromCells: func(cells []string) (row, bool) {
			return row{name: cells[0], reasons: notTrue(cells[1], cells[2])}, metav1.ConditionStatus(cells[1]) == metav1.ConditionFalse
		},
		newList: func() client.ObjectList { return &v1beta1.ToolServerList{} }, newObject: func() client.Object { return &v1beta1.ToolServer{} },
	}
)

func notTrue(status, reason string) []string {
	if metav1.ConditionStatus(status) == metav1.ConditionTrue {
		return nil
	}
	return []string{reason}
}

// rows reads the rows of a kind. A list that the person may not read is empty.
func (n Namespace) rows(ctx context.Context, kind listed) ([]row, error) {
	if n.Tables == nil {
		return n.fullRows(ctx, kind)
	}
	cells, err := n.Tables.read(ctx, n.Name, kind.resource, kind.selector, kind.columns)
	switch {
	case errors.Is(err, errNoTable):
		return n.fullRows(ctx, kind)
	case apierrors.IsForbidden(err) || apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	var rows []row
	for _, c := range cells {
		if r, ok := kind.fromCells(c); ok {
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// fullRows reads the rows of a kind from the complete objects.
func (n Namespace) fullRows(ctx context.Context, kind listed) ([]row, error) {
	list := kind.newList()
	if err := n.list(ctx, list); err != nil {
		return nil, err
	}
	var rows []row
	err := meta.EachListItem(list, func(object runtime.Object) error {
		if r, ok := newRow(object); ok {
			rows = append(rows, r)
		}
		return nil
	})
	return rows, err
}

// newRow returns the row of an object, or false for an object that can have no problem.
func newRow(object runtime.Object) (row, bool) {
	switch o := object.(type) {
	case *v1beta1.AgentChat:
		return row{name: o.Name, provider: o.Spec.ModelProvider, reasons: conditionReasons(o.Status.Conditions)}, true
	case *v1beta1.AgentTask:
		return row{name: o.Name, reasons: conditionReasons(o.Status.Conditions)}, !view.Ended(o.Status.Phase)
	case *v1beta1.AgentRole:
		return row{name: o.Name, provider: o.Spec.ModelProvider}, o.Spec.ModelProvider != ""
	case *v1beta1.ToolServer:
		return row{name: o.Name, reasons: conditionReasons(o.Status.Conditions)}, meta.IsStatusConditionFalse(o.Status.Conditions, v1beta1.ConditionReady)
	}
	return row{}, false
}

func conditionReasons(conditions []metav1.Condition) []string {
	var reasons []string
	for _, c := range conditions {
		if c.Type == v1beta1.ConditionReconciling && c.Status == metav1.ConditionTrue {
			reasons = append(reasons, c.Reason)
			continue
		}
		reasons = append(reasons, notTrue(string(c.Status), c.Reason)...)
	}
	return reasons
}

// object reads an object from the cache of the API server.
func (n Namespace) object(ctx context.Context, kind listed, name string) (client.Object, error) {
	object := kind.newObject()
	err := n.API.Get(ctx, types.NamespacedName{Namespace: n.Name, Name: name}, object, &client.GetOptions{Raw: &metav1.GetOptions{ResourceVersion: "0"}})
	return object, err
}

// waitState returns why the work of a chat or a task stands still, or nil.
func waitState(object client.Object) *view.WaitState {
	switch o := object.(type) {
	case *v1beta1.AgentChat:
		return view.OfChat(o)
	case *v1beta1.AgentTask:
		return view.OfTask(o)
	}
	return nil
}
