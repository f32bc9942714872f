// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package modelprovider writes the status of ModelProviders: whether they respond, or what to fix.
package modelprovider

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/controller/owner"
	"github.com/nestor-dev/nestor/internal/controller/poke"
	"github.com/nestor-dev/nestor/internal/controller/resolve"
	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/openai"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// Reconciler writes the status of ModelProviders.
type Reconciler struct {
	Client client.Client
	Finder resolve.Finder
	Gate   owner.Gate
	// Changed queues the providers to check again.
	Changed *poke.Queue
	// Transport sends the probes.
	Transport http.RoundTripper

	prober *prober
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.prober = newProber(time.Now, r.Changed.Add)
	return ctrl.NewControllerManagedBy(mgr).
		Named("modelprovider").
		For(&v1alpha1.ModelProvider{}).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.providersUsingSecret), builder.OnlyMetadata).
		WatchesRawSource(r.Changed.Source()).
		Complete(r.Gate.Object(&v1alpha1.ModelProvider{}, r))
}

// +kubebuilder:rbac:groups=nestor.dev,resources=modelproviders,verbs=get;list;watch
// +kubebuilder:rbac:groups=nestor.dev,resources=modelproviders/status,verbs=get;update
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch

// Reconcile checks one provider and requeues when the result expires.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var object v1alpha1.ModelProvider
	if err := r.Client.Get(ctx, req.NamespacedName, &object); err != nil {
		if apierrors.IsNotFound(err) {
			r.prober.evict(req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	condition, again, err := r.check(ctx, &object)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := status.WriteCondition(ctx, r.Client, &object, &object.Status.Conditions, condition, nil); err != nil {
		return status.Result(err)
	}
	return ctrl.Result{RequeueAfter: again}, nil
}

// check returns the condition of a provider and when to check again. It starts a probe if there is no result.
func (r *Reconciler) check(ctx context.Context, object *v1alpha1.ModelProvider) (metav1.Condition, time.Duration, error) {
	generation := object.Generation
	key, err := r.key(ctx, object)
	if condition, missing := status.FromMissing(generation, err); missing {
		return condition, 0, nil
	}
	if err != nil {
		return metav1.Condition{}, 0, err
	}
	for _, name := range object.Spec.Fallback {
		_, err := r.Finder.Provider(ctx, object.Namespace, name)
		if condition, missing := status.FromMissing(generation, err); missing {
			condition.Message = "spec.fallback: " + condition.Message
			return condition, failureTTL, nil
		}
		if err != nil {
			return metav1.Condition{}, 0, err
		}
	}
	name, revision := client.ObjectKeyFromObject(object), revisionOf(object, key)
	known, ok := r.prober.result(name, revision)
	if !ok || known.validFor(time.Now()) <= 0 {
		endpoint, err := openai.NewClient(wire.Endpoint{BaseURL: object.Spec.BaseURL, Key: constantKey(key), Timeout: probeTimeout, HTTPClient: wire.NewHTTPClient(r.Transport)})
		if err != nil {
			return status.NotReady(generation, v1alpha1.ReasonInvalidSpec, err.Error()), 0, nil
		}
		r.prober.probe(name, revision, endpoint)
	}
	if !ok {
		return status.Progressing(generation, "Listing the provider's models."), failureTTL, nil
	}
	return conditionOf(generation, known), max(known.validFor(time.Now()), time.Second), nil
}

// conditionOf returns the condition for a probe's result. A provider that responds with something other than a list
// of models is ready: not every compatible endpoint has such a list.
func conditionOf(generation int64, v probeResult) metav1.Condition {
	switch v.kind {
	case "", model.UnknownModel, model.BadRequest, model.Malformed:
		return status.Ready(generation, "The provider responds.")
	case model.Unauthorized, model.NoKey:
		return status.NotReady(generation, v1alpha1.ReasonUnauthorized, "The provider rejects the key: "+v.message)
	case model.NotAllowed:
		return status.NotReady(generation, v1alpha1.ReasonEndpointNotAllowed, "The provider cannot be used: "+v.message)
	case model.Oversized:
		return status.NotReady(generation, v1alpha1.ReasonInvalidResponse, "The provider's list of models cannot be used: "+v.message)
	}
	return status.NotReady(generation, v1alpha1.ReasonUnreachable, "The provider does not respond: "+v.message)
}

// key reads the provider's API key, if it has one.
func (r *Reconciler) key(ctx context.Context, object *v1alpha1.ModelProvider) (string, error) {
	if object.Spec.APIKeySecretRef == nil {
		return "", nil
	}
	value, err := r.Finder.Secret(ctx, object.Namespace, *object.Spec.APIKeySecretRef)
	return string(value), err
}

func constantKey(key string) wire.KeySource {
	return func(context.Context) (string, error) { return key, nil }
}

// revisionOf returns a hash that changes with the spec and the key without revealing them.
func revisionOf(object *v1alpha1.ModelProvider, key string) string {
	return fmt.Sprintf("%s/%d/%x", object.UID, object.Generation, sha256.Sum256([]byte(key)))
}

// providersUsingSecret returns the providers whose key comes from a Secret.
func (r *Reconciler) providersUsingSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	var list v1alpha1.ModelProviderList
	if err := r.Client.List(ctx, &list, client.InNamespace(secret.GetNamespace())); err != nil {
		return nil // the cache is not ready; its events will follow
	}
	var requests []reconcile.Request
	for i := range list.Items {
		ref := list.Items[i].Spec.APIKeySecretRef
		if ref != nil && ref.Name == secret.GetName() {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}
