// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/gateway"
	"github.com/nestor-dev/nestor/internal/gateway/run"
	"github.com/nestor-dev/nestor/internal/view"
)

// request is a request of either API.
type request struct {
	model    string
	target   target
	turns    []turn
	metadata map[string]string
	// previous is the response that the request replies to, if it names one.
	previous *exchange
	// schema is the JSON schema of the result, or nil for text; schemaParam is the field that has it.
	schema      json.RawMessage
	schemaParam string
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
	// cancelled reports that the request cancels the run.
	cancelled bool
	// created reports that the request created the task.
	created bool
	// typed reports that the text of the response is the structured result.
	typed bool
	// shown is the reference of the ask that the response ends with. It is only in the ID of a response that has ended.
	shown  string
	notice notice
}

// notice is why a request changed nothing. It is a part of the ID of a response.
type notice string

const (
	noticeStale     notice = "stale"
	noticeUnshown   notice = "unshown"
	noticeUndecided notice = "undecided"
)

func (n notice) text() string {
	switch n {
	case noticeStale:
		return "This reply was not used: the run no longer waits for this reply. To give two questions the same answer, " +
			"send the second one with a new Idempotency-Key."
	case noticeUnshown:
		return "Nothing was decided: the request does not say which call you have read. Read this one, and reply to it."
	case noticeUndecided:
		return "This message was not delivered: the run needs a decision first."
	}
	return ""
}

// header returns the idempotency key of a request, and whether an official client repeats it.
func header(r *http.Request) (key string, repeated bool) {
	count := r.Header.Get("X-Stainless-Retry-Count")
	return gateway.IdempotencyKey(r), count != "" && count != "0"
}

// begin starts or continues the run of a request.
func (q request) begin(ctx context.Context, caller *run.Caller) (exchange, error) {
	before, last, err := splitLast(q.turns)
	if err != nil {
		return exchange{}, err
	}
	if q.previous != nil && q.previous.chat != "" {
		return q.talk(ctx, caller, q.previous.namespace, q.previous.chat, before, last)
	}
	if name := q.metadata["chat"]; name != "" {
		namespace, chat, err := parseObject("metadata.chat", name, q.target.namespace)
		if err != nil {
			return exchange{}, err
		}
		return q.talk(ctx, caller, namespace, chat, before, last)
	}
	if err := noImages(last.Images); err != nil {
		return exchange{}, err
	}
	if q.previous != nil {
		return q.resume(ctx, caller, q.previous.namespace, q.previous.task, before, last)
	}
	if name := q.metadata["task"]; name != "" {
		namespace, task, err := parseObject("metadata.task", name, q.target.namespace)
		if err != nil {
			return exchange{}, err
		}
		return q.resume(ctx, caller, namespace, task, before, last)
	}
	answer, ok, err := q.find(ctx, caller, before, last)
	if ok || err != nil {
		return answer, err
	}
	text, err := instruction(before, last)
	if err != nil {
		return exchange{}, err
	}
	return q.start(ctx, caller, text, "")
}

func (q request) start(ctx context.Context, caller *run.Caller, text, continueFrom string) (exchange, error) {
	start := caller.Start
	if q.key == "" {
		start = caller.StartOnce
	}
	task, created, err := start(ctx, run.Request{
		Namespace: q.target.namespace, Role: q.target.role, Instruction: text, Key: q.key, Door: doorName, ContinueFrom: continueFrom,
		OutputSchema: q.schema, Repeated: q.repeated, Labels: map[string]string{v1beta1.LabelConversation: digest(q.model, q.turns)},
	})
	if err != nil {
		return exchange{}, err
	}
	return exchange{namespace: task.Namespace, task: task.Name, created: created, typed: q.schema != nil}, nil
}

// find finds the run that the last reply in a conversation is from, and answers it. It reports false if the
// conversation has no such run. Clients repeat the conversation in each request, so one of its beginnings started the
// run.
func (q request) find(ctx context.Context, caller *run.Caller, before []turn, last turn) (exchange, bool, error) {
	reply := lastReply(before)
	if reply == "" {
		return exchange{}, false, nil
	}
	tasks, err := q.startedRuns(ctx, caller)
	if err != nil {
		return exchange{}, false, err
	}
	for i := range tasks {
		task := &tasks[i]
		ask, err := caller.OpenAsk(ctx, task)
		if err != nil {
			return exchange{}, false, err
		}
		if ask != nil && run.ShownIn(reply, *ask) == ask.Ref() {
			answer, err := q.reply(ctx, caller, task, []run.Ask{*ask}, ask.Ref(), last)
			return answer, true, err
		}
		// An earlier attempt of this request may have answered the question.
		if earlier, ok, err := q.repeatedAnswer(ctx, caller, task); ok || err != nil {
			return earlier, ok, err
		}
	}
	approval := run.ShownIn(reply) != ""
	for i := range tasks {
		isQuestion := false
		if !approval {
			if isQuestion, err = caller.HasAsked(ctx, &tasks[i], reply); err != nil {
				return exchange{}, false, err
			}
		}
		if approval || isQuestion {
			stale := exchangeOf(&tasks[i])
			stale.notice = noticeStale
			return stale, true, nil
		}
	}
	if _, decides := run.ParseDecision(last.Text); approval && decides {
		return exchange{}, false, badf("messages", "Nothing was decided: there is no run of this conversation that waits for this decision.")
	}
	return exchange{}, false, nil
}

