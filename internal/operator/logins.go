// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/controller/toolserver"
	"github.com/nestor-dev/nestor/internal/login"
	"github.com/nestor-dev/nestor/internal/login/request"
)

// Logins logs people in to tool servers and out, for the gateway, which knows who they are.
type Logins struct {
	service *login.Service
	finder  resolve.Finder
}

// Login does what a person wants. An error for the person is a BadRequest.
func (l Logins) Login(ctx context.Context, wanted request.Request) (request.Result, error) {
	var result request.Result
	server, err := l.server(ctx, wanted)
	if err != nil {
		return result, err
	}
	result.Namespace, result.Server = server.Namespace, server.Name
	switch wanted.Action {
	case request.Begin:
		result.URL, err = l.service.Begin(ctx, server, wanted.Person)
	case request.Finish:
		err = l.service.Finish(ctx, server, wanted.Person, wanted.Answer)
	case request.Logout:
		err = l.service.Logout(ctx, server, wanted.Person)
	default:
		err = apierrors.NewBadRequest("unknown action")
	}
	var forPerson *login.Error
	if errors.As(err, &forPerson) {
		err = apierrors.NewBadRequest(forPerson.Error())
	}
	return result, err
}

// server returns the server of a request, if the person may use it: who may read the ToolServer, and everyone if it is
// shared. A missing server is reported as one that the person may not use.
func (l Logins) server(ctx context.Context, wanted request.Request) (login.Server, error) {
	unknown := apierrors.NewBadRequest("There is no such tool server to which you may log in.")
	if l.service == nil {
		return login.Server{}, apierrors.NewBadRequest("People cannot log in to tool servers: the operator has no gateway.")
	}
	if wanted.Person == "" || agent.IsServiceAccount(wanted.Person) || strings.HasPrefix(wanted.Person, "system:anonymous") {
		return login.Server{}, apierrors.NewBadRequest("Only people log in to tool servers, and you are " + wanted.Person + ".")
	}
	key := types.NamespacedName{Namespace: wanted.Namespace, Name: wanted.Server}
	if wanted.Action == request.Finish {
		var ok bool
		if key.Namespace, key.Name, ok = login.ServerOf(wanted.Answer.State); !ok {
			return login.Server{}, unknown
		}
	}
	var object v1beta1.ToolServer
	if err := l.finder.Reader.Get(ctx, key, &object); apierrors.IsNotFound(err) {
		return login.Server{}, unknown
	} else if err != nil {
		return login.Server{}, err
	}
	shared := object.Namespace == l.finder.OperatorNamespace && object.Spec.AllowedNamespaces != nil
	if !toolserver.NeedsLogin(&object) || wanted.Action == request.Begin && !wanted.MayRead && !shared {
		return login.Server{}, unknown
	}
	return toolserver.LoginServer(l.finder, &object), nil
}
