// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/gateway"
	"github.com/nestor-dev/nestor/internal/gateway/run"
	"github.com/nestor-dev/nestor/internal/role"
	"github.com/nestor-dev/nestor/internal/view"
)

// cancelTimeout is how long a cancel waits for the end of the task.
const cancelTimeout = 30 * time.Second

// agent is a role as an A2A agent, for one caller.
type agent struct {
	caller          *run.Caller
	namespace, role string
	address         string
	push            Registrar
}

var _ a2asrv.RequestHandler = agent{}

func (d door) agent(r *http.Request, caller *run.Caller) agent {
	return agent{caller: caller, namespace: r.PathValue("namespace"), role: r.PathValue("role"), address: addressOf(r), push: d.push}
}

func (a agent) path() string { return "/a2a/" + a.namespace + "/" + a.role }

func (a agent) card(ctx context.Context) (*a2a.AgentCard, error) {
	definition, err := a.caller.Role(ctx, a.namespace, a.role)
	if missing := new(resolve.Missing); errors.As(err, &missing) {
		return nil, apierrors.NewNotFound(v1beta1.GroupVersion.WithResource("agentroles").GroupResource(), a.namespace+"/"+a.role)
	}
	if err != nil {
		return nil, err
	}
	return a.cardOf(definition), nil
}

func (a agent) cardOf(definition role.Role) *a2a.AgentCard {
	text, modes := cmp.Or(definition.Description, "An agent with the role "+a.role+"."), []string{"text/plain", "application/json"}
	name := cmp.Or(definition.DisplayName, a.role)
	return &a2a.AgentCard{
		Name: name, Description: text, Version: "1", DefaultInputModes: modes, DefaultOutputModes: modes,
		Capabilities: a2a.AgentCapabilities{Streaming: true, PushNotifications: a.push != nil},
		SupportedInterfaces: []*a2a.AgentInterface{
			a2a.NewAgentInterface(a.address+a.path(), a2a.TransportProtocolJSONRPC),
			a2a.NewAgentInterface(a.address+a.path()+restPath, a2a.TransportProtocolHTTPJSON),
		},
		Skills:               []a2a.AgentSkill{{ID: a.role, Name: name, Description: text, Tags: []string{"nestor"}}},
		SecuritySchemes:      a2a.NamedSecuritySchemes{"bearer": a2a.HTTPAuthSecurityScheme{Scheme: "Bearer", Description: "A token of the Kubernetes cluster."}},
		SecurityRequirements: a2a.SecurityRequirementsOptions{{"bearer": {}}},
	}
}

