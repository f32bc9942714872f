// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/bench/drive"
)

// openChat creates the chat and waits for a first answer.
func openChat(ctx context.Context, r *harness) error {
	chat := &v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "bench"}}
	chat.Spec.Limits.MaxParallelTasks = 1000
	chat.Spec.Limits.MaxTasksPerMessage = new(int32(1000)) // a fan-out has 500
	if err := r.stack.API.Create(ctx, chat); err != nil {
		return fmt.Errorf("create the chat: %w", err)
	}
	conversation := startConversationDriver(ctx, r)
	_, err := conversation.sendAndWait("hello", "Hello.")
	return errors.Join(err, conversation.end())
}

// conversationDriver sends messages to the chat and waits for answers.
type conversationDriver struct {
	ctx     context.Context
	rig     *harness
	cancel  context.CancelFunc
	answers chan string
	watched chan error
}

func startConversationDriver(ctx context.Context, r *harness) *conversationDriver {
	t := &conversationDriver{rig: r, answers: make(chan string, 1000), watched: make(chan error, 1)}
	t.ctx, t.cancel = context.WithCancel(ctx)
	go func() {
		t.watched <- r.api.Watch(t.ctx, messagesPath, func(o drive.Object) bool {
			if o.Spec.Role == string(v1beta1.RoleAssistant) {
				t.answers <- o.Spec.InReplyTo
			}
			return false
		})
	}()
	return t
}

// sendAndWait sends a message and waits for the answer to it.
func (t *conversationDriver) sendAndWait(name, content string) (time.Duration, error) {
	body := fmt.Appendf(nil, `{"apiVersion":"nestor.dev/v1beta1","kind":"AgentMessage","metadata":{"name":%q},"spec":{"chat":"bench","content":%q}}`, name, content)
	began := time.Now()
	if _, err := t.rig.api.Write(t.ctx, http.MethodPost, messagesPath, body); err != nil {
		return 0, err
	}
	for {
		select {
		case to := <-t.answers:
			if to == name {
				return time.Since(began), nil
			}
		case err := <-t.watched:
			t.watched <- err
			return time.Since(began), fmt.Errorf("message %s was not answered: %w", name, err)
		}
	}
}

// end stops the watch and ignores the resulting cancellation.
func (t *conversationDriver) end() error {
	t.cancel()
	if err := <-t.watched; !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
