// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/push"
)

// receiverID returns the ID of a receiver in a spec. It names the Secret of the URL, and cannot be the ID of a
// configuration of A2A.
func receiverID(r v1beta1.NotifyReceiver) string {
	ref := r.URLKeyRef()
	return ref.Name + "/" + ref.Key
}

// taskNotice returns the notification about the state that the status of a task shows, or nil.
func taskNotice(task *v1beta1.AgentTask) *push.Notice {
	status := task.Status
	switch status.Phase {
	case v1beta1.TaskWaiting:
		w := status.Waiting
		if w == nil {
			return nil
		}
		sum := sha256.Sum256(fmt.Appendf(nil, "%q", []string{string(w.Kind), w.SubAgent, w.ToolCall, w.ArgumentsDigest, startOf(*w).UTC().String()}))
		return &push.Notice{ID: "waiting-" + hex.EncodeToString(sum[:6]), State: v1beta1.NotifyWaiting, Time: startOf(*w), Waiting: &push.Waiting{
			Kind: w.Kind, Task: task.Name, SubAgent: w.SubAgent, Tool: push.ToolName(w.Tool), DenyRequesters: w.DenyRequesters,
		}}
	case v1beta1.TaskSuccess:
		return &push.Notice{ID: "end", State: v1beta1.NotifyFinished, Time: ptr.Deref(status.CompletionTime, metav1.Time{})}
	case v1beta1.TaskFailed, v1beta1.TaskCancelled:
		return &push.Notice{ID: "end", State: v1beta1.NotifyFailed, Time: ptr.Deref(status.CompletionTime, metav1.Time{}), Reason: ptr.Deref(status.Error, v1beta1.RunError{}).Kind}
	}
	return nil
}

func startOf(w v1beta1.Waiting) metav1.Time { return ptr.Deref(w.StartTime, metav1.Time{}) }

// Settled reports whether all receivers were notified of the end of a task, or given up.
func Settled(task *v1beta1.AgentTask) bool {
	records, end := push.Records(task), taskNotice(task)
	return end == nil || !slices.ContainsFunc(task.Spec.Notify, func(r v1beta1.NotifyReceiver) bool {
		return slices.Contains(r.On, end.State) && records[receiverID(r)].State != end.ID
	})
}

// post is a message of a chat that receivers are notified of. Its number orders the posts.
type post struct {
	number int64
	// open reports that the question or approval still waits.
	open bool
	push.Notice
}

// chatPosts returns the posts of a chat that receivers are notified of, in order.
func chatPosts(chat *v1beta1.AgentChat, messages []v1beta1.AgentMessage) []post {
	var posts []post
	for i := range messages {
		m := &messages[i]
		var p post
		if json.Unmarshal([]byte(m.Annotations[v1beta1.AnnotationNotice]), &p.Notice) != nil || !metav1.IsControlledBy(m, chat) {
			continue
		}
		p.number, p.open = p.Sequence, waits(chat, m)
		p.ID, p.Time = fmt.Sprintf("post-%d", p.number), m.CreationTimestamp
		posts = append(posts, p)
	}
	slices.SortFunc(posts, func(a, b post) int { return cmp.Compare(a.number, b.number) })
	return posts
}

// waits reports whether the status of a chat shows what a message asks for.
func waits(chat *v1beta1.AgentChat, m *v1beta1.AgentMessage) bool {
	call := m.Annotations[v1beta1.AnnotationCall]
	return call != "" && slices.ContainsFunc(chat.Status.Waiting, func(item v1beta1.ChatWaitingItem) bool {
		return item.Task == m.Spec.Task && (item.ToolCall == call || item.ToolCall == "" && call == item.Task)
	})
}

// postsAfter returns the notifications about the posts after a state, for a receiver that is notified of some states.
func postsAfter(posts []post, newest string, on []v1beta1.NotifyState) []notification {
	after, _ := strconv.ParseInt(strings.TrimPrefix(newest, "post-"), 10, 64) // 0 if an annotation was damaged
	var list []notification
	for _, p := range posts {
		if p.number > after && slices.Contains(on, p.State) {
			list = append(list, notification{state: p.ID, notice: &p.Notice})
		}
	}
	return list
}

// firstPost returns the state before the posts that a new receiver of a chat is notified of: all of a chat that was
// created with it, otherwise those from the oldest question or approval that still waits.
func firstPost(chat *v1beta1.AgentChat, posts []post) string {
	begin := int64(0)
	for _, p := range posts {
		if chat.Generation <= 1 || p.open {
			break
		}
		begin = p.number
	}
	return fmt.Sprintf("post-%d", begin)
}
