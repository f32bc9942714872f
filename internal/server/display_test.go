// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic/fake"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// eventTexts returns a number of events of a buffer as "NAME DATA", sorted.
func eventTexts(t *testing.T, out *eventBuffer, number int) []string {
	t.Helper()
	var texts []string
	for len(texts) < number {
		for _, e := range out.take(t.Context()) {
			texts = append(texts, e.name+" "+string(e.data))
		}
	}
	slices.Sort(texts)
	return texts
}

func kindObject(kind, name, version string, labels map[string]string) *unstructured.Unstructured {
	object := treeObject("uid-" + kind + "-" + name)
	object.SetAPIVersion("nestor.dev/v1beta1")
	object.SetKind(kind)
	object.SetNamespace("default")
	object.SetName(name)
	object.SetLabels(labels)
	object.SetResourceVersion(version)
	return object
}

func TestDisplayListsBeforeChanges(t *testing.T) {
	t.Parallel()
	out := newEventBuffer(bufferLimit)
	display := newDisplaySource("", "root", out, tasks, subAgents)
	go func() { _ = display.follow(t.Context(), "") }()
	display.put(tasks, watch.Added, kindObject("AgentTask", "root", "1", nil))
	display.complete(tasks)
	display.put(subAgents, watch.Added, kindObject("SubAgent", "root", "1", nil))
	display.complete(subAgents)
	root := `display {"display":{"badge":"pending","agent":"uid-SubAgent-root","place":0,"own":{}},"uid":"uid-AgentTask-root"}`
	if diff := cmp.Diff([]string{root, `synced {"resource":"displays"}`}, eventTexts(t, out, 2)); diff != "" {
		t.Error(diff)
	}
	display.put(tasks, watch.Added, kindObject("AgentTask", "child", "1", map[string]string{v1beta1.LabelParent: "root"}))
	child := `display {"display":{"badge":"pending","parent":"root","place":0,"own":{}},"uid":"uid-AgentTask-child"}`
	if diff := cmp.Diff([]string{child}, eventTexts(t, out, 1)); diff != "" {
		t.Errorf("only the new task has changed: %s", diff)
	}
}

func TestResumedListSendsOnlyNew(t *testing.T) {
	t.Parallel()
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{nestorResource(subAgents): "SubAgentList"},
		kindObject("SubAgent", "old", "5", nil), kindObject("SubAgent", "new", "10", nil))
	out := newEventBuffer(bufferLimit)
	display := newDisplaySource("chat", "", out, subAgents)
	source := objectSource{resource: subAgents, client: client.Resource(nestorResource(subAgents)).Namespace(metav1.NamespaceAll), out: out, display: display}
	if _, err := source.list(t.Context(), "9"); err != nil {
		t.Fatal(err)
	}
	got := eventTexts(t, out, 4)
	want := []string{
		`object {"object":{"metadata":{"uid":"uid-SubAgent-old"}},"resource":"subagents","type":"KNOWN"}`,
		`object {"resource":"subagents","type":"ADDED","object":{"apiVersion":"nestor.dev/v1beta1","kind":"SubAgent","metadata":{"name":"new","namespace":"default","resourceVersion":"10","uid":"uid-SubAgent-new"}}}`,
		`reset {"resource":"subagents"}`, `synced {"resource":"subagents"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if snapshot, complete := display.snapshot(); !complete || len(snapshot.Agents) != 2 {
		t.Errorf("the display has %d agents, complete: %t", len(snapshot.Agents), complete)
	}
}
