// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package localmode

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/narrate"
	"github.com/nestor-dev/nestor/internal/client/follow"
	"github.com/nestor-dev/nestor/internal/operator"
	"github.com/nestor-dev/nestor/internal/view"
)

// The messages of the tour, and how its last answer begins. The other half of the dialogue is the script "tour" of the scripted model.
const (
	tourRequest = "Review the sample project from three perspectives."
	tourAnswer  = "Only the shop's own network."
	tourEnd     = "The review of the sample project:"
	tourFile    = "docs/usage.md"
)

const tourTimeout = 2 * time.Minute

// Tour plays a review by three concurrent agents: one asks a question, one needs an approval, and one delegates. It acts as a user does,
// through the Kubernetes API alone, and prints the events as `kubectl nestor chat` does.
func (l *Local) Tour(ctx context.Context) error {
	if l.options.Model.Real() {
		return errors.New("the tour needs the scripted model: unset the keys of models (such as OPENAI_API_KEY) and MODEL_BASE_URL")
	}
	ctx, cancel := context.WithTimeout(ctx, tourTimeout)
	defer cancel()
	chat := l.NewChat("")
	chat.GenerateName = "tour-"
	if err := l.Client.Create(ctx, chat); err != nil {
		return fmt.Errorf("create the chat of the tour: %w", err)
	}
	var me authenticationv1.SelfSubjectReview
	if err := l.Client.Create(ctx, &me); err != nil {
		return fmt.Errorf("review the user's own identity: %w", err)
	}
	snapshots, err := follow.Watch(ctx, follow.Cluster{Config: l.Config, Scheme: operator.NewScheme()}, follow.Scope{Namespace: Namespace, Chat: chat.Name})
	if err != nil {
		return err
	}
	t := &tour{Local: l, chat: chat.Name, files: l.project(chat.Name, chat.UID), user: me.Status.UserInfo.Username, narrator: narrate.New(chat.Name), resolved: map[string]bool{}}
	l.Say("a new chat, %s, on the files in %s", chat.Name, l.project(chat.Name, chat.UID))
	if err := t.send(ctx, v1beta1.AgentMessageSpec{Content: tourRequest}); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the tour did not finish: %w; see kubectl get nestor, and %s", context.Cause(ctx), l.Log)
		case err := <-l.failed:
			return explain(err, l.Dir)
		case now, open := <-snapshots:
			if !open {
				snapshots = nil // ctx has ended
				continue
			}
			if err := t.follow(ctx, now); err != nil {
				return err
			}
			if ended(now) {
				return t.check()
			}
		}
	}
}

type tour struct {
	*Local
	// chat is the name of the chat, user the name of the approver in the API server.
	chat, user string
	files      string // the directory of the chat's workspace
	narrator   *narrate.Narrator
	// resolved has the keys of the asks that were answered or decided.
	resolved map[string]bool
}

// follow prints the changes of a snapshot, and resolves the asks that wait for the user.
func (t *tour) follow(ctx context.Context, now view.Snapshot) error {
	for _, line := range t.narrator.Lines(now) {
		t.Say("%s", line)
	}
	for _, task := range now.Tasks {
		if e := task.Status.Error; e != nil {
			return fmt.Errorf("task %s failed: %s: %s", task.Name, e.Kind, e.Message)
		}
	}
	for _, ask := range now.Asks(t.chat) {
		if t.resolved[ask.Key()] {
			continue
		}
		t.resolved[ask.Key()] = true
		spec := v1beta1.AgentMessageSpec{Content: tourAnswer}
		if ask.Kind == v1beta1.WaitingApproval {
			spec = v1beta1.AgentMessageSpec{User: t.user, Approval: &v1beta1.Approval{
				Task: ask.Task, ToolCall: ask.Call, ArgumentsDigest: ask.Digest, Decision: v1beta1.DecisionApprove,
			}}
		}
		if err := t.send(ctx, spec); err != nil {
			return err
		}
	}
	return nil
}

// ended reports whether the last answer has been posted.
func ended(now view.Snapshot) bool {
	return slices.ContainsFunc(now.Messages, func(m v1beta1.AgentMessage) bool {
		return m.Spec.Role != v1beta1.RoleUser && strings.HasPrefix(m.Spec.Content, tourEnd)
	})
}

func (t *tour) send(ctx context.Context, spec v1beta1.AgentMessageSpec) error {
	spec.Chat = t.chat
	message := &v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, GenerateName: t.chat + "-you-"}, Spec: spec}
	if err := t.Client.Create(ctx, message); err != nil {
		return fmt.Errorf("send a message: %w", err)
	}
	return nil
}

// check checks that the approved file was written.
func (t *tour) check() error {
	if _, err := os.Stat(filepath.Join(t.files, filepath.FromSlash(tourFile))); err != nil {
		return fmt.Errorf("the approved file was not written: %w", err)
	}
	t.Say("the tour has finished; the file that you approved is %s", filepath.Join(t.files, tourFile))
	return nil
}