func (a agent) GetTask(ctx context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	if isTurn(req.ID) {
		t, err := a.turn(ctx, req.ID)
		if err != nil {
			return nil, err
		}
		return a.wholeTurn(ctx, t, req.HistoryLength)
	}
	task, err := a.task(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	return a.whole(ctx, task, req.HistoryLength)
}

func (a agent) ListTasks(ctx context.Context, req *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	size := cmp.Or(req.PageSize, 50)
	offset, err := strconv.Atoi(cmp.Or(req.PageToken, "0"))
	if err != nil || offset < 0 || size < 1 || size > 100 {
		return nil, a2a.NewError(a2a.ErrInvalidParams, "pageSize must be from 1 to 100, and pageToken from an earlier response")
	}
	all, err := a.list(ctx, req)
	if err != nil {
		return nil, err
	}
	tasks := slices.DeleteFunc(all, func(t *a2a.Task) bool {
		return req.Status != "" && t.Status.State != req.Status || req.StatusTimestampAfter != nil && t.Status.Timestamp.Before(*req.StatusTimestampAfter)
	})
	response := &a2a.ListTasksResponse{TotalSize: len(tasks), PageSize: size, Tasks: []*a2a.Task{}}
	if offset < len(tasks) {
		response.Tasks = tasks[offset:min(offset+size, len(tasks))]
	}
	if offset+size < len(tasks) {
		response.NextPageToken = strconv.Itoa(offset + size)
	}
	return response, nil
}

// list returns the tasks of a context, or all standalone tasks.
func (a agent) list(ctx context.Context, req *a2a.ListTasksRequest) ([]*a2a.Task, error) {
	var list []*a2a.Task
	if chat, ok := strings.CutPrefix(req.ContextID, chatPrefix); ok {
		turns, err := a.turns(ctx, chat)
		if err != nil {
			return nil, err
		}
		for _, t := range turns {
			state, note := t.state()
			shown := t.show(t.status(state, note, nil), req.HistoryLength)
			if req.IncludeArtifacts {
				shown.Artifacts = artifacts(t.text())
			}
			list = append(list, shown)
		}
		return list, nil
	}
	tasks, err := a.tasks(ctx)
	if err != nil {
		return nil, err
	}
	for i := range tasks {
		task := &tasks[i]
		if req.ContextID != "" && contextOf(task) != req.ContextID {
			continue
		}
		shown := convert(task, nil, req.HistoryLength)
		if req.IncludeArtifacts && view.Ended(task.Status.Phase) {
			shown.Artifacts = taskArtifacts(run.Answer(task), task, nil)
		}
		list = append(list, shown)
	}
	return list, nil
}

func isTurn(id a2a.TaskID) bool { return strings.HasPrefix(string(id), turnPrefix) }

// cancelTurn cancels the work of a turn's chat.
func (a agent) cancelTurn(ctx context.Context, id a2a.TaskID) (*a2a.Task, error) {
	t, err := a.turn(ctx, id)
	if err != nil {
		return nil, err
	}
	if state, _ := t.state(); !t.newest() || state.Terminal() {
		return nil, a2a.ErrTaskNotCancelable
	}
	message, err := a.caller.CancelChat(ctx, a.namespace, t.chat.Name, "a2a-cancel/"+t.message.Name)
	if err != nil {
		return nil, failure(err)
	}
	limited, cancel := context.WithTimeout(ctx, cancelTimeout)
	defer cancel()
	for _, err := range a.caller.FollowChat(limited, a.namespace, t.chat.Name, message, run.Cursor{}) {
		if err != nil {
			break // the state of the chat is returned
		}
	}
	if t, err = a.turn(ctx, id); err != nil {
		return nil, err
	}
	return a.wholeTurn(ctx, t, nil)
}

func (a agent) CancelTask(ctx context.Context, req *a2a.CancelTaskRequest) (*a2a.Task, error) {
	if isTurn(req.ID) {
		return a.cancelTurn(ctx, req.ID)
	}
	task, err := a.task(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	if view.Ended(task.Status.Phase) {
		return nil, a2a.ErrTaskNotCancelable
	}
	if err := a.caller.Cancel(ctx, a.namespace, task.Name, "a2a-cancel"); err != nil {
		return nil, failure(err)
	}
	limited, cancel := context.WithTimeout(ctx, cancelTimeout)
	defer cancel()
	for event, err := range a.caller.FollowTask(limited, a.namespace, task.Name, run.Cursor{}) {
		if err != nil {
			break // the state of the task is returned
		}
		if event.Kind == run.End {
			task = event.Task
		}
	}
	return a.whole(ctx, task, nil)
}

func (a agent) SendMessage(ctx context.Context, req *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	x, err := a.receive(ctx, req)
	if err != nil {
		return nil, err
	}
	if config := req.Config; config != nil && config.ReturnImmediately {
		if x.turn != nil {
			return a.wholeTurn(ctx, x.turn, config.HistoryLength)
		}
		return convert(x.task, nil, config.HistoryLength), nil
	}
	for event, err := range a.follow(ctx, x) {
		switch {
		case err != nil:
			return nil, failure(err)
		case event.Kind == run.Blocked: // the task stays submitted, and its status has the reason
			return convert(event.Task, nil, nil), nil
		case event.Kind == run.End || event.Kind == run.Waiting:
			return a.finished(ctx, x, event)
		}
	}
	return nil, a2a.NewError(a2a.ErrInternalError, "the task cannot be followed")
}

func (a agent) SendStreamingMessage(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		x, err := a.receive(ctx, req)
		if err != nil {
			yield(nil, err)
			return
		}
		a.stream(ctx, x, yield)
	}
}

// SubscribeToTask implements a2asrv.RequestHandler. The text so far is sent first, as a whole.
func (a agent) SubscribeToTask(ctx context.Context, req *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		x, err := a.subscription(ctx, req.ID)
		if err != nil {
			yield(nil, err)
			return
		}
		a.stream(ctx, x, yield)
	}
}

