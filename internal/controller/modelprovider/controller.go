// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package modelprovider writes the status of ModelProviders: whether they respond, or what to fix.
package modelprovider

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/controller/endpoint"
	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/model"
)

// Reconciler writes the status of ModelProviders.
type Reconciler struct {
	Client client.Client
	Status *status.Writer
	Finder resolve.Finder
	Gate   cluster.Gate
	// Changed queues the providers to check again.
	Changed *cluster.Queue
	// Clients make the clients that probe.
	Clients *endpoint.Clients

	prober *prober
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.prober = newProber(time.Now, r.Changed.Add)
	return ctrl.NewControllerManagedBy(mgr).
		Named("modelprovider").
		For(&v1beta1.ModelProvider{}).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.providersUsingSecret), builder.OnlyMetadata).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.providersUsingConfigMap), builder.OnlyMetadata).
		WatchesRawSource(r.Changed.Source()).
		Complete(r.Gate.Object(&v1beta1.ModelProvider{}, r))
}

// +kubebuilder:rbac:groups=nestor.dev,resources=modelproviders,verbs=get;list;watch
// +kubebuilder:rbac:groups=nestor.dev,resources=modelproviders/status,verbs=get;update
// +kubebuilder:rbac:groups="",resources=secrets;configmaps,verbs=get;list;watch

// Reconcile checks one provider and requeues when the result expires.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var object v1beta1.ModelProvider
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
	if err := r.Status.WriteCondition(ctx, &object, condition, nil); err != nil {
		return status.Result(err)
	}
	return ctrl.Result{RequeueAfter: again}, nil
}

// check returns the condition of a provider and when to check again. It starts a probe if there is no result.
func (r *Reconciler) check(ctx context.Context, object *v1beta1.ModelProvider) (metav1.Condition, time.Duration, error) {
	generation := object.Generation
	fingerprint, err := r.Clients.Fingerprint(ctx, object)
	if condition, missing := status.FromMissing(generation, err); missing {
		return condition, failureTTL, nil // a key in a file is not watched
	}
	if err != nil {
		return metav1.Condition{}, 0, err
	}
	for _, name := range object.Spec.Fallbacks {
		_, err := r.Finder.Provider(ctx, object.Namespace, name)
		if condition, missing := status.FromMissing(generation, err); missing {
			condition.Message = "spec.fallbacks: " + condition.Message
			return condition, failureTTL, nil
		}
		if err != nil {
			return metav1.Condition{}, 0, err
		}
	}
	name, revision := client.ObjectKeyFromObject(object), fmt.Sprintf("%s/%d/%s", object.UID, generation, fingerprint)
	result, ok := r.prober.result(name, revision)
	if !ok || result.validFor(time.Now()) <= 0 {
		client, release, err := r.Clients.Probe(ctx, object, probeTimeout)
		if err != nil {
			return status.NotReady(generation, v1beta1.ReasonInvalidSpec, err.Error()), 0, nil
		}
		r.prober.probe(name, revision, client, release)
	}
	if !ok {
		if earlier := readyBefore(object); earlier != nil && !r.prober.hasProbed(name) {
			return *earlier, failureTTL, nil
		}
		return status.NotChecked(generation, "Listing the provider's models."), failureTTL, nil
	}
	return conditionOf(generation, result), max(result.validFor(time.Now()), time.Second), nil
}

// readyBefore returns the condition that an operator before this one wrote, if the provider was ready. It is kept during
// the first probe: a restart would otherwise write each provider twice, and wake everything that uses it.
func readyBefore(object *v1beta1.ModelProvider) *metav1.Condition {
	earlier := meta.FindStatusCondition(object.Status.Conditions, v1beta1.ConditionReady)
	if earlier == nil || earlier.Status != metav1.ConditionTrue || earlier.ObservedGeneration != object.Generation {
		return nil
	}
	return earlier
}

// conditionOf returns the condition for a probe's result. A provider that responds with something other than a list
// of models is ready: not every compatible endpoint has such a list.
func conditionOf(generation int64, v probeResult) metav1.Condition {
	switch v.kind {
	case "", model.UnknownModel, model.BadRequest, model.Malformed:
		return status.Ready(generation, "The provider responds.")
	case model.Unauthorized, model.NoKey:
		return status.NotReady(generation, v1beta1.ReasonUnauthorized, "The provider rejects the key: "+v.message)
	case model.NotAllowed:
		return status.NotReady(generation, v1beta1.ReasonEndpointNotAllowed, "The provider cannot be used: "+v.message)
	case model.Oversized:
		return status.NotReady(generation, v1beta1.ReasonInvalidResponse, "The provider's list of models cannot be used: "+v.message)
	}
	return status.NotReady(generation, v1beta1.ReasonUnreachable, "The provider does not respond: "+v.message)
}

func (r *Reconciler) providersUsingSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	return r.providers(ctx, secret, func(object *v1beta1.ModelProvider) bool {
		spec := &object.Spec
		if slices.ContainsFunc(resolve.IdentitySecrets(spec), func(ref v1beta1.SecretKeyRef) bool { return ref.Name == secret.GetName() }) {
			return true
		}
		if ca := spec.CABundle; ca != nil && ca.SecretKeyRef != nil && ca.SecretKeyRef.Name == secret.GetName() {
			return true
		}
		return slices.ContainsFunc(spec.HeadersFrom, func(h v1beta1.HeaderSource) bool { return h.SecretKeyRef.Name == secret.GetName() })
	})
}

func (r *Reconciler) providersUsingConfigMap(ctx context.Context, config client.Object) []reconcile.Request {
	return r.providers(ctx, config, func(object *v1beta1.ModelProvider) bool {
		ca := object.Spec.CABundle
		return ca != nil && ca.ConfigMapKeyRef != nil && ca.ConfigMapKeyRef.Name == config.GetName()
	})
}

func (r *Reconciler) providers(ctx context.Context, used client.Object, uses func(*v1beta1.ModelProvider) bool) []reconcile.Request {
	return cluster.Requests(ctx, r.Client, &v1beta1.ModelProviderList{}, uses, client.InNamespace(used.GetNamespace()))
}
