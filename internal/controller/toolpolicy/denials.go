// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package toolpolicy

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/policy"
)

// Denials emits Events about the calls that policies deny, and about expressions that fail.
type Denials struct {
	// Reader reads chats and tasks from the cache.
	Reader client.Reader
	Events recorder.EventRecorder
}

// Recorded emits an Event for each call that was denied. It has no arguments and no text of the model: log collectors
// copy Events to places where conversations do not belong. The task of a sub-agent gets the Event.
func (d Denials) Recorded(c engine.Change) {
	judged := func(e agent.Event) bool {
		_, ok := e.Fact.(agent.Judged)
		return ok
	}
	if !slices.ContainsFunc(c.Events, judged) {
		return
	}
	c.Steps(func(before agent.State, e agent.Event, _ agent.State) {
		judged, ok := e.Fact.(agent.Judged)
		if !ok {
			return
		}
		for _, call := range judged.Calls {
			i := slices.IndexFunc(before.Batch, func(b agent.BatchCall) bool { return b.ID == call.Call })
			if i < 0 {
				continue
			}
			v, denied := call.Denial(before.Config.Kind)
			failed := slices.IndexFunc(call.Verdicts, func(v agent.Verdict) bool { return v.Failed })
			if denied {
				d.record(c, before, before.Batch[i].Tool, v)
			}
			if failed >= 0 && (!denied || call.Verdicts[failed] != v) {
				d.record(c, before, before.Batch[i].Tool, call.Verdicts[failed])
			}
		}
	})
}

func (d Denials) record(c engine.Change, s agent.State, tool string, v agent.Verdict) {
	name := types.NamespacedName{Namespace: c.Agent.Namespace, Name: s.Config.ChildName()}
	object := client.Object(&v1beta1.AgentTask{})
	if c.Agent.Kind == "AgentChat" {
		object = &v1beta1.AgentChat{}
	}
	if d.Reader.Get(context.Background(), name, object) != nil {
		return // it was deleted
	}
	namespace, policyName, _ := strings.Cut(v.Policy, "/")
	about := &v1beta1.ToolPolicy{}
	about.Namespace, about.Name, about.UID = namespace, policyName, types.UID(v.UID)
	reason, what := policy.EventDenied, "was denied by"
	switch {
	case v.Failed && v.Audit:
		reason, what = policy.EventFailed, "could not be judged by"
	case v.Failed:
		reason, what = policy.EventFailed, "was denied, because it could not be judged by"
	}
	from := v.Policy
	if v.Rule != "" {
		from += ", rule " + v.Rule
	}
	d.Events.Eventf(object, about, corev1.EventTypeWarning, reason, "Judge",
		"A call of %s %s the policy %s: kubectl nestor policy explain %s", tool, what, from, name.Name)
}
