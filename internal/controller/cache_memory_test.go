// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kuberuntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster"
)

// BenchmarkCacheMemory measures what it costs that every replica watches all objects: the heap of the cache with 20,000
// chats, 40,000 tasks and 40,000 sub-agents that have finished, decoded from JSON and transformed and indexed as in the
// operator. docs/tasks/high-availability.md has the figure. Run it with -benchtime 1x.
func BenchmarkCacheMemory(b *testing.B) {
	const chats, tasksPerChat = 20_000, 2
	for b.Loop() {
		before := liveHeap()
		store := newCacheStore(b)
		var encoded int
		for chat := range chats {
			encoded += store.add(b, finishedChat(chat))
			for task := range tasksPerChat {
				number := chat*tasksPerChat + task
				encoded += store.add(b, finishedTask(chat, number))
				encoded += store.add(b, finishedSubAgent(chat, number))
			}
		}
		heap := liveHeap() - before
		objects := chats * (1 + 2*tasksPerChat)
		b.ReportMetric(float64(heap)/(1<<20), "MiB")
		b.ReportMetric(float64(heap)/float64(objects), "B/object")
		b.ReportMetric(float64(encoded)/float64(objects), "JSON-B/object")
		runtime.KeepAlive(store)
	}
}

func liveHeap() uint64 {
	runtime.GC()
	runtime.GC() // finalizers and pools of the first
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

type cacheStore struct {
	transform toolscache.TransformFunc
	indexers  map[reflect.Type]toolscache.Indexer
}

func newCacheStore(b *testing.B) *cacheStore {
	s := &cacheStore{transform: Cache(cache.Options{}).DefaultTransform, indexers: map[reflect.Type]toolscache.Indexer{}}
	for _, object := range []client.Object{&v1beta1.AgentChat{}, &v1beta1.AgentTask{}, &v1beta1.SubAgent{}, &v1beta1.AgentMessage{}} {
		s.indexers[reflect.TypeOf(object)] = toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc})
	}
	if err := cluster.Index(context.Background(), s); err != nil {
		b.Fatal(err)
	}
	return s
}

// IndexField implements client.FieldIndexer as controller-runtime does: a value is indexed with and without its
// namespace.
func (s *cacheStore) IndexField(_ context.Context, object client.Object, field string, values client.IndexerFunc) error {
	return s.indexers[reflect.TypeOf(object)].AddIndexers(toolscache.Indexers{"field:" + field: func(found any) ([]string, error) {
		var keys []string
		for _, value := range values(found.(client.Object)) {
			keys = append(keys, found.(client.Object).GetNamespace()+"/"+value, "__all_namespaces/"+value)
		}
		return keys, nil
	}})
}

// add adds an object as a watch delivers it, and returns the length of its JSON.
func (s *cacheStore) add(b *testing.B, object client.Object) int {
	encoded, err := json.Marshal(object)
	if err != nil {
		b.Fatal(err)
	}
	decoded := reflect.New(reflect.TypeOf(object).Elem()).Interface()
	if err := json.Unmarshal(encoded, decoded); err != nil {
		b.Fatal(err)
	}
	cached, err := s.transform(decoded)
	if err != nil {
		b.Fatal(err)
	}
	if err := s.indexers[reflect.TypeOf(object)].Add(cached); err != nil {
		b.Fatal(err)
	}
	return len(encoded)
}

var finishedAt = metav1.NewTime(time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC))

