// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/conditions"
	"github.com/nestor-dev/nestor/internal/view"
)

type Kind string

// The kinds of problems.
const (
	Operator   Kind = "Operator"
	Ledger     Kind = "Ledger"
	Provider   Kind = "Provider"
	RateLimit  Kind = "RateLimit"
	Quota      Kind = "Quota"
	ToolServer Kind = "ToolServer"
)

// Severity is how much a problem affects people.
type Severity string

const (
	// Error: work waits until a person does something, or something recovers.
	Error Severity = "error"
	// Warning: work continues slowly, or without something.
	Warning Severity = "warning"
)

// Problem is something that keeps agents from working, with what to do about it.
type Problem struct {
	Kind     Kind     `json:"kind"`
	Severity Severity `json:"severity"`
	// Object is the object that has the problem, for example ModelProvider default.
	Object  string `json:"object,omitempty"`
	Message string `json:"message"`
	Todo    string `json:"todo"`
	// StartTime is when it began, if that is known.
	StartTime *metav1.Time `json:"startTime,omitempty"`
}

// Key identifies a problem while it lasts.
func (p Problem) Key() string { return string(p.Kind) + "/" + p.Object }

// OfInstallation reports whether the problem is about the installation or the configuration, and not about work that
// waits because of it.
func (p Problem) OfInstallation() bool { return !waits(p) }

// Namespace is a namespace to check, with the permissions of the client.
type Namespace struct {
	API client.Reader
	// Tables reads the kinds whose objects are large or many; nil means that the complete objects are read.
	Tables *Tables
	Name   string
	// OperatorNamespace is the namespace of the operator. If it is empty, Watch finds it.
	OperatorNamespace string
	// Heartbeat has read this installation's heartbeat before.
	Heartbeat *Observer
}

// Problems returns the problems of the installation and of the namespace, the worst first. What the person may not read
// is left out.
func (n Namespace) Problems(ctx context.Context) ([]Problem, error) {
	problems, err := n.heartbeat(ctx)
	if err != nil {
		return nil, err
	}
	result := collection{problems: problems}
	chats, err := n.rows(ctx, agentChats)
	if err != nil {
		return nil, err
	}
	if err := n.configured(ctx, &result, chats); err != nil {
		return nil, err
	}
	n.waiting(ctx, &result, agentChats, chats)
	tasks, err := n.rows(ctx, agentTasks)
	if err != nil {
		return nil, err
	}
	n.waiting(ctx, &result, agentTasks, tasks)
	slices.SortStableFunc(result.problems, func(a, b Problem) int { return cmp.Compare(a.Severity, b.Severity) })
	return result.problems, nil
}

// configured adds the problems of providers, quotas and tool servers, which are the causes why work waits.
func (n Namespace) configured(ctx context.Context, result *collection, chats []row) error {
	var providers v1beta1.ModelProviderList
	var quotas v1beta1.AgentQuotaList
	for _, list := range []client.ObjectList{&providers, &quotas} {
		if err := n.list(ctx, list); err != nil {
			return err
		}
	}
	n.providers(ctx, result, providers.Items, append(n.used(ctx, chats), "default"))
	for i := range quotas.Items {
		result.quota(&quotas.Items[i])
	}
	servers, err := n.rows(ctx, toolServers)
	if err != nil {
		return err
	}
	for _, server := range servers {
		if object, err := n.object(ctx, toolServers, server.name); err == nil {
			result.toolServer(object.(*v1beta1.ToolServer))
		}
	}
	return nil
}

// maxDetails bounds how many objects of a kind are read for the message of a problem. One for each problem suffices,
// unless they change in the meantime.
const maxDetails = 8

// waiting adds why the work of objects waits.
func (n Namespace) waiting(ctx context.Context, result *collection, kind listed, rows []row) {
	read := 0
	for _, r := range rows {
		if !slices.ContainsFunc(r.reasons, result.isNew) {
			continue
		}
		if read++; read > maxDetails {
			return
		}
		if object, err := n.object(ctx, kind, r.name); err == nil {
			result.waiting(kind.kind+" "+r.name, waitState(object))
		}
	}
}

// list reads a list from the cache of the API server. A list that the person may not read is empty.
func (n Namespace) list(ctx context.Context, list client.ObjectList) error {
	err := n.API.List(ctx, list, &client.ListOptions{Namespace: n.Name, Raw: &metav1.ListOptions{ResourceVersion: "0"}})
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// heartbeat returns the problems of the operator and the ledger.
func (n Namespace) heartbeat(ctx context.Context) ([]Problem, error) {
	var lease coordinationv1.Lease
	err := n.API.Get(ctx, types.NamespacedName{Namespace: n.OperatorNamespace, Name: LeaseName}, &lease)
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return nil, nil // the operator is in another namespace
	}
	if err != nil {
		return nil, err
	}
	if silent := n.Heartbeat.Observe(&lease, time.Now()); silent > Patience {
		return []Problem{{
			Kind: Operator, Severity: Error, Message: "The operator does not run: agents make no progress. Nothing is lost.",
			Todo:      fmt.Sprintf("Start it, or check its pods: kubectl get pods -n %s", n.OperatorNamespace),
			StartTime: renewTime(&lease),
		}}, nil
	}
	if reason := lease.Annotations[AnnotationLedger]; reason != "" {
		return []Problem{{
			Kind: Ledger, Severity: Error, Message: fmt.Sprintf("The ledger does not work (%s): agents wait. Nothing is lost.", reason),
			Todo: sentence(lease.Annotations[AnnotationLedgerAdvice]),
		}}, nil
	}
	return nil, nil
}

