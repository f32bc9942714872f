// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
)

// OldestKubernetes is the oldest release that has what Nestor needs; docs/reference/kubernetes.md has the reasons.
const OldestKubernetes = "1.32"

// cluster checks that the API server responds and is new enough, and reports the user name.
func (t Target) cluster(ctx context.Context) Finding {
	version, err := t.Discovery.ServerVersion()
	if err != nil {
		return finding("cluster", Failed, "%s does not answer: %v", t.Host, err).
			advise("Start the cluster, or choose another one with --context; `make demo` runs one on this machine.")
	}
	running, err := utilversion.ParseGeneric(version.GitVersion)
	if err == nil && running.LessThan(utilversion.MustParseGeneric(OldestKubernetes)) {
		return finding("cluster", Failed, "%s runs Kubernetes %s, and Nestor needs %s or newer", t.Host, version.GitVersion, OldestKubernetes).
			advise("Upgrade the cluster: older releases refuse the CustomResourceDefinitions of Nestor.")
	}
	who := ""
	review := &authenticationv1.SelfSubjectReview{}
	if err := t.API.Create(ctx, review); err == nil {
		who = ", as " + review.Status.UserInfo.Username
	}
	return finding("cluster", OK, "Kubernetes %s at %s%s", version.GitVersion, t.Host, who)
}

// wanted are the resources that the operator needs.
var wanted = []string{"agentchats", "agentevaluations", "agentmessages", "agentquotas", "agentroles", "agenttasks", "agenttriggers", "modelproviders", "subagents", "toolpolicies", "toolservers"}

// resources checks that the server has Nestor's kinds.
func (t Target) resources() Finding {
	list, err := t.Discovery.ServerResourcesForGroupVersion(v1beta1.GroupVersion.String())
	if err != nil && !apierrors.IsNotFound(err) {
		return finding("resources", Failed, "cannot list the resources of the server: %v", err)
	}
	missing := slices.Clone(wanted)
	if list != nil {
		missing = slices.DeleteFunc(missing, func(name string) bool {
			return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == name })
		})
	}
	if len(missing) > 0 {
		return finding("resources", Failed, "the server does not have %s of %s", strings.Join(missing, ", "), v1beta1.GroupVersion).
			advise("Install Nestor's CRDs: kubectl apply -f config/crd/bases, or choose another cluster with --context.")
	}
	return finding("resources", OK, "the server has the eleven kinds of %s", v1beta1.GroupVersion)
}

const leaseName = "nestor-operator.nestor.dev"

// operator looks for signs of an operator: its Leases, its deployment, or conditions that it wrote in the namespace.
func (t Target) operator(ctx context.Context) Finding {
	if f, ok := t.heartbeat(ctx); ok {
		return f
	}
	var lease coordinationv1.Lease
	if t.API.Get(ctx, types.NamespacedName{Namespace: t.OperatorNamespace, Name: leaseName}, &lease) == nil && fresh(lease.Spec) {
		return finding("operator", OK, "an operator holds the lease %s/%s", t.OperatorNamespace, leaseName)
	}
	judged, waiting, err := t.judged(ctx)
	switch {
	case waiting != "":
		return finding("operator", Failed, "no operator has reconciled %s, which was created more than %s ago", waiting, patience).
			advise("Start the operator, or check its log: kubectl logs -n %s deployment/nestor-operator", t.OperatorNamespace)
	case judged:
		return finding("operator", OK, "an operator has reconciled everything in the namespace %s", t.Namespace)
	}
	var deployment appsv1.Deployment
	if t.API.Get(ctx, types.NamespacedName{Namespace: t.OperatorNamespace, Name: "nestor-operator"}, &deployment) == nil {
		if deployment.Status.ReadyReplicas > 0 {
			return finding("operator", OK, "the deployment %s/nestor-operator is ready", t.OperatorNamespace)
		}
		return finding("operator", Failed, "the deployment %s/nestor-operator is not ready", t.OperatorNamespace).
			advise("Check its pods: kubectl get pods -n %s", t.OperatorNamespace)
	}
	if apierrors.IsForbidden(err) {
		return finding("operator", Unknown, "no operator was found, and you are not allowed to read the chats and providers of the namespace %s, which would show one", t.Namespace)
	}
	return finding("operator", Unknown, "there is no sign of an operator, and the namespace %s has no objects for it to reconcile", t.Namespace).
		advise("`kubectl nestor doctor --probe` checks it with a harmless tool.")
}

func fresh(spec coordinationv1.LeaseSpec) bool {
	if spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		return false
	}
	return time.Since(spec.RenewTime.Time) < 2*time.Duration(*spec.LeaseDurationSeconds)*time.Second
}

// patience is the longest time for an operator to reconcile an object.
const patience = 30 * time.Second

// judged reports whether an operator has written the conditions of any object in the namespace, and returns an object
// without conditions that should have them.
func (t Target) judged(ctx context.Context) (judged bool, waiting string, err error) {
	var chats v1beta1.AgentChatList
	var providers v1beta1.ModelProviderList
	err = errors.Join(t.API.List(ctx, &chats, client.InNamespace(t.Namespace)), t.API.List(ctx, &providers, client.InNamespace(t.Namespace)))
	visit := func(kind string, object metav1.Object, conditions []metav1.Condition) {
		for _, c := range conditions {
			if c.Type == v1beta1.ConditionReady && c.ObservedGeneration == object.GetGeneration() {
				judged = true
				return
			}
		}
		if time.Since(object.GetCreationTimestamp().Time) > patience {
			waiting = kind + " " + object.GetName()
		}
	}
	for i := range chats.Items {
		visit("the AgentChat", &chats.Items[i], chats.Items[i].Status.Conditions)
	}
	for i := range providers.Items {
		visit("the ModelProvider", &providers.Items[i], providers.Items[i].Status.Conditions)
	}
	return judged, waiting, err
}

// history checks that full transcripts can be read. Chats work without them.
func (t Target) history() Finding {
	_, err := t.Discovery.ServerResourcesForGroupVersion(historyv1.GroupVersion.String())
	switch {
	case err == nil:
		return finding(CheckHistory, OK, "the server serves %s", historyv1.GroupVersion)
	case apierrors.IsNotFound(err):
		return finding(CheckHistory, Warning, "the server does not serve %s: transcripts are shortened, replies do not stream", historyv1.GroupVersion).
			advise("Register the operator's history API: an APIService v1beta1.history.nestor.dev that leads to the operator.")
	}
	return finding(CheckHistory, Warning, "%s is registered but does not answer: %v", historyv1.GroupVersion, err).
		advise("Check it: kubectl describe apiservice v1beta1.history.nestor.dev")
}
