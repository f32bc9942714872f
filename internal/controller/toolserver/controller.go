// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package toolserver writes the status of ToolServers: the tools that they offer, or why they cannot be used.
package toolserver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/login"
	"github.com/nestor-dev/nestor/internal/shorten"
	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
)

// Bounds of the lists in a status, from the API.
const (
	maxTools       = 128
	maxName        = 128
	maxDescription = 256
)

// Reconciler maintains a session with every ToolServer and writes its status.
type Reconciler struct {
	Client client.Client
	Status *status.Writer
	Finder resolve.Finder
	Gate   cluster.Gate

	// Logins has the logins of people; nil if people cannot log in.
	Logins *login.Service
	// Pool has the sessions; Changed receives those that have changed.
	Pool    *mcp.Pool
	Changed *cluster.Queue
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("toolserver").
		For(&v1beta1.ToolServer{}).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.serversUsingSecret), builder.OnlyMetadata).
		WatchesRawSource(r.Changed.Source()).
		Complete(r)
}

// +kubebuilder:rbac:groups=nestor.dev,resources=toolservers,verbs=get;list;watch
// +kubebuilder:rbac:groups=nestor.dev,resources=toolservers/status,verbs=get;update
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch

// Reconcile ensures that there is a session, and writes the status from it. Every operator has a session, because its agents use it; one of
// them writes the status.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var object v1beta1.ToolServer
	if err := r.Client.Get(ctx, req.NamespacedName, &object); err != nil {
		if apierrors.IsNotFound(err) {
			r.Pool.Retain(func(key mcp.Key) bool { return ServerOf(key) != req.NamespacedName })
			return ctrl.Result{}, r.forgetLogins(ctx, req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	leave, writes := r.Gate.EnterObject(&object)
	if !writes {
		r.Pool.Ensure(r.server(&object))
		return ctrl.Result{}, nil
	}
	defer leave()
	for _, ref := range secretRefs(object.Spec) {
		_, err := r.Finder.Secret(ctx, object.Namespace, ref)
		if condition, missing := status.FromMissing(object.Generation, err); missing {
			return status.Result(r.Status.WriteCondition(ctx, &object, condition, nil))
		}
		if err != nil {
			return ctrl.Result{}, err
		}
	}
	known := r.Pool.Ensure(r.server(&object)).Status()
	return status.Result(r.Status.WriteCondition(ctx, &object, conditionOf(object.Generation, known), func() {
		object.Status.LoginURL = r.loginURL(&object)
		if known.Ready {
			Pin(&object, known)
		}
	}))
}

// server returns the connection settings of the operator's own session.
func (r *Reconciler) server(object *v1beta1.ToolServer) mcp.Server {
	return Server(r.Finder, r.Logins, object, SessionKey(object.Namespace, object))
}

// Server returns the connection settings of a ToolServer for a session, which lists the tools only if people log in.
func Server(finder resolve.Finder, logins *login.Service, object *v1beta1.ToolServer, key mcp.Key) mcp.Server {
	object = object.DeepCopy() // a write of its status overwrites it, while the session reads its Secrets
	server := mcp.Server{
		Key:           key,
		Revision:      revisionOf(object),
		Prefix:        tool.ServerPrefix(object.Name),
		Transport:     mcp.Transport(object.Spec.Transport),
		URL:           object.Spec.URL,
		Headers:       finder.Headers(object.Namespace, object.Spec.HeadersFrom),
		OAuth:         oauthClient(finder, object),
		ReadOnlyTools: object.Spec.ReadOnlyTools,
		Timeout:       time.Duration(object.Spec.TimeoutSeconds) * time.Second,
	}
	if NeedsLogin(object) {
		server.Tokens, server.ListOnly = noLogins{}, true
		if logins != nil {
			server.Tokens = logins.AnySource(LoginServer(finder, object))
		}
	}
	return server
}

func revisionOf(object *v1beta1.ToolServer) string {
	return fmt.Sprintf("%s/%d", object.UID, object.Generation)
}

func conditionOf(generation int64, known mcp.Status) metav1.Condition {
	switch {
	case known.Ready:
		message := fmt.Sprintf("The server offers %d tools.", len(known.Tools))
		if len(known.LeftOut) > 0 {
			message += " Left out: " + strings.Join(known.LeftOut, "; ") + "."
		}
		return status.Ready(generation, message)
	case known.Reason == mcp.Connecting:
		return status.NotChecked(generation, "Listing the server's tools.")
	case known.Reason == mcp.Unauthorized:
		return status.NotReady(generation, v1beta1.ReasonUnauthorized, known.Message)
	case known.Reason == mcp.InvalidServer:
		return status.NotReady(generation, v1beta1.ReasonInvalidSpec, known.Message)
	case known.Reason == mcp.NotAllowed:
		return status.NotReady(generation, v1beta1.ReasonEndpointNotAllowed, known.Message)
	case known.Reason == mcp.InvalidResponse:
		return status.NotReady(generation, v1beta1.ReasonInvalidResponse, known.Message)
	}
	cause := known.Message
	if _, after, found := strings.Cut(cause, "rejected by transport: "); found {
		cause = after // the client's own steps come first
	}
	return status.NotReady(generation, v1beta1.ReasonUnreachable, "The server does not respond; check that it runs, and spec.url: "+cause)
}

func toolsOf(status mcp.Status, pins mcp.Pins) []v1beta1.ToolInfo {
	var tools []v1beta1.ToolInfo
	room := maxSchemas
	for _, t := range status.Tools[:min(len(status.Tools), maxTools)] {
		if len([]rune(t.Name)) > maxName {
			continue
		}
		info := v1beta1.ToolInfo{Name: t.Name, Description: shorten.UntrustedLine(t.Description, maxDescription), ReadOnly: t.ReadOnly}
		pinned, ok := pins[t.Pin]
		if info.Withheld = !ok || pinned.Digest != t.Digest; info.Withheld || pinned.Added {
			info.ReadOnly = t.ReadOnlyWithoutHints
		}
		if info.InputSchema = inputSchema(t.Schema, room); info.InputSchema != nil {
			room -= len(info.InputSchema.Raw)
		}
		info.SchemaOmitted = len(t.Schema) > 0 && info.InputSchema == nil
		tools = append(tools, info)
	}
	return tools
}

// SessionKey returns the key of the session that a namespace has with a ToolServer, which may be shared by another namespace.
func SessionKey(namespace string, object *v1beta1.ToolServer) mcp.Key {
	key := mcp.Key{Namespace: namespace, Server: object.Name}
	if object.Namespace != namespace {
		key.Server = object.Namespace + "/" + object.Name
	}
	return key
}

// ServerOf returns the ToolServer of a session.
func ServerOf(key mcp.Key) types.NamespacedName {
	if namespace, name, shared := strings.Cut(key.Server, "/"); shared {
		return types.NamespacedName{Namespace: namespace, Name: name}
	}
	return types.NamespacedName{Namespace: key.Namespace, Name: key.Server}
}

// serversUsingSecret returns the servers whose headers or client secret come from a Secret that has changed. Those that were refused with the
// old one try again at once.
func (r *Reconciler) serversUsingSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	if secret.GetLabels()[v1beta1.LabelToolLogin] != "" && secret.GetNamespace() == r.Finder.OperatorNamespace {
		return r.serverOfLogin(ctx, secret)
	}
	var list v1beta1.ToolServerList
	if err := r.Client.List(ctx, &list, client.InNamespace(secret.GetNamespace())); err != nil {
		return nil // the cache is not ready; its events will follow
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if slices.ContainsFunc(secretRefs(list.Items[i].Spec), func(ref v1beta1.SecretKeyRef) bool { return ref.Name == secret.GetName() }) {
			r.Pool.Retry(revisionOf(&list.Items[i]))
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}
