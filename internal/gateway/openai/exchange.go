// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/client/live"
	"github.com/nestor-dev/nestor/internal/gateway"
	"github.com/nestor-dev/nestor/internal/gateway/run"
)

// inquiry is a request of either API.
type inquiry struct {
	model    string
	target   target
	turns    []turn
	metadata map[string]string
	// previous is the run that the request continues, if it names one.
	previous *exchange
	// schema is the JSON schema of the result, or nil for text; schemaParam is the field that has it.
	schema      json.RawMessage
	schemaParam string
	// byConversation also finds the run that asked the last question in the conversation.
	byConversation bool
	// key is the idempotency key; repeated means that the client repeats a request.
	key      string
	repeated bool
}

// exchange is one request and its response: a part of a run.
type exchange struct {
	namespace string
	task      string
	// chat and message are set for a chat.
	chat, message string
	from          run.Cursor
	// answered is the ID of the ask that the request answered.
	answered string
	// typed reports that the text of the response is the data of the result.
	typed bool
	// unclear is the ask whose decision the request does not contain.
	unclear *run.Ask
}

// header returns the idempotency key of a request, and whether an official client repeats it.
func header(r *http.Request) (key string, repeated bool) {
	count := r.Header.Get("X-Stainless-Retry-Count")
	return gateway.IdempotencyKey(r), count != "" && count != "0"
}

// begin starts or continues the run of a request.
func (q inquiry) begin(ctx context.Context, caller *run.Caller) (exchange, error) {
	before, last, err := splitLast(q.turns)
	if err != nil {
		return exchange{}, err
	}
	if q.previous != nil && q.previous.chat != "" {
		return q.talk(ctx, caller, q.previous.namespace, q.previous.chat, last)
	}
	if name := q.metadata["chat"]; name != "" {
		namespace, chat, err := parseObject("metadata.chat", name, q.target.namespace)
		if err != nil {
			return exchange{}, err
		}
		return q.talk(ctx, caller, namespace, chat, last)
	}
	if err := noImages(last.Images); err != nil {
		return exchange{}, err
	}
	if q.previous != nil {
		return q.resume(ctx, caller, q.previous.namespace, q.previous.task, last)
	}
	if name := q.metadata["task"]; name != "" {
		namespace, task, err := parseObject("metadata.task", name, q.target.namespace)
		if err != nil {
			return exchange{}, err
		}
		return q.resume(ctx, caller, namespace, task, last)
	}
	if q.byConversation {
		found, err := q.find(ctx, caller, before, last)
		if found != nil || err != nil {
			return valueOf(found), err
		}
	}
	text, err := instruction(before, last)
	if err != nil {
		return exchange{}, err
	}
	return q.start(ctx, caller, text, "")
}

func valueOf(e *exchange) exchange {
	if e == nil {
		return exchange{}
	}
	return *e
}

// start starts a run.
func (q inquiry) start(ctx context.Context, caller *run.Caller, text, continueFrom string) (exchange, error) {
	start := caller.Start
	if q.key == "" {
		start = caller.StartOnce
	}
	task, _, err := start(ctx, run.Request{
		Namespace: q.target.namespace, Role: q.target.role, Instruction: text, Key: q.key, Door: doorName, ContinueFrom: continueFrom, OutputSchema: q.schema,
		Repeated: q.repeated,
		Labels:   map[string]string{v1alpha1.LabelConversation: digest(q.model, q.turns)},
	})
	if err != nil {
		return exchange{}, err
	}
	return exchange{namespace: task.Namespace, task: task.Name, typed: q.schema != nil}, nil
}

