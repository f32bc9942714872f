// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/conditions"
)

// kinds are all kinds of a namespace, with the names of their checks. Causes come before what waits for them.
var kinds = []struct{ kind, check string }{
	{"ModelProvider", "provider"}, {"ToolServer", "tools"}, {"AgentRole", "role"}, {"AgentQuota", "quota"}, {"AgentTrigger", "trigger"},
	{"AgentChat", "chat"}, {"AgentTask", "task"}, {"SubAgent", "agent"}, {"AgentMessage", "message"},
}

const (
	// pageSize bounds the objects of one request: tasks and chats may be large.
	pageSize = 200
	// maxAlike bounds the findings of one kind with the same reason; the rest are counted.
	maxAlike = 5
	// slowStart is how long an object may wait for its turn without a warning.
	slowStart = 10 * time.Minute
)

// object is the part of an object that shows its health.
type object struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Status   struct {
		Conditions    []metav1.Condition     `json:"conditions"`
		LastDrop      *v1beta1.DroppedFiring `json:"lastDrop"`
		LastFiredTime *metav1.Time           `json:"lastFiredTime"`
	} `json:"status"`
}

// objects reports what the conditions of all objects of the namespace report, as the table of conditions has it. Other checks report the
// providers in reported, and kinds that the user may not list.
func (t Target) objects(ctx context.Context, reported []string) []Finding {
	var all report
	for _, k := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(v1beta1.GroupVersion.WithKind(k.kind + "List"))
		for more := true; more; more = list.GetContinue() != "" {
			err := t.API.List(ctx, list, client.InNamespace(t.Namespace), client.Limit(pageSize), client.Continue(list.GetContinue()))
			if err != nil {
				break // the check of the rights reports it
			}
			for i := range list.Items {
				var o object
				if runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &o) != nil ||
					k.kind == "ModelProvider" && slices.Contains(reported, o.Metadata.Name) {
					continue
				}
				all.add(k.check, k.kind, o)
			}
		}
	}
	return all.finish()
}

// report collects the findings about objects.
type report struct {
	findings []Finding
	// alike counts the findings by kind and reason, or by problem if many objects wait for the same cause.
	alike map[string]int
	order []string
	// told has the reasons and messages of tasks, which their sub-agents repeat.
	told map[string]bool
}

func (r *report) add(check, kind string, o object) {
	name := kind + " " + o.Metadata.Name
	if main := mainCondition(o.Status.Conditions); main == nil || main.ObservedGeneration < o.Metadata.Generation {
		if age := time.Since(changeTime(o.Metadata)); age > patience {
			r.count(kind+"/", found(check, Failed, "no operator has checked %s, which changed %s ago", name, age.Round(time.Second)).
				advise("Start the operator, or look at its log."))
		}
		return
	}
	for _, c := range o.Status.Conditions {
		r.condition(check, kind, name, c)
	}
	if drop := o.Status.LastDrop; drop != nil && (o.Status.LastFiredTime == nil || o.Status.LastFiredTime.Before(&drop.Time)) {
		r.count(kind+"/"+string(drop.Reason), found(check, Warning, "%s dropped its last firing: %s", name, drop.Reason).advise("%s", drop.Message))
	}
}

// condition adds what a condition reports. Stalled repeats the main condition.
func (r *report) condition(check, kind, name string, c metav1.Condition) {
	row, state, known := conditions.Find(kind, c)
	status := Status(state.Doctor)
	switch {
	case known && state.Group == "Waiting" && time.Since(c.LastTransitionTime.Time) > slowStart:
		status = Warning
	case !known && c.Type == v1beta1.ConditionReady && c.Status == metav1.ConditionFalse:
		status = Failed // a newer operator has set it
	}
	if status == "" || status == OK || c.Type == v1beta1.ConditionStalled {
		return
	}
	said := c.Reason + ": " + c.Message
	if kind == "SubAgent" && r.told[said] {
		return
	}
	if r.told == nil {
		r.told = map[string]bool{}
	}
	r.told[said] = true
	message := fmt.Sprintf("%s: %s", name, c.Reason)
	if c.Type == v1beta1.ConditionReady && c.Status == metav1.ConditionFalse {
		message = fmt.Sprintf("%s is not ready: %s", name, c.Reason)
	}
	alike := kind + "/" + c.Reason
	if row.Problem != "" && kind != "AgentQuota" {
		alike = c.Reason
	}
	r.count(alike, found(check, status, "%s", message).advise("%s", cmp.Or(c.Message, row.Todo)))
}

// count adds a finding, unless there are many like it.
func (r *report) count(alike string, f Finding) {
	if r.alike == nil {
		r.alike = map[string]int{}
	}
	if r.alike[alike] == 0 {
		r.order = append(r.order, alike)
	}
	if r.alike[alike]++; r.alike[alike] <= maxAlike {
		r.findings = append(r.findings, f)
	}
}

// finish returns the findings, and how many more there are.
func (r *report) finish() []Finding {
	for _, alike := range r.order {
		if more := r.alike[alike] - maxAlike; more > 0 {
			r.findings = append(r.findings, found("more", Warning, "%d more objects like these: %s", more, alike))
		}
	}
	return r.findings
}

func mainCondition(all []metav1.Condition) *metav1.Condition {
	if c := meta.FindStatusCondition(all, v1beta1.ConditionReady); c != nil {
		return c
	}
	return meta.FindStatusCondition(all, v1beta1.ConditionSucceeded)
}

// changeTime returns when an object was last changed, without its status.
func changeTime(m metav1.ObjectMeta) time.Time {
	last := m.CreationTimestamp.Time
	for _, f := range m.ManagedFields {
		if f.Subresource == "" && f.Time != nil && f.Time.After(last) {
			last = f.Time.Time
		}
	}
	return last
}
