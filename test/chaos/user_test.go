// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/stack"
)

// user simulates a person: it watches the status of chats and tasks, as any client does, and answers with
// AgentMessages. The names of its messages derive from what they are about, so each is sent once.
type user struct {
	world *world

	mu   sync.Mutex
	sent map[string]bool // messages that the API server accepted
}

func newUser(w *world) *user { return &user{world: w, sent: map[string]bool{}} }

// run runs until ctx ends. Failures are expected: the API server may be unavailable.
func (u *user) run(ctx context.Context) {
	for ctx.Err() == nil {
		for _, message := range u.pendingMessages(ctx) {
			u.send(ctx, message)
		}
		pause(ctx, 150*time.Millisecond)
	}
}

func (u *user) send(ctx context.Context, message *v1beta1.AgentMessage) {
	u.mu.Lock()
	known := u.sent[message.Name]
	u.mu.Unlock()
	if known {
		return
	}
	if err := u.world.stack.API.Create(ctx, message); err != nil && !apierrors.IsAlreadyExists(err) {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sent[message.Name] = true
}

// messages returns the names of the messages that the API server accepted.
func (u *user) messages() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	var names []string
	for name := range u.sent {
		names = append(names, name)
	}
	return names
}

// pendingMessages returns the messages that the user would send now.
func (u *user) pendingMessages(ctx context.Context) []*v1beta1.AgentMessage {
	found, err := u.world.objects(ctx)
	if err != nil {
		return nil
	}
	var due []*v1beta1.AgentMessage
	for i := range found.tasks.Items {
		if m := u.aboutTask(&found.tasks.Items[i]); m != nil {
			due = append(due, m)
		}
	}
	for i := range found.chats.Items {
		due = append(due, u.aboutChat(&found.chats.Items[i], found.messages.Items)...)
	}
	return append(due, u.cancels(found.agents.Items)...)
}

// aboutTask answers or decides for a standalone task.
func (u *user) aboutTask(task *v1beta1.AgentTask) *v1beta1.AgentMessage {
	w := task.Status.Waiting
	if task.Spec.Chat != "" || w == nil || isIgnored(w) {
		return nil
	}
	if w.SubAgent != "" && w.SubAgent != task.Status.SubAgent {
		return nil // an agent below it asks, and is answered through its own task
	}
	message := &v1beta1.AgentMessage{ObjectMeta: named("re-" + task.Name + "-" + short(w.ToolCall))}
	message.Spec.Task = task.Name
	if w.Kind == v1beta1.WaitingQuestion {
		message.Spec.Content = "Right."
		return message
	}
	message.Spec.User = stack.Admin
	message.Spec.Approval = &v1beta1.Approval{Task: task.Name, ToolCall: w.ToolCall, ArgumentsDigest: w.ArgumentsDigest, Decision: u.decision(task.Name, w.ToolCall)}
	return message
}

// aboutChat answers and decides what waits in a chat. A question is answered once it was posted.
func (u *user) aboutChat(chat *v1beta1.AgentChat, posts []v1beta1.AgentMessage) []*v1beta1.AgentMessage {
	var due []*v1beta1.AgentMessage
	for i := range chat.Status.Waiting {
		item := &chat.Status.Waiting[i]
		if isIgnored(&item.Waiting) {
			continue
		}
		message := &v1beta1.AgentMessage{ObjectMeta: named("re-" + item.Task + "-" + short(item.ToolCall))}
		message.Spec.Chat = chat.Name
		if item.Kind == v1beta1.WaitingApproval {
			message.Spec.User = stack.Admin
			message.Spec.Approval = &v1beta1.Approval{Task: item.Task, ToolCall: item.ToolCall, ArgumentsDigest: item.ArgumentsDigest, Decision: u.decision(item.Task, item.ToolCall)}
			due = append(due, message)
			continue
		}
		for _, post := range posts {
			if post.Spec.Task == item.Task && post.Annotations[v1beta1.AnnotationCall] == item.ToolCall {
				message.Spec.Content, message.Spec.InReplyTo = "Right.", post.Name
				due = append(due, message)
				break
			}
		}
	}
	return due
}

// isIgnored reports whether the user never answers this.
func isIgnored(w *v1beta1.Waiting) bool {
	return strings.Contains(w.Text, "Nobody knows") || strings.Contains(w.Text, `"hold"`)
}

// decision returns the user's decision, which is deterministic.
func (u *user) decision(task, call string) v1beta1.Decision {
	if hash(fmt.Sprint(u.world.settings.seed, task, call))%4 == 0 {
		return v1beta1.DecisionDeny
	}
	return v1beta1.DecisionApprove
}

// cancels stops the orders that are to be cancelled, once one of their agents is active.
func (u *user) cancels(agents []v1beta1.SubAgent) []*v1beta1.AgentMessage {
	atWork := map[string]bool{}
	for i := range agents {
		top, _, _ := strings.Cut(jobID(agents[i].Spec.Instruction), ".")
		if agents[i].Status.Iterations >= 2 {
			atWork[top] = true
		}
	}
	var due []*v1beta1.AgentMessage
	for _, o := range u.world.orders {
		if !o.cancel || !atWork[o.name] {
			continue
		}
		message := &v1beta1.AgentMessage{ObjectMeta: named("stop-" + o.name)}
		message.Spec.User, message.Spec.Cancel = stack.Admin, &v1beta1.Cancel{}
		if o.chat {
			message.Spec.Chat = o.name
		} else {
			message.Spec.Task = o.name
		}
		due = append(due, message)
	}
	return due
}

func short(text string) string { return fmt.Sprintf("%08x", hash(text)) }

func hash(text string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(text))
	return h.Sum32()
}