// find returns the run that asked the last question in a conversation, after answering it. Clients of chat completions repeat the
// conversation in each request, so the run is the one that was started by one of its beginnings.
func (q inquiry) find(ctx context.Context, caller *run.Caller, before []turn, last turn) (*exchange, error) {
	reply := lastReply(before)
	begun := earlierRequests(q.model, q.turns)
	if reply == "" || len(begun) == 0 {
		return nil, nil
	}
	requirement, err := labels.NewRequirement(v1alpha1.LabelConversation, selection.In, begun)
	if err != nil {
		return nil, fmt.Errorf("select the runs of a conversation: %w", err)
	}
	var tasks v1alpha1.AgentTaskList
	err = caller.API.List(ctx, &tasks, client.InNamespace(q.target.namespace), client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*requirement)})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(tasks.Items, func(a, b v1alpha1.AgentTask) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
	for i := range tasks.Items {
		task := &tasks.Items[i]
		if task.Spec.User != caller.User {
			continue
		}
		ask, err := caller.OpenAsk(ctx, task)
		if err != nil {
			return nil, err
		}
		if ask != nil && (strings.TrimSpace(ask.Text()) == reply || strings.TrimSpace(repeatedText(*ask)) == reply) {
			found, err := q.reply(ctx, caller, task, *ask, last)
			return &found, err
		}
		// The question may have been answered by an earlier attempt of this request.
		answers, answered, err := caller.HasAnswered(ctx, task.Namespace, task.Name, q.answerKey())
		if answered || err != nil {
			return &exchange{namespace: task.Namespace, task: task.Name, answered: answers, typed: task.Spec.OutputSchema != nil}, err
		}
	}
	return nil, nil
}

// answerKey returns the idempotency key of an answer. Without a key in the request, an answer to the same response is the same request, or one
// with the same conversation.
func (q inquiry) answerKey() string {
	if q.key != "" {
		return q.key
	}
	if q.previous != nil {
		return "after/" + q.previous.answered
	}
	return digest(q.model, q.turns)
}

// resume continues a run: it answers its question, or gives it further work once it has ended.
func (q inquiry) resume(ctx context.Context, caller *run.Caller, namespace, name string, last turn) (exchange, error) {
	task, err := caller.Task(ctx, namespace, name)
	if err != nil {
		return exchange{}, err
	}
	ask, err := caller.OpenAsk(ctx, task)
	if err != nil {
		return exchange{}, err
	}
	if ask != nil {
		return q.reply(ctx, caller, task, *ask, last)
	}
	if !live.Ended(task.Status.Phase) {
		answers, answered, err := caller.HasAnswered(ctx, namespace, name, q.answerKey())
		if answered || err != nil {
			return exchange{namespace: namespace, task: name, answered: answers, typed: task.Spec.OutputSchema != nil}, err
		}
		return exchange{}, apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("agenttasks").GroupResource(), name,
			fmt.Errorf("the run is still working and waits for nothing: follow it with GET /v1/responses/ID"))
	}
	q.target = target{namespace, task.Spec.Role}
	text, err := instruction(nil, last)
	if err != nil {
		return exchange{}, err
	}
	return q.start(ctx, caller, text, task.Status.SubAgent)
}

// reply answers an ask of a run, or of an agent below it.
func (q inquiry) reply(ctx context.Context, caller *run.Caller, of *v1alpha1.AgentTask, ask run.Ask, last turn) (exchange, error) {
	if err := q.checkSchema(of.Spec.OutputSchema); err != nil {
		return exchange{}, err
	}
	e := exchange{namespace: ask.Namespace, task: ask.Task, chat: ask.Chat, answered: ask.ID(), typed: ask.Chat == "" && of.Spec.OutputSchema != nil}
	// The run is the root; the ask may be of an agent below it.
	if root := ask.Root; root != "" {
		e.task = root
	}
	key := q.answerKey()
	if !ask.IsApproval() {
		return e, caller.Answer(ctx, ask, last.Text, key)
	}
	approve, comment, ok := run.ParseDecision(last.Text)
	if !ok {
		e.unclear = &ask
		return e, nil
	}
	return e, caller.Decide(ctx, ask, approve, comment, key)
}

// repeatedText is what a person reads who did not decide.
func repeatedText(ask run.Ask) string { return "This needs a decision first.\n\n" + ask.Text() }