// subscription returns what to follow of a task that has not ended.
func (a agent) subscription(ctx context.Context, id a2a.TaskID) (exchange, error) {
	ended := a2a.NewError(a2a.ErrUnsupportedOperation, "the task has ended: read it with GetTask")
	if !isTurn(id) {
		task, err := a.task(ctx, id)
		if err == nil && view.Ended(task.Status.Phase) {
			err = ended
		}
		return exchange{task: task}, err
	}
	t, err := a.turn(ctx, id)
	if err != nil {
		return exchange{}, err
	}
	if state, _ := t.state(); state.Terminal() {
		return exchange{}, ended
	}
	from, err := a.caller.Newest(ctx, a.namespace, t.chat.Name)
	if err != nil {
		return exchange{}, failure(err)
	}
	return exchange{turn: t, message: t.message.Name, from: from}, nil
}

// task returns a standalone task of the role.
func (a agent) task(ctx context.Context, id a2a.TaskID) (*v1beta1.AgentTask, error) {
	task, err := a.caller.Task(ctx, a.namespace, string(id))
	if apierrors.IsNotFound(err) || err == nil && !a.owns(task) {
		return nil, a2a.NewError(a2a.ErrTaskNotFound, "there is no task "+string(id)+" of the role "+a.role)
	}
	if err != nil {
		return nil, failure(err)
	}
	return task, nil
}

func (a agent) owns(task *v1beta1.AgentTask) bool {
	return task.Spec.Role == a.role && isStandalone(task)
}

func isStandalone(task *v1beta1.AgentTask) bool {
	return task.Spec.Chat == "" && task.Labels[v1beta1.LabelParent] == "" && task.Spec.Type != v1beta1.TaskTool
}

// tasks returns the standalone tasks of the role, the newest first.
func (a agent) tasks(ctx context.Context) ([]v1beta1.AgentTask, error) {
	var list v1beta1.AgentTaskList
	if err := a.caller.API.List(ctx, &list, client.InNamespace(a.namespace)); err != nil {
		return nil, failure(err)
	}
	tasks := slices.DeleteFunc(list.Items, func(t v1beta1.AgentTask) bool { return !a.owns(&t) })
	slices.SortFunc(tasks, func(x, y v1beta1.AgentTask) int {
		return cmp.Or(y.CreationTimestamp.Compare(x.CreationTimestamp.Time), cmp.Compare(x.Name, y.Name))
	})
	return tasks, nil
}

// whole returns a task with its ask or its whole answer.
func (a agent) whole(ctx context.Context, task *v1beta1.AgentTask, historyLength *int) (*a2a.Task, error) {
	if !view.Ended(task.Status.Phase) {
		ask, err := a.caller.OpenAsk(ctx, task)
		if err != nil {
			return nil, failure(err)
		}
		return convert(task, ask, historyLength), nil
	}
	shown := convert(task, nil, historyLength)
	for event, err := range a.caller.FollowTask(ctx, a.namespace, task.Name, run.Cursor{}) {
		if err != nil {
			return nil, failure(err)
		}
		if event.Kind == run.End {
			shown.Artifacts = taskArtifacts(event.Answer, event.Task, event.Outcome)
		}
	}
	return shown, nil
}

// failure converts an error of the cluster; nil remains nil.
func failure(err error) error {
	var converted *a2a.Error
	if err == nil || errors.As(err, &converted) {
		return err
	}
	problem := gateway.ProblemOf(err)
	kinds := map[int]error{
		http.StatusBadRequest: a2a.ErrInvalidParams, http.StatusUnprocessableEntity: a2a.ErrInvalidParams, http.StatusConflict: a2a.ErrInvalidParams,
		http.StatusUnauthorized: a2a.ErrUnauthenticated, http.StatusForbidden: a2a.ErrUnauthorized, http.StatusNotFound: a2a.ErrTaskNotFound,
	}
	kind, ok := kinds[problem.Code]
	if !ok {
		kind = a2a.ErrInternalError
	}
	return a2a.NewError(kind, problem.Message)
}