func metaOf(kind string, number int, owner string) metav1.ObjectMeta {
	yes, fields := true, strings.Repeat(`"f:field":{},`, 100)
	meta := metav1.ObjectMeta{
		Namespace: fmt.Sprintf("team-%d", number%50), Name: fmt.Sprintf("%s-%d", kind, number), UID: types.UID(fmt.Sprintf("%s-4c5e-4f0f-9d0a-%012d", kind, number)),
		ResourceVersion: fmt.Sprint(1_000_000 + number), Generation: 1, CreationTimestamp: finishedAt,
		Labels: map[string]string{"nestor.dev/chat": owner}, Finalizers: []string{"nestor.dev/agent"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "nestor-operator", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "nestor.dev/v1beta1", Time: &finishedAt,
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1("{" + strings.TrimSuffix(fields, ",") + "}")}},
	}
	if owner != "" {
		meta.OwnerReferences = []metav1.OwnerReference{{APIVersion: "nestor.dev/v1beta1", Kind: "AgentChat", Name: owner, UID: types.UID(owner + "-uid-of-36-characters"), Controller: &yes, BlockOwnerDeletion: &yes}}
	}
	return meta
}

func conditionsOf(names ...string) []metav1.Condition {
	var conditions []metav1.Condition
	for _, name := range names {
		conditions = append(conditions, metav1.Condition{Type: name, Status: metav1.ConditionTrue, Reason: "Success", Message: "It has finished without an error.", ObservedGeneration: 1, LastTransitionTime: finishedAt})
	}
	return conditions
}

// text returns n bytes that differ between objects.
func text(number, n int) string {
	return strings.Repeat(fmt.Sprintf("finding %d of the report; ", number), n/20+1)[:n]
}

func finishedChat(number int) *v1beta1.AgentChat {
	chat := &v1beta1.AgentChat{ObjectMeta: metaOf("chat", number, "")}
	chat.Spec.Role, chat.Spec.ModelProvider, chat.Spec.User = "orchestrator", "default", "person@example.com"
	chat.Status = v1beta1.AgentChatStatus{Phase: "Idle", StartTime: &finishedAt, Messages: 6, LastMessage: "chat-message-6", Conditions: conditionsOf("Ready", "Idle")}
	return chat
}

func finishedTask(chat, number int) *v1beta1.AgentTask {
	task := &v1beta1.AgentTask{ObjectMeta: metaOf("task", number, fmt.Sprintf("chat-%d", chat))}
	task.Spec = v1beta1.AgentTaskSpec{Chat: fmt.Sprintf("chat-%d", chat), Type: v1beta1.TaskAgent, Role: "general", Instruction: text(number, 600), Group: "group-1"}
	task.Status = v1beta1.AgentTaskStatus{
		Phase: v1beta1.TaskSuccess, SubAgent: fmt.Sprintf("subagent-%d", number), Result: &v1beta1.TaskResult{Summary: text(number, 200), Details: text(number, 800)}, Iterations: 4,
		StartTime: &finishedAt, CompletionTime: &finishedAt, Conditions: conditionsOf("Succeeded"),
	}
	return task
}

func finishedSubAgent(chat, number int) *v1beta1.SubAgent {
	sub := &v1beta1.SubAgent{ObjectMeta: metaOf("subagent", number, fmt.Sprintf("chat-%d", chat))}
	sub.Spec = v1beta1.SubAgentSpec{Chat: fmt.Sprintf("chat-%d", chat), Task: fmt.Sprintf("task-%d", number), Role: "general", Depth: 1, Instruction: text(number, 600), ModelProvider: "default", Model: "large"}
	sub.Status = v1beta1.SubAgentStatus{Phase: "Success", Result: &v1beta1.TaskResult{Summary: text(number, 200), Details: text(number, 800)}, Iterations: 4, StartTime: &finishedAt, CompletionTime: &finishedAt, Conditions: conditionsOf("Succeeded")}
	for i := range 8 {
		sub.Status.Messages = append(sub.Status.Messages, v1beta1.TranscriptMessage{Role: "assistant", Content: text(number+i, 300)})
	}
	for i := range 4 {
		sub.Status.ToolCalls = append(sub.Status.ToolCalls, v1beta1.ToolCallStatus{
			ID: fmt.Sprintf("call_%d_%d", number, i), Tool: "search", Phase: "Succeeded", Arguments: &kuberuntime.RawExtension{Raw: []byte(`{"query":"` + text(number+i, 60) + `"}`)}, Result: text(number+i, 300), Time: &finishedAt,
		})
	}
	return sub
}