// talk sends a message to a chat. If the chat waits for one answer, the message is that answer.
func (q inquiry) talk(ctx context.Context, caller *run.Caller, namespace, chat string, last turn) (exchange, error) {
	if q.schema != nil {
		return exchange{}, badf(q.schemaParam, "The replies of a chat are text: leave out %s, or start a run of its own without the chat.", q.schemaParam)
	}
	from, err := caller.Newest(ctx, namespace, chat)
	if err != nil {
		return exchange{}, err
	}
	e := exchange{namespace: namespace, chat: chat, from: from}
	ask, err := caller.ChatAsk(ctx, namespace, chat)
	if err != nil {
		return exchange{}, err
	}
	message := run.Message{Namespace: namespace, Chat: chat, Content: last.Text, Attachments: last.Images, Key: q.key, Door: doorName}
	if ask != nil {
		e.answered = ask.ID()
		if approve, comment, ok := run.ParseDecision(last.Text); ask.IsApproval() && ok {
			sent, err := caller.DecideInChat(ctx, *ask, approve, comment, q.key)
			e.message = sent
			return e, err
		}
		if !ask.IsApproval() {
			message.InReplyTo = ask.Message
		}
	}
	send := caller.Send
	if q.repeated && q.key == "" {
		send = caller.SendOnce
	}
	sent, _, err := send(ctx, message)
	if err != nil {
		return exchange{}, err
	}
	e.message = sent.Name
	return e, nil
}

// follow returns the events of an exchange: those of its run until it has ended, or waits for another answer.
func (e exchange) follow(ctx context.Context, caller *run.Caller) iter.Seq2[run.Event, error] {
	if e.unclear != nil {
		return func(yield func(run.Event, error) bool) {
			yield(run.Event{Kind: run.Waiting, Ask: e.unclear, Text: repeatedText(*e.unclear)}, nil)
		}
	}
	events := caller.FollowTask(ctx, e.namespace, e.task, e.from)
	if e.chat != "" {
		events = caller.FollowChat(ctx, e.namespace, e.chat, e.message, e.from)
	}
	if e.typed {
		events = dataOnly(events)
	}
	return func(yield func(run.Event, error) bool) {
		for event, err := range events {
			if err == nil && event.Kind == run.Waiting && event.Ask.ID() == e.answered {
				continue // the status has not noticed the answer yet
			}
			if err == nil && event.Kind == run.Blocked {
				err = run.CannotStart(ctx, caller, event)
			}
			if !yield(event, err) || err != nil || event.Kind == run.Waiting || event.Kind == run.End {
				return
			}
		}
	}
}

// failure returns the error of a run that ended without success, or nil.
func failure(e run.Event) error {
	if e.Kind != run.End {
		return nil
	}
	if e.Task != nil {
		if e.Task.Status.Phase == v1alpha1.TaskSuccess {
			return nil
		}
		failed := &runFailed{kind: string(e.Task.Status.Phase), message: fmt.Sprintf("the task %s/%s has ended: %s", e.Task.Namespace, e.Task.Name, e.Task.Status.Phase)}
		if cause := e.Task.Status.Error; cause != nil {
			failed.kind = string(cause.Kind)
			failed.message += ": " + cause.Message
		}
		return failed
	}
	switch e.Progress {
	case live.Answered, live.Quiet, live.NeedsPerson:
		return nil
	case live.Rejected:
		return &runFailed{kind: "Rejected", message: "the message was rejected: kubectl get agentmessages shows why"}
	case live.Deleted:
		return &runFailed{kind: "Deleted", message: "the chat was deleted"}
	}
	failed := &runFailed{kind: "Failed", message: "the chat could not handle the message"}
	if e.Chat != nil {
		if c := meta.FindStatusCondition(e.Chat.Status.Conditions, v1alpha1.ConditionReady); c != nil && c.Status != metav1.ConditionTrue {
			failed.kind, failed.message = c.Reason, "the chat "+e.Chat.Name+" is not ready: "+c.Message
		}
	}
	return failed
}
