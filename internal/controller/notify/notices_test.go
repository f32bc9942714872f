// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/push"
)

// storedTask is a task whose receiver has states in its spec.
func storedTask(r *recorder, task *v1beta1.AgentTask, ids ...string) due {
	return r.update(keyOf(task), task, []target{{id: "s/url", since: func(newest string) []notification {
		var list []notification
		for _, id := range ids[slices.Index(ids, newest)+1:] {
			list = append(list, notification{state: id, notice: &push.Notice{ID: id}})
		}
		return list
	}}}, time.Now())
}

// TestStoredBeforeSent loses the process at every step: nothing is sent that is not stored, and what was stored
// keeps its number.
func TestStoredBeforeSent(t *testing.T) {
	r, task := newRecorder(), makeTask("team", "task")
	stored := storedTask(r, task, "one").record
	if len(r.take()) != 0 || len(stored["s/url"].Pending) != 1 || stored["s/url"].Pending[0].Sequence != 1 {
		t.Fatalf("to store %v", stored)
	}
	r.save(t, task, stored)

	r = newRecorder() // the process ends, and the state of the task has changed
	stored = storedTask(r, task, "one", "two").record
	sent := r.take()
	if len(sent) != 1 || sent[0].state != "one" || len(stored["s/url"].Pending) != 2 {
		t.Fatalf("sent %v, to store %v", sent, stored)
	}
	r.save(t, task, stored)
	sent[0].done(outcome{})
	stored = storedTask(r, task, "one", "two").record
	if got := stored["s/url"]; got.State != "one" || got.Sequence != 1 || len(got.Pending) != 1 || got.Pending[0].Sequence != 2 {
		t.Fatalf("after the first: %+v", got)
	}
	r = newRecorder() // it ends before that was stored: the first is sent again, with the same number
	storedTask(r, task, "one", "two")
	if sent = r.take(); len(sent) != 1 || sent[0].state != "one" {
		t.Fatalf("sent again: %v", sent)
	}
}

// TestStoredQueueIsBounded stores no more than fits, and the rest when there is space.
func TestStoredQueueIsBounded(t *testing.T) {
	r, task := newRecorder(), makeTask("team", "task")
	var ids, got []string
	for i := range 3 * maxQueued {
		ids = append(ids, fmt.Sprint(i))
	}
	for range 20 * maxQueued {
		next := storedTask(r, task, ids...)
		for _, a := range r.take() {
			got = append(got, a.state)
			a.done(outcome{})
		}
		if next.record != nil {
			if stored := next.record["s/url"]; len(stored.Pending) > maxQueued {
				t.Fatalf("%d are stored", len(stored.Pending))
			}
			r.save(t, task, next.record)
		}
	}
	if !slices.Equal(got, ids) {
		t.Errorf("sent %v", got)
	}
}

// TestGivenUp continues with the next notification after a receiver was away for too long.
func TestGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, task, began, tries := newRecorder(), makeTask("team", "task"), time.Now(), 0
		for {
			next := storedTask(r, task, "one", "two")
			for _, a := range r.take() {
				if a.state == "two" {
					if tries != maxAttempts || time.Since(began) > 20*time.Minute {
						t.Errorf("given up after %d attempts and %s", tries, time.Since(began))
					}
					return
				}
				tries++
				a.done(outcome{failure: notDelivered})
			}
			if next.record != nil {
				r.save(t, task, next.record)
			}
			<-time.After(max(next.after, time.Millisecond))
		}
	})
}