func renewTime(lease *coordinationv1.Lease) *metav1.Time {
	if lease.Spec.RenewTime == nil {
		return nil
	}
	return &metav1.Time{Time: lease.Spec.RenewTime.Time}
}

// UsedProviders returns the names of the providers that chats and roles of the namespace set.
func (n Namespace) UsedProviders(ctx context.Context) ([]string, error) {
	chats, err := n.rows(ctx, agentChats)
	if err != nil {
		return nil, err
	}
	return n.used(ctx, chats), nil
}

// used returns the names of the providers that these chats and the roles of the namespace set.
func (n Namespace) used(ctx context.Context, chats []row) []string {
	roles, err := n.rows(ctx, agentRoles)
	if err != nil {
		roles = nil
	}
	var names []string
	for _, r := range slices.Concat(chats, roles) {
		names = append(names, r.provider)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

// providers adds the providers in use that are not ready: those of the namespace, and shared ones of the operator's
// namespace.
func (n Namespace) providers(ctx context.Context, result *collection, own []v1beta1.ModelProvider, used []string) {
	for _, name := range used {
		i := slices.IndexFunc(own, func(p v1beta1.ModelProvider) bool { return p.Name == name })
		if i >= 0 {
			result.provider(&own[i])
			continue
		}
		var shared v1beta1.ModelProvider
		if n.API.Get(ctx, types.NamespacedName{Namespace: n.OperatorNamespace, Name: name}, &shared) == nil {
			result.provider(&shared)
		}
	}
}

type collection struct{ problems []Problem }

// add adds a problem, unless the collection contains it: the first one is the cause, and later ones wait for it.
func (c *collection) add(p Problem) {
	if !slices.ContainsFunc(c.problems, func(other Problem) bool { return other.Kind == p.Kind && (other.Object == p.Object || waits(p)) }) {
		c.problems = append(c.problems, p)
	}
}

// waits reports whether a problem is about an object that waits for something else.
func waits(p Problem) bool {
	return strings.HasPrefix(p.Object, "AgentChat ") || strings.HasPrefix(p.Object, "AgentTask ")
}

func (c *collection) provider(p *v1beta1.ModelProvider) {
	c.notReady(Problem{Kind: Provider, Severity: Error, Object: "ModelProvider " + p.Name}, p.Status.Conditions, "does not work")
}

// notReady completes and adds the problem of an object, if its conditions show that it is not ready.
func (c *collection) notReady(p Problem, conditions []metav1.Condition, what string) {
	if ready := meta.FindStatusCondition(conditions, v1beta1.ConditionReady); ready != nil && ready.Status == metav1.ConditionFalse {
		p.Message = fmt.Sprintf("The %s %s: %s.", p.Object, what, ready.Reason)
		p.Todo, p.StartTime = sentence(ready.Message), &ready.LastTransitionTime
		c.add(p)
	}
}

func (c *collection) quota(q *v1beta1.AgentQuota) {
	ready := meta.FindStatusCondition(q.Status.Conditions, v1beta1.ConditionReady)
	if ready == nil || ready.Reason != v1beta1.ReasonQuotaExhausted {
		return
	}
	todo := fmt.Sprintf("Raise it: kubectl edit agentquota %s", q.Name)
	if q.Status.ResetTime != nil {
		todo = fmt.Sprintf("It resets at %s. To continue sooner, raise it: kubectl edit agentquota %s", q.Status.ResetTime.UTC().Format("2006-01-02 15:04 MST"), q.Name)
	}
	c.add(Problem{
		Kind: Quota, Severity: Error, Object: "AgentQuota " + q.Name, Message: fmt.Sprintf("The AgentQuota %s is used up, and agents of this namespace wait for it.", q.Name),
		Todo: todo, StartTime: &ready.LastTransitionTime,
	})
}

func (c *collection) toolServer(s *v1beta1.ToolServer) {
	c.notReady(Problem{Kind: ToolServer, Severity: Warning, Object: "ToolServer " + s.Name}, s.Status.Conditions, "is not ready")
}

// isNew reports whether the reason of a condition is a problem of a kind that the collection does not contain.
func (c *collection) isNew(reason string) bool {
	cause, ok := conditions.Problem(reason)
	return ok && !slices.ContainsFunc(c.problems, func(p Problem) bool { return p.Kind == Kind(cause.Problem) })
}

// waiting adds why the work of an object stands still, unless only this object is concerned.
func (c *collection) waiting(object string, still *view.WaitState) {
	if still == nil {
		return
	}
	cause, ok := conditions.Problem(still.Reason)
	if !ok {
		return
	}
	head := strings.TrimPrefix(still.Head, "Waiting: ")
	c.add(Problem{
		Kind: Kind(cause.Problem), Severity: Severity(cause.Severity), Object: object,
		Message: fmt.Sprintf("%s %s: %s", sentence(head), object, sentence(still.Message)), Todo: cause.Todo, StartTime: &still.StartTime,
	})
}

func sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || strings.HasSuffix(text, ".") {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
