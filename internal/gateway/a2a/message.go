// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/gateway/run"
	"github.com/nestor-dev/nestor/internal/view"
)

// Metadata of tasks that were started over A2A.
const (
	// labelContext is the context id that the client chose; a task without it is a context of its own.
	labelContext = "nestor.dev/a2a-context"
	// annotationMessage is the id of the message that started the task.
	annotationMessage = "nestor.dev/a2a-message"
)

// receive handles a message: it starts a task or a turn of a chat, or answers an ask of one.
func (a agent) receive(ctx context.Context, req *a2a.SendMessageRequest) (exchange, error) {
	if call, ok := a2asrv.CallContextFrom(ctx); ok {
		if err := supported(call.ServiceParams()); err != nil {
			return exchange{}, err
		}
	}
	message := req.Message
	if message == nil || message.ID == "" {
		return exchange{}, a2a.NewError(a2a.ErrInvalidParams, "the message needs a messageId")
	}
	chat, toChat := strings.CutPrefix(message.ContextID, chatPrefix)
	if message.ContextID != "" && !toChat && len(validation.IsValidLabelValue(message.ContextID)) > 0 {
		return exchange{}, a2a.NewError(a2a.ErrInvalidParams, "contextId may have up to 63 letters, digits, '-', '_' and '.', or be chat/NAME for an AgentChat")
	}
	in, err := read(message)
	if err != nil {
		return exchange{}, err
	}
	var registered *a2a.PushConfig
	if req.Config != nil {
		registered = req.Config.PushConfig
	}
	if registered != nil && (toChat || isTurn(message.TaskID)) {
		return exchange{}, errNoPushInChats
	}
	switch {
	case isTurn(message.TaskID):
		return a.answerTurn(ctx, message, in)
	case message.TaskID == "" && toChat:
		return a.talk(ctx, chat, message, in)
	case message.TaskID == "":
		task, err := a.start(ctx, message, in, registered)
		return exchange{task: task}, err
	}
	if registered != nil {
		if _, err := a.register(ctx, message.TaskID, registered); err != nil {
			return exchange{}, err
		}
	}
	return a.answer(ctx, message, in)
}

// start starts a task. A message in a context continues the newest finished task of the context.
func (a agent) start(ctx context.Context, message *a2a.Message, in input, registered *a2a.PushConfig) (*v1beta1.AgentTask, error) {
	if in.text() == "" {
		return nil, a2a.NewError(a2a.ErrInvalidParams, "the message has no text")
	}
	request := run.Request{Namespace: a.namespace, Role: a.role, Instruction: in.text(), Key: "a2a/" + message.ID, Door: doorName,
		Annotations: map[string]string{annotationMessage: message.ID}}
	if registered != nil {
		annotation, err := a.pushAnnotation(ctx, a.caller.TaskName(request), registered)
		if err != nil {
			return nil, err
		}
		request.Annotations[v1beta1.AnnotationPush] = annotation
	}
	definition, err := a.caller.Role(ctx, a.namespace, a.role)
	if missing := new(resolve.Missing); errors.As(err, &missing) {
		return nil, a2a.NewError(a2a.ErrInvalidParams, strings.TrimSuffix(missing.Message, ".")+a.caller.SimilarRoles(ctx, a.namespace, a.role))
	}
	if err == nil && definition.InputSchema() != nil && len(in.data) == 1 {
		request.Instruction, request.Arguments = strings.Join(in.texts, "\n\n"), in.data[0]
	}
	if message.ContextID != "" {
		request.Labels = map[string]string{labelContext: message.ContextID}
		tasks, err := a.tasks(ctx)
		if err != nil {
			return nil, err
		}
		for i := range tasks {
			task := &tasks[i]
			if contextOf(task) != message.ContextID || task.Spec.User != a.caller.User {
				continue
			}
			if task.Annotations[annotationMessage] == message.ID {
				return task, nil // a repeated message
			}
			if request.ContinueFrom == "" && view.Ended(task.Status.Phase) {
				request.ContinueFrom = task.Status.SubAgent
			}
		}
	}
	task, _, err := a.caller.Start(ctx, request)
	if err != nil {
		return nil, failure(err)
	}
	return task, nil
}