func TestTaskNotice(t *testing.T) {
	start := metav1.Unix(1_800_000_000, 0)
	task := makeTask("team", "task")
	task.Spec.Notify = v1beta1.NotifyReceivers{{On: []v1beta1.NotifyState{v1beta1.NotifyFailed}, Slack: &v1beta1.NotifySlack{URLKeyRef: urlRef}}}
	if got := taskNotice(task); got != nil {
		t.Errorf("pending: %+v", got)
	}
	task.Status = v1beta1.AgentTaskStatus{Phase: v1beta1.TaskWaiting, Waiting: &v1beta1.Waiting{
		Kind: v1beta1.WaitingApproval, SubAgent: "task-1", Tool: "rm -rf / <!channel>", Text: "model text", StartTime: &start, ToolCall: "c1",
	}}
	first := taskNotice(task)
	if first.State != v1beta1.NotifyWaiting || *first.Waiting != (push.Waiting{Kind: v1beta1.WaitingApproval, Task: "task", SubAgent: "task-1"}) {
		t.Errorf("waiting: %+v, %+v", first, first.Waiting)
	}
	task.Status.Waiting.ExpireTime = &start
	if again := taskNotice(task); again.ID != first.ID {
		t.Error("a longer wait is another notification")
	}
	task.Status.Waiting.ToolCall = "c2"
	if other := taskNotice(task); other.ID == first.ID {
		t.Error("another call has the same notification")
	}
	task.Status = v1beta1.AgentTaskStatus{Phase: v1beta1.TaskCancelled, CompletionTime: &start, Error: &v1beta1.RunError{Kind: v1beta1.ErrorCancelled, Message: "model text"}}
	if end := taskNotice(task); end.State != v1beta1.NotifyFailed || end.Reason != v1beta1.ErrorCancelled {
		t.Errorf("cancelled: %+v", end)
	}
	if Settled(task) {
		t.Error("settled before the end was notified")
	}
	if err := push.WriteRecords(task, map[string]push.Record{"alerts/url": {State: "end", Error: notDelivered}}); err != nil || !Settled(task) {
		t.Errorf("not settled after it was given up: %v", err)
	}
	task.Status.Phase = v1beta1.TaskSuccess
	task.Annotations = nil
	if !Settled(task) {
		t.Error("a receiver of failures waits for a success")
	}
}

// makePost returns a message of a chat with a notice.
func makePost(chat *v1beta1.AgentChat, number int, state v1beta1.NotifyState, call string) v1beta1.AgentMessage {
	m := v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Namespace: chat.Namespace, Name: fmt.Sprint("post-", number), Annotations: map[string]string{
		v1beta1.AnnotationNotice: fmt.Sprintf(`{"sequence":%d,"state":%q}`, number, state),
	}}, Spec: v1beta1.AgentMessageSpec{Chat: chat.Name, Task: "chat-1"}}
	if call != "" {
		m.Annotations[v1beta1.AnnotationCall] = call
	}
	m.OwnerReferences = []metav1.OwnerReference{{Kind: kindChat, Name: chat.Name, UID: chat.UID, Controller: ptr.To(true)}}
	return m
}

func TestChatPosts(t *testing.T) {
	chat := &v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "chat", UID: "u1", Generation: 1}}
	planted := makePost(chat, 99, v1beta1.NotifyFinished, "")
	planted.OwnerReferences[0].UID = types.UID("another")
	messages := []v1beta1.AgentMessage{makePost(chat, 10, v1beta1.NotifyFinished, ""), planted, makePost(chat, 2, v1beta1.NotifyFailed, ""), makePost(chat, 9, v1beta1.NotifyWaiting, "c1"), {}}
	posts := chatPosts(chat, messages)
	since := func(newest string, on ...v1beta1.NotifyState) (ids []string) {
		for _, n := range postsAfter(posts, newest, on) {
			ids = append(ids, n.state)
		}
		return ids
	}
	all := []v1beta1.NotifyState{v1beta1.NotifyWaiting, v1beta1.NotifyFinished, v1beta1.NotifyFailed}
	if got := since(firstPost(chat, posts), all...); fmt.Sprint(got) != "[post-2 post-9 post-10]" {
		t.Errorf("of a new chat: %v", got)
	}
	if got := since("post-2", v1beta1.NotifyFinished); fmt.Sprint(got) != "[post-10]" {
		t.Errorf("of a receiver of ends: %v", got)
	}
	chat.Generation = 2
	if got := since(firstPost(chat, posts), all...); len(got) != 0 {
		t.Errorf("of a receiver that was added: %v", got)
	}
	chat.Status.Waiting = []v1beta1.ChatWaitingItem{{Task: "chat-1", Waiting: v1beta1.Waiting{ToolCall: "c1"}}}
	posts = chatPosts(chat, messages)
	if got := since(firstPost(chat, posts), all...); fmt.Sprint(got) != "[post-9 post-10]" {
		t.Errorf("of a receiver that was added while something waits: %v", got)
	}
}
