// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package toolserver shows of every ToolServer which tools it offers, and says if it cannot be used why not.
package toolserver

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/controller/resolve"
	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
	"github.com/nestor-dev/nestor/internal/version"
)

// Bounds of the API on what a status lists.
const (
	maxTools       = 128
	maxName        = 128
	maxDescription = 256
)

// Reconciler keeps a session with every ToolServer and shows what it offers.
type Reconciler struct {
	Client client.Client
	Finder resolve.Finder

	pool  *mcp.Pool
	pokes chan event.TypedGenericEvent[types.NamespacedName]
}

// SetupWithManager registers the controller. Its sessions end with the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.pokes = make(chan event.TypedGenericEvent[types.NamespacedName])
	changed := make(chan mcp.Key, 1024)
	r.pool = mcp.NewPool(mcp.Options{Version: version.String(), Changed: func(key mcp.Key) {
		select {
		case changed <- key:
		default: // so many have changed that the next resync is as good
		}
	}})
	if err := mgr.Add(forward{pool: r.pool, changed: changed, pokes: r.pokes}); err != nil {
		return fmt.Errorf("add the tool servers' sessions: %w", err)
	}
	poked := handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, name types.NamespacedName) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: name}}
	})
	return ctrl.NewControllerManagedBy(mgr).
		Named("toolserver").
		For(&v1alpha1.ToolServer{}).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.keyedBy), builder.OnlyMetadata).
		WatchesRawSource(source.TypedChannel(r.pokes, poked)).
		Complete(r)
}

// +kubebuilder:rbac:groups=nestor.dev,resources=toolservers,verbs=get;list;watch
// +kubebuilder:rbac:groups=nestor.dev,resources=toolservers/status,verbs=get;update
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch

// Reconcile sees to it that there is a session, and shows what it knows.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var object v1alpha1.ToolServer
	if err := r.Client.Get(ctx, req.NamespacedName, &object); err != nil {
		if apierrors.IsNotFound(err) {
			r.pool.Retain(func(key mcp.Key) bool { return key != keyOf(req.NamespacedName) })
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	for _, header := range object.Spec.HeadersFrom {
		_, err := r.Finder.Secret(ctx, object.Namespace, header.SecretKeyRef)
		if condition, missing := status.FromMissing(object.Generation, err); missing {
			return ctrl.Result{}, status.Write(ctx, r.Client, &object, &object.Status.Conditions, condition, nil)
		}
		if err != nil {
			return ctrl.Result{}, err
		}
	}
	known := r.pool.Ensure(r.server(&object)).Status()
	return ctrl.Result{}, status.Write(ctx, r.Client, &object, &object.Status.Conditions, conditionOf(object.Generation, known), func() {
		if known.Ready {
			object.Status.Tools, object.Status.ToolCount = toolsOf(known), int32(len(known.Tools))
		}
	})
}

// server is how to reach a ToolServer.
func (r *Reconciler) server(object *v1alpha1.ToolServer) mcp.Server {
	return mcp.Server{
		Key:           keyOf(client.ObjectKeyFromObject(object)),
		Revision:      fmt.Sprintf("%s/%d", object.UID, object.Generation),
		Prefix:        mcp.Prefix(object.Name),
		Transport:     mcp.Transport(object.Spec.Transport),
		URL:           object.Spec.URL,
		Headers:       r.headers(object.Namespace, object.Spec.HeadersFrom),
		ReadOnlyTools: object.Spec.ReadOnlyTools,
		Timeout:       time.Duration(object.Spec.TimeoutSeconds) * time.Second,
	}
}

// headers reads the values from their Secrets for each request.
func (r *Reconciler) headers(namespace string, from []v1alpha1.HeaderSource) mcp.Headers {
	return func(ctx context.Context) (http.Header, error) {
		headers := http.Header{}
		for _, h := range from {
			value, err := r.Finder.Secret(ctx, namespace, h.SecretKeyRef)
			if err != nil {
				return nil, err
			}
			headers.Set(h.Name, strings.TrimSpace(string(value)))
		}
		return headers, nil
	}
}

func conditionOf(generation int64, known mcp.Status) metav1.Condition {
	switch {
	case known.Ready:
		return status.Ready(generation, fmt.Sprintf("The server offers %d tools.", len(known.Tools)))
	case known.Reason == mcp.Connecting:
		return status.Progressing(generation, "The server is being asked for its tools.")
	case known.Reason == mcp.Unauthorized:
		return status.NotReady(generation, v1alpha1.ReasonUnauthorized, known.Message)
	case known.Reason == mcp.InvalidServer:
		return status.NotReady(generation, v1alpha1.ReasonInvalidSpec, known.Message)
	}
	return status.NotReady(generation, v1alpha1.ReasonUnreachable, known.Message)
}

func toolsOf(known mcp.Status) []v1alpha1.ToolInfo {
	var tools []v1alpha1.ToolInfo
	for _, t := range known.Tools[:min(len(known.Tools), maxTools)] {
		if len([]rune(t.Name)) > maxName {
			continue
		}
		description := []rune(t.Description)
		tools = append(tools, v1alpha1.ToolInfo{Name: t.Name, Description: string(description[:min(len(description), maxDescription)]), ReadOnly: t.ReadOnly})
	}
	return tools
}

// keyOf is the key of the operator's own session with a server, which looks at its tools and calls none.
func keyOf(name types.NamespacedName) mcp.Key {
	return mcp.Key{Namespace: name.Namespace, Server: name.Name}
}

// keyedBy enqueues the servers whose headers a Secret holds.
func (r *Reconciler) keyedBy(ctx context.Context, secret client.Object) []reconcile.Request {
	var list v1alpha1.ToolServerList
	if err := r.Client.List(ctx, &list, client.InNamespace(secret.GetNamespace())); err != nil {
		return nil // the cache is not ready; its own events will come
	}
	var requests []reconcile.Request
	for i := range list.Items {
		for _, h := range list.Items[i].Spec.HeadersFrom {
			if h.SecretKeyRef.Name == secret.GetName() {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
				break
			}
		}
	}
	return requests
}

// forward tells the controller of sessions that have changed, and ends the sessions with the manager.
type forward struct {
	pool    *mcp.Pool
	changed <-chan mcp.Key
	pokes   chan<- event.TypedGenericEvent[types.NamespacedName]
}

// Start implements manager.Runnable.
func (f forward) Start(ctx context.Context) error {
	for {
		select {
		case key := <-f.changed:
			name := types.NamespacedName{Namespace: key.Namespace, Name: key.Server}
			select {
			case f.pokes <- event.TypedGenericEvent[types.NamespacedName]{Object: name}:
			case <-ctx.Done():
			}
		case <-ctx.Done():
			ending, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			return f.pool.Close(ending)
		}
	}
}
