// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/gateway"
	"github.com/nestor-dev/nestor/internal/push"
)

// keysPath is the path of the public keys that verify notifications.
const keysPath = "/.well-known/jwks.json"

// errNoPushInChats is the error for push notifications about a turn, which has no AgentTask to store them in.
var errNoPushInChats = a2a.NewError(a2a.ErrPushNotificationNotSupported, "push notifications are for standalone tasks, not for the turns of a chat")

// Registrar prepares push notifications, which the operator delivers. The door stores them with the task, with the
// caller's permissions.
type Registrar interface {
	// Seal returns the configuration to store. The error of a registration that is not valid is a BadRequest.
	Seal(ctx context.Context, wanted push.Registration) (push.Config, error)
	// PublicKeys returns the keys that verify notifications.
	PublicKeys(ctx context.Context) (push.JWKS, error)
}

func (d door) keys(w http.ResponseWriter, r *http.Request) error {
	keys, err := d.push.PublicKeys(r.Context())
	if err != nil {
		return apierrors.NewServiceUnavailable("the keys cannot be read at the moment")
	}
	gateway.WriteJSON(w, http.StatusOK, keys)
	return nil
}

func (a agent) CreateTaskPushConfig(ctx context.Context, req *a2a.PushConfig) (*a2a.PushConfig, error) {
	return a.register(ctx, req.TaskID, req)
}

func (a agent) GetTaskPushConfig(ctx context.Context, req *a2a.GetTaskPushConfigRequest) (*a2a.PushConfig, error) {
	list, err := a.pushConfigs(ctx, req.TaskID)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(c push.Config) bool { return c.ID == req.ID })
	if i < 0 {
		return nil, a2a.NewError(a2a.ErrTaskNotFound, "the task has no push notification configuration "+req.ID)
	}
	return shownConfig(req.TaskID, list[i]), nil
}

func (a agent) ListTaskPushConfigs(ctx context.Context, req *a2a.ListTaskPushConfigRequest) (*a2a.ListTaskPushConfigResponse, error) {
	list, err := a.pushConfigs(ctx, req.TaskID)
	if err != nil {
		return nil, err
	}
	response := &a2a.ListTaskPushConfigResponse{Configs: []*a2a.PushConfig{}} // so few that there is one page
	for _, config := range list {
		response.Configs = append(response.Configs, shownConfig(req.TaskID, config))
	}
	return response, nil
}

// DeleteTaskPushConfig implements a2asrv.RequestHandler. Deleting what does not exist succeeds, so that it can be
// repeated.
func (a agent) DeleteTaskPushConfig(ctx context.Context, req *a2a.DeleteTaskPushConfigRequest) error {
	return a.changePush(ctx, req.TaskID, func(list []push.Config) []push.Config {
		return slices.DeleteFunc(list, func(c push.Config) bool { return c.ID == req.ID })
	})
}

// shownConfig returns a configuration without its secrets, which are never returned.
func shownConfig(task a2a.TaskID, c push.Config) *a2a.PushConfig {
	return &a2a.PushConfig{TaskID: task, ID: c.ID, URL: c.URL}
}

// register adds a configuration to a task, or replaces that with the same ID.
func (a agent) register(ctx context.Context, id a2a.TaskID, req *a2a.PushConfig) (*a2a.PushConfig, error) {
	sealed, err := a.sealed(ctx, string(id), req)
	if err != nil {
		return nil, err
	}
	if err := a.changePush(ctx, id, func(list []push.Config) []push.Config { return push.Add(list, sealed) }); err != nil {
		return nil, err
	}
	return shownConfig(id, sealed), nil
}

func (a agent) pushAnnotation(ctx context.Context, task string, req *a2a.PushConfig) (string, error) {
	sealed, err := a.sealed(ctx, task, req)
	if err != nil {
		return "", err
	}
	created := &v1beta1.AgentTask{}
	if err := push.Write(created, []push.Config{sealed}); err != nil {
		return "", failure(err)
	}
	return created.Annotations[v1beta1.AnnotationPush], nil
}

// sealed checks a configuration and seals its secrets.
func (a agent) sealed(ctx context.Context, task string, req *a2a.PushConfig) (push.Config, error) {
	if a.push == nil {
		return push.Config{}, a2a.ErrPushNotificationNotSupported
	}
	wanted := push.Registration{Namespace: a.namespace, Task: task, ID: req.ID, URL: req.URL, Secrets: push.Secrets{Token: req.Token}}
	if wanted.ID == "" {
		wanted.ID = strings.ToLower(rand.Text()[:12])
	}
	if req.Auth != nil {
		wanted.Secrets.Scheme, wanted.Secrets.Credentials = req.Auth.Scheme, req.Auth.Credentials
	}
	config, err := a.push.Seal(ctx, wanted)
	if apierrors.IsBadRequest(err) {
		return push.Config{}, a2a.NewError(a2a.ErrInvalidParams, err.Error())
	}
	if err != nil {
		return push.Config{}, a2a.NewError(a2a.ErrInternalError, "the operator's keys for push notifications cannot be read at the moment")
	}
	return config, nil
}

func (a agent) pushConfigs(ctx context.Context, id a2a.TaskID) ([]push.Config, error) {
	if a.push == nil {
		return nil, a2a.ErrPushNotificationNotSupported
	}
	if isTurn(id) {
		return nil, errNoPushInChats
	}
	task, err := a.task(ctx, id)
	if err != nil {
		return nil, err
	}
	return push.Read(task), nil
}

// changePush changes the configurations of a task, with the permissions of the caller.
func (a agent) changePush(ctx context.Context, id a2a.TaskID, change func([]push.Config) []push.Config) error {
	if a.push == nil {
		return a2a.ErrPushNotificationNotSupported
	}
	if isTurn(id) {
		return errNoPushInChats
	}
	return failure(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		task, err := a.task(ctx, id)
		if err != nil {
			return err
		}
		before := task.DeepCopy()
		err = push.Write(task, change(push.Read(task)))
		if errors.Is(err, push.ErrTooMany) {
			return a2a.NewError(a2a.ErrInvalidParams, err.Error())
		}
		if err != nil {
			return err
		}
		return a.caller.API.Patch(ctx, task, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	}))
}
