// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/conditions"
	"github.com/nestor-dev/nestor/internal/push"
)

// kinds are all kinds of a namespace, with the names of their checks. Causes come before what waits for them.
var kinds = []struct{ kind, check string }{
	{"ModelProvider", "provider"}, {"ToolServer", "tools"}, {"AgentRole", "role"}, {"AgentQuota", "quota"}, {"AgentTrigger", "trigger"}, {"ToolPolicy", "policy"},
	{"AgentEvaluation", "evaluation"},
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
	Spec     struct {
		Limits struct {
			MaxDurationSeconds int64 `json:"maxDurationSeconds"`
		} `json:"limits"`
	} `json:"spec"`
	Status struct {
		Conditions    []metav1.Condition     `json:"conditions"`
		SubAgent      string                 `json:"subAgent"`
		Phase         string                 `json:"phase"`
		LastDrop      *v1beta1.DroppedFiring `json:"lastDrop"`
		LastFiredTime *metav1.Time           `json:"lastFiredTime"`
	} `json:"status"`
}

// objects reports what the conditions of all objects of the namespace report, as the table of conditions has it. Other
// checks report the providers in reported, and kinds that the user may not list.
func (t Target) objects(ctx context.Context, reported []string) []Finding {
	var all report
	for _, k := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(v1beta1.GroupVersion.WithKind(k.kind + "List"))
		for more := true; more; more = list.GetContinue() != "" {
			err := t.API.List(ctx, list, client.InNamespace(t.Namespace), client.Limit(pageSize), client.Continue(list.GetContinue()))
			if err != nil {
				break // the check of the permissions reports it
			}
			for i := range list.Items {
				var o object
				if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &o); err != nil {
					all.count(k.kind+"/unreadable", finding(k.check, Unknown, "%s %s cannot be read: %v", k.kind, list.Items[i].GetName(), err))
					continue
				}
				if k.kind != "ModelProvider" || !slices.Contains(reported, o.Metadata.Name) {
					all.add(k.check, k.kind, o)
				}
			}
		}
	}
	return all.finish()
}

// report collects the findings about objects: groups of those with the same kind and reason, or of those that wait for
// the same cause.
type report struct{ groups []group }

type group struct {
	alike    string
	findings []Finding
}

func (r *report) add(check, kind string, o object) {
	name := kind + " " + o.Metadata.Name
	main := mainCondition(o.Status.Conditions)
	if main == nil || main.ObservedGeneration < o.Metadata.Generation {
		if age := time.Since(changeTime(o.Metadata, "")); age > patience {
			r.count(kind+"/", finding(check, Failed, "no operator has checked %s, which changed %s ago", name, age.Round(time.Second)).
				advise("Start the operator, or check its log."))
		}
		return
	}
	for _, c := range o.Status.Conditions {
		r.condition(check, kind, o, c)
	}
	if still := o.withoutProgress(main.Reason); still > 0 {
		r.count(kind+"/stuck", finding(check, Failed, "%s is stuck: it has made no progress for %s, longer than it may run", name, still.Round(time.Second)).
			advise("Check the operator's log, or cancel it: kubectl nestor cancel %s", o.Metadata.Name))
	}
	if drop := o.Status.LastDrop; drop != nil && (o.Status.LastFiredTime == nil || o.Status.LastFiredTime.Before(&drop.Time)) {
		r.count(kind+"/"+string(drop.Reason), finding(check, Warning, "%s dropped its last firing: %s", name, drop.Reason).advise("%s", drop.Message))
	}
	records := push.Records(&o.Metadata)
	for _, id := range slices.Sorted(maps.Keys(records)) {
		if failure := records[id].Error; failure != "" {
			r.count(kind+"/notification", finding(check, Warning, "the last notification of %s was not delivered to the receiver in %s", name, id).advise("%s", failure))
		}
	}
}

// condition adds what a condition reports. Stalled repeats the main condition.
func (r *report) condition(check, kind string, o object, c metav1.Condition) {
	row, state, ok := conditions.Find(kind, c)
	status := Status(state.Doctor)
	late := state.Group == "Waiting" && time.Since(changeTime(o.Metadata, "status")) > slowStart
	switch {
	case late && c.Reason == v1beta1.ReasonPending, // it waits for nothing
		!ok && c.Type == v1beta1.ConditionReady && c.Status == metav1.ConditionFalse: // a newer operator has set it
		status = Failed
	case late:
		status = Warning
	}
	if status == "" || status == OK || c.Type == v1beta1.ConditionStalled {
		return
	}
	name := kind + " " + o.Metadata.Name
	message := fmt.Sprintf("%s: %s", name, c.Reason)
	if c.Type == v1beta1.ConditionReady && c.Status == metav1.ConditionFalse {
		message = fmt.Sprintf("%s is not ready: %s", name, c.Reason)
	}
	f := finding(check, status, "%s", message).advise("%s", cmp.Or(c.Message, row.Todo))
	alike := kind + "/" + c.Reason
	switch {
	case row.Problem != "" && kind != "AgentQuota":
		alike = c.Reason
	case kind == "SubAgent":
		alike = "AgentTask/" + c.Reason
	}
	repeats := func(g group) bool {
		return g.alike == alike && slices.ContainsFunc(g.findings, func(task Finding) bool { return task.Advice == f.Advice })
	}
	if kind != "SubAgent" || !slices.ContainsFunc(r.groups, repeats) {
		r.count(alike, f)
	}
}

// count adds a finding to those like it.
func (r *report) count(alike string, f Finding) {
	i := slices.IndexFunc(r.groups, func(g group) bool { return g.alike == alike })
	if i < 0 {
		i, r.groups = len(r.groups), append(r.groups, group{alike: alike})
	}
	r.groups[i].findings = append(r.groups[i].findings, f)
}

// finish returns the findings: the first ones of each group, and how many more there are.
func (r *report) finish() []Finding {
	var all []Finding
	for _, g := range r.groups {
		all = append(all, g.findings[:min(len(g.findings), maxAlike)]...)
		if more := len(g.findings) - maxAlike; more > 0 {
			all = append(all, finding("more", Warning, "%d more objects like these: %s", more, g.alike))
		}
	}
	return all
}

func mainCondition(all []metav1.Condition) *metav1.Condition {
	if c := meta.FindStatusCondition(all, v1beta1.ConditionReady); c != nil {
		return c
	}
	return meta.FindStatusCondition(all, v1beta1.ConditionSucceeded)
}
