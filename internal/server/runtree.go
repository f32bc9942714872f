// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

const (
	// treeInterval is the interval at which the tree of a standalone task is read.
	treeInterval = time.Second
	// maxTreeDepth bounds the levels of a tree that are read; the API allows five.
	maxTreeDepth = 8
	// parentsPerList bounds the names in a selector, and so the length of a URL.
	parentsPerList = 40
)

// treeSource is a source of a stream: a standalone task and everything below it. No selector describes such a tree to a watch, so it is read
// level by level at an interval, and only changes are sent.
type treeSource struct {
	task, user    string
	tasks, agents dynamic.ResourceInterface
	out           *eventBuffer
	retry         retryPolicy
	display       *displaySource

	sent map[types.UID]sentObject
}

type sentObject struct {
	resource, version string
}

func newTreeSource(client dynamic.Interface, namespace, task, user string, display *displaySource, retry retryPolicy) *treeSource {
	return &treeSource{
		task: task, user: user, tasks: client.Resource(nestorResource(tasks)).Namespace(namespace), agents: client.Resource(nestorResource(subAgents)).Namespace(namespace),
		out: display.out, display: display, retry: retry, sent: map[types.UID]sentObject{},
	}
}

// follow sends the tree and its changes until ctx ends or access is denied.
func (t *treeSource) follow(ctx context.Context, _ string) error {
	for _, resource := range []string{tasks, subAgents} {
		if err := t.out.put(ctx, event{name: "reset", data: encode(map[string]string{"resource": resource})}); err != nil {
			return err
		}
	}
	ticker := time.NewTicker(treeInterval)
	defer ticker.Stop()
	for failures, synced := 0, false; ctx.Err() == nil; {
		objects, err := t.read(ctx)
		switch {
		case err == nil:
			failures = 0
			if err := t.send(ctx, objects, !synced); err != nil {
				return err
			}
			synced = true
		case isPermanent(err):
			return t.sendError(ctx, "refused", err)
		default:
			failures++
			if err := t.sendError(ctx, "trouble", err); err != nil || !t.retry.wait(ctx, failures) {
				return ctx.Err()
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

type treeObjects map[string][]unstructured.Unstructured

// read returns the tree. A deleted task has none.
func (t *treeSource) read(ctx context.Context) (treeObjects, error) {
	root, err := t.tasks.Get(ctx, t.task, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return treeObjects{}, nil
	}
	if err != nil {
		return nil, err
	}
	objects := treeObjects{tasks: {*root}}
	parents := []string{agentOf(root)}
	if agent, err := t.agents.Get(ctx, parents[0], metav1.GetOptions{}); err == nil {
		objects[subAgents] = append(objects[subAgents], *agent)
	} else if !apierrors.IsNotFound(err) {
		return nil, err
	}
	for range maxTreeDepth {
		below, err := t.listBelow(ctx, parents)
		if err != nil || len(below[tasks]) == 0 {
			return objects, err
		}
		parents = nil
		for _, resource := range []string{tasks, subAgents} {
			objects[resource] = append(objects[resource], below[resource]...)
		}
		for i := range below[tasks] {
			parents = append(parents, agentOf(&below[tasks][i]))
		}
	}
	return objects, nil
}

// agentOf returns the name of a task's sub-agent: the task's own, unless another object had it.
func agentOf(task *unstructured.Unstructured) string {
	if name, _, _ := unstructured.NestedString(task.Object, "status", "subAgent"); name != "" {
		return name
	}
	return task.GetName()
}

// listBelow returns the tasks and sub-agents that sub-agents delegated. Those of a chat are left out, whose agents may have the same names.
func (t *treeSource) listBelow(ctx context.Context, parents []string) (treeObjects, error) {
	objects := treeObjects{}
	for len(parents) > 0 {
		some := parents[:min(len(parents), parentsPerList)]
		parents = parents[len(some):]
		options := metav1.ListOptions{LabelSelector: "!" + v1beta1.LabelChat + "," + v1beta1.LabelParent + " in (" + strings.Join(some, ",") + ")"}
		for resource, client := range map[string]dynamic.ResourceInterface{tasks: t.tasks, subAgents: t.agents} {
			listed, err := client.List(ctx, options)
			if err != nil {
				return nil, err
			}
			objects[resource] = append(objects[resource], listed.Items...)
		}
	}
	return objects, nil
}

// send sends what has changed since the last call. The first tree is complete.
func (t *treeSource) send(ctx context.Context, found treeObjects, first bool) error {
	deleted := t.sent
	t.sent = map[types.UID]sentObject{}
	for resource, objects := range found {
		for i := range objects {
			object := &objects[i]
			now := sentObject{resource, object.GetResourceVersion()}
			before := deleted[object.GetUID()]
			delete(deleted, object.GetUID())
			t.sent[object.GetUID()] = now
			if before == now {
				continue
			}
			if err := t.sendObject(ctx, resource, watch.Modified, object); err != nil {
				return err
			}
		}
	}
	for uid, before := range deleted {
		object := &unstructured.Unstructured{Object: map[string]any{}}
		object.SetUID(uid)
		if err := t.sendObject(ctx, before.resource, watch.Deleted, object); err != nil {
			return err
		}
	}
	if !first {
		return nil
	}
	for _, resource := range []string{tasks, subAgents} {
		t.display.complete(resource)
		if err := t.out.put(ctx, event{name: "synced", data: encode(map[string]string{"resource": resource})}); err != nil {
			return err
		}
	}
	return nil
}

func (t *treeSource) sendObject(ctx context.Context, resource string, change watch.EventType, object *unstructured.Unstructured) error {
	sender := objectSource{resource: resource, user: t.user, display: t.display}
	return t.out.put(ctx, sender.object(change, object, ""))
}

func (t *treeSource) sendError(ctx context.Context, name string, err error) error {
	sender := objectSource{resource: tasks, out: t.out}
	return sender.sendError(ctx, name, err)
}
