// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"log/slog"
	"net/http"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/nestor-dev/nestor/internal/gateway"
	"github.com/nestor-dev/nestor/internal/gateway/run"
	"github.com/nestor-dev/nestor/internal/role"
)

// Door serves MCP at /mcp and /mcp/NAMESPACE.
type Door struct {
	handler *handler
	pageURL string
}

// New returns the door. pageURL is the address of the web page, where people decide, or empty.
func New(logger *slog.Logger, pageURL string) *Door { return &Door{newHandler(logger), pageURL} }

func (d *Door) Name() string { return doorName }

func (d *Door) Routes(mux *gateway.Mux) {
	mux.Handle("/mcp", d.serve)
	mux.Handle("/mcp/{namespace}", d.serve)
	mux.HandleUnread("POST /register", refuseRegistration)
}

// refuseRegistration responds to clients that try to sign in with OAuth after their token was refused, such as
// mcp-remote: they show this response, and not the one that refused the token.
func refuseRegistration(w http.ResponseWriter, _ *http.Request) error {
	gateway.WriteJSON(w, http.StatusNotFound, map[string]string{
		"error": "invalid_request", "error_description": "The gateway has no sign-in. " + gateway.ErrNoToken.ErrStatus.Message,
	})
	return nil
}

// errorCode is the code of errors of the server in JSON-RPC.
const errorCode = -32000

// WriteError writes an error that is not the answer to a message, as JSON-RPC without an id.
func (d *Door) WriteError(w http.ResponseWriter, err error) {
	p := gateway.ProblemOf(err)
	p.WriteHeaders(w)
	gateway.WriteJSON(w, p.Code, map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{
		"code": errorCode, "message": p.Message, "data": map[string]any{"reason": p.Reason},
	}})
}

func (d *Door) serve(w http.ResponseWriter, r *http.Request, caller *run.Caller) error {
	namespace := r.PathValue("namespace")
	if namespace != "" && len(validation.IsDNS1123Label(namespace)) > 0 {
		http.NotFound(w, r)
		return nil
	}
	return d.handler.serve(w, r, &visit{
		place: placeOf(namespace, caller.User), user: caller.User, runs: caller, roles: usableRoles(caller), pageURL: d.pageURL,
		ended: r.Context().Done(),
	})
}

// usableRoles returns a function that lists the usable roles of a namespace.
func usableRoles(caller *run.Caller) func(context.Context, string) ([]role.Role, error) {
	return func(ctx context.Context, namespace string) ([]role.Role, error) {
		entries, err := caller.Roles(ctx, namespace)
		if err != nil {
			return nil, err
		}
		var usable []role.Role
		for _, entry := range entries {
			if entry.Problem == "" {
				usable = append(usable, entry.Role)
			}
		}
		return usable, nil
	}
}
