// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package toolserver

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/login"
	"github.com/nestor-dev/nestor/internal/outbound/oauth"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
)

// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;create;update;delete,namespace=nestor-system

// NeedsLogin reports whether people log in to a server.
func NeedsLogin(object *v1beta1.ToolServer) bool {
	return object.Spec.Auth != nil && object.Spec.Auth.UserOAuth != nil
}

// LoginServer returns the settings of a server to which people log in.
func LoginServer(finder resolve.Finder, object *v1beta1.ToolServer) login.Server {
	object = object.DeepCopy()
	auth := object.Spec.Auth.UserOAuth
	server := login.Server{
		Namespace: object.Namespace, Name: object.Name, UID: string(object.UID), URL: object.Spec.URL, SSE: object.Spec.Transport == v1beta1.TransportSSE,
		ClientID: auth.ClientID, Scopes: auth.Scopes, Headers: finder.Headers(object.Namespace, object.Spec.HeadersFrom),
	}
	if ref := auth.ClientSecretKeyRef; ref != nil {
		server.ClientSecret = func(ctx context.Context) (string, error) {
			value, err := finder.Secret(ctx, object.Namespace, *ref)
			return strings.TrimSpace(string(value)), err
		}
	}
	return server
}

// noLogins is the source of tokens without a gateway, where people would log in.
type noLogins struct{}

func (noLogins) Token(context.Context) (string, error) {
	return "", oauth.NewError(oauth.LoginRequired, "the server requires a login, and people cannot log in: the operator has no gateway")
}

func (noLogins) Refused(string) bool { return false }

// PersonServer returns the connection settings of a ToolServer for the session of a person. Another login has another
// revision, because the server may know the person by another account.
func PersonServer(finder resolve.Finder, logins *login.Service, object *v1beta1.ToolServer, key mcp.Key, loginID string) mcp.Server {
	server := Server(finder, logins, object, key)
	server.Revision += "/" + loginID
	server.Tokens, server.ListOnly = logins.Source(LoginServer(finder, object), key.Person), false
	return server
}

// serverOfLogin returns the server at which a person has logged in or out. Without a login, its tools could not be listed.
func (r *Reconciler) serverOfLogin(ctx context.Context, secret client.Object) []reconcile.Request {
	namespace, name, ok := strings.Cut(secret.GetAnnotations()[v1beta1.AnnotationToolLoginServer], "/")
	if !ok {
		return nil
	}
	key := types.NamespacedName{Namespace: namespace, Name: name}
	var object v1beta1.ToolServer
	if err := r.Client.Get(ctx, key, &object); err == nil {
		r.Pool.Retry(revisionOf(&object))
	}
	return []reconcile.Request{{NamespacedName: key}}
}

// forgetLogins deletes the logins at a server that was deleted.
func (r *Reconciler) forgetLogins(ctx context.Context, server types.NamespacedName) error {
	if r.Logins == nil {
		return nil
	}
	return r.Logins.Store.Forget(ctx, server.Namespace, server.Name)
}

// loginURL returns the page where people log in to a server, or "".
func (r *Reconciler) loginURL(object *v1beta1.ToolServer) string {
	if r.Logins == nil || r.Logins.PageURL == "" || !NeedsLogin(object) {
		return ""
	}
	return r.Logins.Link(object.Namespace, object.Name)
}