// answer answers the question of a task, or decides about its call.
func (a agent) answer(ctx context.Context, message *a2a.Message, in input) (exchange, error) {
	task, err := a.task(ctx, message.TaskID)
	if err != nil {
		return exchange{}, err
	}
	if message.ContextID != "" && message.ContextID != contextOf(task) {
		return exchange{}, a2a.NewError(a2a.ErrInvalidParams, "the task belongs to another context")
	}
	key := "a2a/" + message.ID
	x := exchange{task: task, message: a.caller.MessageName(a.namespace, task.Name, key)}
	var repeated bool
	if x.answered, repeated, err = a.caller.HasAnswered(ctx, a.namespace, task.Name, key); err != nil || repeated {
		return x, failure(err)
	}
	ask, err := a.caller.OpenAsk(ctx, task)
	if err != nil {
		return exchange{}, failure(err)
	}
	var open []run.Ask
	if ask != nil {
		open = append(open, *ask)
	}
	x.answered, err = a.reply(ctx, open, in, key)
	return x, err
}

// errNoInput is the error for a reply to a task that waits for nothing.
var errNoInput = a2a.NewError(a2a.ErrUnsupportedOperation,
	"the task does not wait for input, and nothing was changed: read it with GetTask; a message without a taskId starts another one")

// reply answers an open ask, and returns its ID. A decision needs the reference of the ask that the client was shown,
// because a message to a task does not contain the status that it replies to.
func (a agent) reply(ctx context.Context, open []run.Ask, in input, key string) (answered string, err error) {
	if len(open) == 0 {
		return "", errNoInput
	}
	sent := in.decision()
	use, ask := run.Judge(open, sent.Decision, sent.ref())
	switch {
	case use == run.UseStale:
		return "", a2a.NewError(a2a.ErrInvalidParams,
			"nothing was changed: the task no longer waits for what the message replies to. It waits for this: "+askText(open[0]))
	case use == run.UseDecision:
		decision, _ := run.ParseDecision(sent.Decision)
		decision.Shown, decision.Arguments = sent.ref(), sent.Arguments
		if sent.Comment != "" {
			decision.Comment = sent.Comment
		}
		_, err := a.caller.Decide(ctx, *ask, decision, key)
		return ask.ID(), failure(err)
	case ask == nil:
		ask = &open[0]
	}
	if ask.IsApproval() {
		return "", a2a.NewError(a2a.ErrInvalidParams, "nothing was decided: the task waits for a decision. "+askText(*ask))
	}
	text := in.text()
	if sent.Ask != "" {
		text = strings.Join(in.texts, "\n\n") // the data is the reference
	}
	if text == "" {
		return "", a2a.NewError(a2a.ErrInvalidParams, "the message has no text")
	}
	return ask.ID(), failure(a.caller.Answer(ctx, *ask, text, key))
}

// input is the content of a message.
type input struct {
	texts []string
	data  []json.RawMessage
}

// read reads the parts of a message. Files are not accepted.
func read(message *a2a.Message) (input, error) {
	var in input
	for _, part := range message.Parts {
		if part == nil {
			continue
		}
		switch content := part.Content.(type) {
		case a2a.Text:
			if text := strings.TrimSpace(string(content)); text != "" {
				in.texts = append(in.texts, text)
			}
		case a2a.Data:
			data, err := json.Marshal(content.Value)
			if err != nil {
				return in, a2a.NewError(a2a.ErrInvalidParams, "a data part cannot be read")
			}
			in.data = append(in.data, data)
		default:
			return in, a2a.NewError(a2a.ErrUnsupportedContentType, "files are not accepted: send text or data")
		}
	}
	return in, nil
}

func (in input) text() string {
	parts := slices.Clone(in.texts)
	for _, data := range in.data {
		parts = append(parts, string(data))
	}
	return strings.Join(parts, "\n\n")
}

// decision is the decision in a message. The word is in a data part or in the text, everything else in the data part.
type decision struct {
	Decision string `json:"decision"`
	Comment  string `json:"comment"`
	// Ask and Digest are those of the data part with the ask.
	Ask    string `json:"ask"`
	Digest string `json:"digest"`
	// Arguments replace those of the call. They are JSON as text, because decoding a data part changes numbers and
	// repeated keys.
	Arguments string `json:"arguments"`
}

// ref returns the reference of the ask that the client was shown, or "".
func (d decision) ref() string {
	if d.Ask == "" {
		return ""
	}
	return run.NewRef(d.Ask, d.Digest)
}

func (in input) decision() decision {
	d := decision{}
	for _, data := range in.data {
		var read decision
		if json.Unmarshal(data, &read) == nil && (read.Decision != "" || read.Ask != "") {
			d = read
		}
	}
	if d.Decision == "" {
		d.Decision = strings.Join(in.texts, " ")
	}
	return d
}