// startedRuns returns the runs that the caller started with a beginning of the conversation, the newest first.
func (q request) startedRuns(ctx context.Context, caller *run.Caller) ([]v1beta1.AgentTask, error) {
	digests := earlierRequests(q.model, q.turns)
	if len(digests) == 0 {
		return nil, nil
	}
	requirement, err := labels.NewRequirement(v1beta1.LabelConversation, selection.In, digests)
	if err != nil {
		return nil, fmt.Errorf("select the runs of a conversation: %w", err)
	}
	tasks, err := caller.Tasks(ctx, q.target.namespace, labels.NewSelector().Add(*requirement))
	slices.SortFunc(tasks, func(a, b v1beta1.AgentTask) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
	return tasks, err
}

// answerKey returns the idempotency key of an answer. Without a key in the request, an answer to the same response is
// the same request, or one with the same conversation.
func (q request) answerKey() string {
	if q.key != "" {
		return q.key
	}
	if q.previous != nil {
		return "after/" + digest(q.previous.id(), nil)
	}
	return digest(q.model, q.turns) + digest(q.metadata[metadataAsk], nil)
}

// repeatedAnswer returns the exchange of an earlier attempt of this request, and whether that attempt answered the
// run.
func (q request) repeatedAnswer(ctx context.Context, caller *run.Caller, task *v1beta1.AgentTask) (e exchange, ok bool, err error) {
	e = exchangeOf(task)
	e.answered, ok, err = caller.HasAnswered(ctx, task.Namespace, task.Name, q.answerKey())
	return e, ok, err
}

func exchangeOf(task *v1beta1.AgentTask) exchange {
	return exchange{namespace: task.Namespace, task: task.Name, typed: task.Spec.OutputSchema != nil}
}

// shown returns the reference of the ask that the client was shown, as far as the request has it.
func (q request) shown(before []turn, open []run.Ask) string {
	if q.previous != nil && q.previous.shown != "" {
		return q.previous.shown
	}
	if ref := q.metadata[metadataAsk]; ref != "" {
		return ref
	}
	return run.ShownIn(lastReply(before), open...)
}

// resume answers the question of a run, or continues a run that has ended with further work.
func (q request) resume(
	ctx context.Context, caller *run.Caller, namespace, name string, before []turn, last turn,
) (exchange, error) {
	task, err := caller.Task(ctx, namespace, name)
	if err != nil {
		return exchange{}, err
	}
	ask, err := caller.OpenAsk(ctx, task)
	if err != nil {
		return exchange{}, err
	}
	var open []run.Ask
	if ask != nil {
		open = []run.Ask{*ask}
	}
	shown := q.shown(before, open)
	if ask == nil || shown != "" && shown != ask.Ref() {
		if earlier, ok, err := q.repeatedAnswer(ctx, caller, task); ok || err != nil {
			return earlier, err
		}
	}
	if _, decides := run.ParseDecision(last.Text); ask != nil || shown != "" || decides {
		return q.reply(ctx, caller, task, open, shown, last)
	}
	if !view.Ended(task.Status.Phase) {
		return exchange{}, apierrors.NewConflict(v1beta1.GroupVersion.WithResource("agenttasks").GroupResource(), name,
			errors.New("the run is still working and waits for nothing: follow it with GET /v1/responses/ID"))
	}
	q.target = target{namespace, task.Spec.Role}
	text, err := instruction(nil, last)
	if err != nil {
		return exchange{}, err
	}
	return q.start(ctx, caller, text, task.Status.SubAgent)
}

// reply answers an ask of a run, or of an agent below it. A reply to anything but an open ask changes nothing.
func (q request) reply(
	ctx context.Context, caller *run.Caller, task *v1beta1.AgentTask, open []run.Ask, shown string, last turn,
) (exchange, error) {
	if err := q.checkSchema(task.Spec.OutputSchema); err != nil {
		return exchange{}, err
	}
	e := exchangeOf(task)
	use, ask := run.Judge(open, last.Text, shown)
	switch {
	case use == run.UseStale || len(open) == 0:
		e.notice = noticeStale
		return e, nil
	case use == run.UseUnshown:
		e.notice = noticeUnshown
		return e, nil
	case use == run.UseDecision:
		decision, _ := run.ParseDecision(last.Text)
		decision.Shown = shown
		e.answered = ask.ID()
		_, err := caller.Decide(ctx, *ask, decision, q.answerKey())
		return e, err
	case open[0].IsApproval():
		e.notice = noticeUndecided
		return e, nil
	}
	// A request without a conversation may be equal to the one that answered the previous question.
	earlier, ok, err := q.repeatedAnswer(ctx, caller, task)
	if err != nil {
		return exchange{}, err
	}
	if ok && earlier.answered != open[0].ID() {
		e.notice = noticeStale
		return e, nil
	}
	e.answered = open[0].ID()
	return e, caller.Answer(ctx, open[0], last.Text, q.answerKey())
}

// talk sends a message to a chat, or decides about the call that the client was shown. A message in reply to a
// question is the answer to it.
func (q request) talk(
	ctx context.Context, caller *run.Caller, namespace, chat string, before []turn, last turn,
) (exchange, error) {
	if q.schema != nil {
		return exchange{}, badf(q.schemaParam, "The replies of a chat are text: leave out %s, or start a run of its own without the chat.", q.schemaParam)
	}
	from, err := caller.Newest(ctx, namespace, chat)
	if err != nil {
		return exchange{}, err
	}
	e := exchange{namespace: namespace, chat: chat, from: from}
	now, err := caller.ChatState(ctx, namespace, chat)
	if err != nil {
		return exchange{}, err
	}
	shown := q.shown(before, now.Asks)
	decision, decides := run.ParseDecision(last.Text)
	use, ask := run.Judge(now.Asks, last.Text, shown)
	switch {
	case use == run.UseDecision:
		decision.Shown, e.answered = shown, ask.ID()
		e.message, err = caller.Decide(ctx, *ask, decision, q.key)
		return e, err
	case use == run.UseStale && decides:
		e.message, e.notice = now.Latest, noticeStale
		return e, nil
	case use == run.UseUnshown:
		e.message, e.notice = now.Latest, noticeUnshown
		return e, nil
	}
	message := run.Message{Namespace: namespace, Chat: chat, Content: last.Text, Attachments: last.Images, Key: q.key, Door: doorName}
	if ask != nil && !ask.IsApproval() {
		message.InReplyTo, e.answered = ask.Message, ask.ID()
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

// follow returns the events of a run until it has ended or waits for another answer.
func (e exchange) follow(ctx context.Context, caller *run.Caller) iter.Seq2[run.Event, error] {
	events := caller.FollowTask(ctx, e.namespace, e.task, e.from)
	if e.chat != "" {
		events = caller.FollowChat(ctx, e.namespace, e.chat, e.message, e.from)
	}
	if e.typed {
		events = dataOnly(events)
	}
	return func(yield func(run.Event, error) bool) {
		notice := run.Event{Kind: run.Text, Begin: true, Text: e.noticeText(), Cursor: noticeCursor}
		if notice.Text != "" && !yield(notice, nil) {
			return
		}
		for event, err := range events {
			if err == nil && e.isOutdated(event) {
				continue
			}
			if err == nil && event.Kind == run.Blocked {
				err = run.CannotStart(ctx, caller, event, e.created)
			}
			if !yield(event, err) || err != nil || event.Kind == run.Waiting || event.Kind == run.End {
				return
			}
		}
	}
}

// isOutdated reports whether a state of the run is older than the answer or the cancel of the request.
func (e exchange) isOutdated(event run.Event) bool {
	switch event.Kind {
	case run.Waiting:
		return e.cancelled || event.Ask.ID() == e.answered
	case run.Blocked:
		return e.cancelled
	}
	return false
}

// noticeText returns the text before that of the run. A typed run has none, because its text must be valid data.
func (e exchange) noticeText() string {
	if e.typed {
		return ""
	}
	return e.notice.text()
}

// failure returns the error of a run that ended without success, or nil.
func failure(e run.Event) error {
	if e.Kind != run.End {
		return nil
	}
	if e.Task != nil {
		if e.Task.Status.Phase == v1beta1.TaskSuccess {
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
	case view.Answered, view.Quiet, view.NeedsPerson:
		return nil
	case view.Rejected:
		return &runFailed{kind: "Rejected", message: "the message was rejected: kubectl get agentmessages shows why"}
	case view.Deleted:
		return &runFailed{kind: "Deleted", message: "the chat was deleted"}
	}
	failed := &runFailed{kind: "Failed", message: "the chat could not handle the message"}
	switch wait := view.OfChat(e.Chat); {
	case wait.Is(view.WaitStatePaused):
		failed.kind, failed.message = wait.Reason, "the chat "+e.Chat.Name+" is "+wait.String()
	case wait != nil:
		failed.kind, failed.message = wait.Reason, "the chat "+e.Chat.Name+" is not ready: "+wait.Message
	}
	return failed
}
