// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package localmode

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1alpha1"
)

// What the tour says, and by what it knows that the story is at its end. The other half is the script "tour" of the
// scripted model.
const (
	tourRequest = "Review the sample project from three perspectives."
	tourAnswer  = "Only the shop's own network."
	tourEnd     = "The review of the sample project:"
	tourFile    = "docs/usage.md"
)

const (
	tourTimeout = 2 * time.Minute
	tourLooks   = 100 * time.Millisecond
)

// Tour plays a story: a review by three agents at once, of which one asks, one wants approval and one delegates. It does what
// a user does, with the Kubernetes API and nothing else, and tells what it sees.
func (l *Local) Tour(ctx context.Context) error {
	if l.options.Model.Real() {
		return errors.New("the tour needs the scripted model: unset OPENAI_API_KEY and MODEL_BASE_URL")
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
		return fmt.Errorf("ask the API server who this is: %w", err)
	}
	t := &tour{Local: l, chat: chat.Name, user: me.Status.UserInfo.Username, told: map[string]string{}}
	l.Say("a new chat, %s, on the files in %s", chat.Name, l.Sample)
	if err := t.say(ctx, tourRequest); err != nil {
		return err
	}
	ticker := time.NewTicker(tourLooks)
	defer ticker.Stop()
	for !t.over {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the tour did not come to its end: %w; see kubectl get nestor, and %s", context.Cause(ctx), l.Log)
		case err := <-l.failed:
			return explain(err, l.Dir)
		case <-ticker.C:
		}
		if err := t.look(ctx); err != nil {
			return err
		}
	}
	return t.check()
}

// tour is a tour that is being played.
type tour struct {
	*Local
	// user is who decides, as the API server knows them.
	chat, user string
	// told is what has been told of each object.
	told map[string]string
	over bool
}

// look tells what has happened since the last look, and does what the user would.
func (t *tour) look(ctx context.Context) error {
	if err := t.tellTasks(ctx); err != nil {
		return err
	}
	if err := t.tellMessages(ctx); err != nil {
		return err
	}
	var chat v1alpha1.AgentChat
	if err := t.Client.Get(ctx, types.NamespacedName{Namespace: Namespace, Name: t.chat}, &chat); err != nil {
		return fmt.Errorf("look at the chat: %w", err)
	}
	for _, waiting := range chat.Status.Waiting {
		if waiting.Kind == v1alpha1.WaitingApproval && t.news("approval "+waiting.ToolCall, "given") {
			t.Say("you: approve call %s of task %s", waiting.ToolCall, waiting.Task)
			if err := t.write(ctx, v1alpha1.AgentMessageSpec{User: t.user, Approval: &v1alpha1.Approval{
				Task: waiting.Task, ToolCall: waiting.ToolCall, ArgumentsDigest: waiting.ArgumentsDigest, Decision: v1alpha1.DecisionApprove,
			}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// tellTasks tells how tasks come on.
func (t *tour) tellTasks(ctx context.Context) error {
	var tasks v1alpha1.AgentTaskList
	if err := t.Client.List(ctx, &tasks, client.InNamespace(Namespace), client.MatchingLabels{v1alpha1.LabelChat: t.chat}); err != nil {
		return fmt.Errorf("look at the tasks: %w", err)
	}
	for _, task := range tasks.Items {
		if task.Status.Phase == "" || !t.news("task "+task.Name, string(task.Status.Phase)) {
			continue
		}
		words := string(task.Status.Phase)
		if w := task.Status.Waiting; w != nil {
			words += " for a person: " + string(w.Kind)
		}
		if r := task.Status.Result; r != nil && task.Status.Phase == v1alpha1.TaskSuccess {
			words += ": " + r.Summary
		}
		under := ""
		if parent := task.Labels[v1alpha1.LabelParent]; parent != "" {
			under = " under " + parent
		}
		t.Say("    task %s (%s%s) is %s", task.Name, task.Spec.Role, under, words)
		if e := task.Status.Error; e != nil {
			return fmt.Errorf("task %s failed: %s: %s", task.Name, e.Kind, e.Message)
		}
	}
	return nil
}

// tellMessages tells what is said in the chat, and answers.
func (t *tour) tellMessages(ctx context.Context) error {
	var messages v1alpha1.AgentMessageList
	if err := t.Client.List(ctx, &messages, client.InNamespace(Namespace), client.MatchingLabels{v1alpha1.LabelChat: t.chat}); err != nil {
		return fmt.Errorf("look at the messages: %w", err)
	}
	for _, m := range messages.Items {
		if m.Spec.Role == v1alpha1.RoleUser || m.Spec.Content == "" || !t.news("message "+m.Name, "seen") {
			continue
		}
		t.Say("orchestrator: %s", strings.ReplaceAll(strings.TrimSpace(m.Spec.Content), "\n", "\n           "))
		t.over = t.over || strings.HasPrefix(m.Spec.Content, tourEnd)
		if strings.Contains(m.Spec.Content, "needs input:") {
			if err := t.say(ctx, tourAnswer); err != nil {
				return err
			}
		}
	}
	return nil
}

// news remembers something of an object, and says whether it is new.
func (t *tour) news(object, what string) bool {
	if t.told[object] == what {
		return false
	}
	t.told[object] = what
	return true
}

func (t *tour) say(ctx context.Context, text string) error {
	t.Say("you: %s", text)
	return t.write(ctx, v1alpha1.AgentMessageSpec{Content: text})
}

func (t *tour) write(ctx context.Context, spec v1alpha1.AgentMessageSpec) error {
	spec.Chat = t.chat
	message := &v1alpha1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, GenerateName: t.chat + "-you-"}, Spec: spec}
	if err := t.Client.Create(ctx, message); err != nil {
		return fmt.Errorf("send a message: %w", err)
	}
	return nil
}

// check makes sure that what the story tells is true.
func (t *tour) check() error {
	if _, err := os.Stat(filepath.Join(t.Sample, filepath.FromSlash(tourFile))); err != nil {
		return fmt.Errorf("the approved file was not written: %w", err)
	}
	t.Say("the tour is at its end; the file that you approved is %s", filepath.Join(t.Sample, tourFile))
	return nil
}
