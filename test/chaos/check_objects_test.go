// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// checkHandledOnce checks every message that the API server accepted from the user. A Handled message is in the events
// of its agent once; a Rejected one is not.
func (w *world) checkHandledOnce(ctx context.Context) error {
	found, lives, err := w.readAll(ctx)
	if err != nil {
		return err
	}
	byName := map[string]*v1beta1.AgentMessage{}
	for i := range found.messages.Items {
		byName[found.messages.Items[i].Name] = &found.messages.Items[i]
	}
	var wrong problems
	for _, name := range w.user.messages() {
		if message := byName[name]; message != nil { // otherwise it was deleted with its chat or task
			follow(&wrong, message, lives)
		}
	}
	for _, message := range byName {
		if isFired(message) {
			follow(&wrong, message, lives)
		}
	}
	return wrong.err()
}

// checkMessagesFinal checks that every message of the user has a final phase.
func (w *world) checkMessagesFinal(ctx context.Context) error {
	found, err := w.objects(ctx)
	if err != nil {
		return err
	}
	var wrong problems
	for i := range found.messages.Items {
		m := &found.messages.Items[i]
		settled := m.Status.Phase == v1beta1.MessageHandled || m.Status.Phase == v1beta1.MessageRejected
		if m.Spec.Role == v1beta1.RoleUser && !isUndeliverable(m) && !settled {
			wrong.add("message %s is %q (%s)", m.Name, m.Status.Phase, m.Status.Reason)
		}
	}
	return wrong.err()
}

func follow(wrong *problems, m *v1beta1.AgentMessage, lives map[string]*agentRecord) {
	times := 0
	for _, l := range lives {
		if l.damaged && (l.record.Name == m.Spec.Task || m.Spec.Approval != nil && l.record.Name == m.Spec.Approval.Task) {
			return // the events with the message cannot be read any more
		}
		for _, e := range l.events {
			if isAbout(e.Fact, m, l) {
				times++
			}
		}
	}
	switch {
	case m.Spec.Cancel != nil: // the outcome of the job shows whether it took effect
	case m.Status.Phase == v1beta1.MessageHandled && times != 1:
		wrong.add("message %s is Handled (%s), but the ledger contains it %d times", m.Name, m.Status.Reason, times)
	case m.Status.Phase == v1beta1.MessageRejected && times > 0:
		wrong.add("message %s is Rejected (%s), but the ledger contains it %d times", m.Name, m.Status.Reason, times)
	}
}

func isAbout(fact agent.Fact, m *v1beta1.AgentMessage, l *agentRecord) bool {
	switch f := fact.(type) {
	case agent.MessageArrived:
		return m.Spec.Chat != "" && m.Spec.Approval == nil && f.Message == m.Name
	case agent.Decided:
		return m.Spec.Approval != nil && f.Message == m.Name // for a task of type Tool it names no call
	case agent.Answered:
		return m.Spec.StandaloneTask() != "" && m.Spec.Approval == nil && l.record.Name == m.Spec.StandaloneTask() && m.Name == "re-"+m.Spec.StandaloneTask()+"-"+short(f.Call)
	}
	return false
}

// checkCollected checks that no object has a deleted owner, and that no agent is live whose object was deleted.
func (w *world) checkCollected(ctx context.Context) error {
	found, err := w.objects(ctx)
	if err != nil {
		return err
	}
	alive := found.alive()
	var wrong problems
	for _, o := range found.all() {
		if owner := metav1.GetControllerOf(o); owner != nil && alive[owner.UID] == "" {
			wrong.add("%T %s has the owner %s %s, which was deleted", o, o.GetName(), owner.Kind, owner.Name)
		}
	}
	if err := w.checkOrphans(ctx, &wrong, alive); err != nil {
		return err
	}
	return wrong.err()
}

// checkOwners checks that every object has an owner, and that every agent's count of children is right.
func (w *world) checkOwners(ctx context.Context) error {
	found, lives, err := w.readAll(ctx)
	if err != nil {
		return err
	}
	var wrong problems
	children := map[types.UID][]string{}
	for _, o := range found.all() {
		owner := metav1.GetControllerOf(o)
		_, isChat := o.(*v1beta1.AgentChat)
		_, isTask := o.(*v1beta1.AgentTask)
		switch {
		case owner == nil && !isChat && !w.isOrder(o.GetName()) && !isUndeliverable(o):
			wrong.add("%T %s has no owner", o, o.GetName())
		case owner != nil && isTask:
			children[owner.UID] = append(children[owner.UID], o.GetName())
		}
	}
	began := map[string]bool{}
	for _, l := range lives {
		began[l.record.Name] = true
	}
	for uid, name := range found.alive() {
		if l := lives[string(uid)]; l != nil {
			checkChildren(&wrong, name, l, children[uid], began)
		}
	}
	return wrong.err()
}

// checkChildren compares the children in an agent's state with those that exist or were never created: while the API
// server is unavailable no task can be created, and the agent may not need it any more afterwards.
func checkChildren(wrong *problems, name string, l *agentRecord, exist []string, began map[string]bool) {
	c, pending, neverCreated := l.state.Children, 0, map[string]bool{}
	for _, e := range l.events {
		end, ok := e.Fact.(agent.ChildFinished)
		if ok && end.Outcome.Error == "cancelled before it began" && !began[end.Child] && !slices.Contains(exist, end.Child) {
			neverCreated[end.Child] = true
		}
	}
	for _, child := range c.Live {
		if child.Outcome == nil {
			pending++
		}
	}
	if c.Started != len(exist)+len(neverCreated) {
		wrong.add("%s has started %d children, %d were cancelled before they started, but %d exist: %v", name, c.Started, len(neverCreated), len(exist), exist)
	}
	if c.Started-c.Finished != pending {
		wrong.add("%s has started %d children, %d have completed, but %d are pending", name, c.Started, c.Finished, pending)
	}
}

func (w *world) isOrder(name string) bool {
	return slices.ContainsFunc(w.orders, func(o *order) bool { return o.name == name })
}

func (o *objects) alive() map[types.UID]string {
	alive := map[types.UID]string{}
	for _, object := range o.all() {
		alive[object.GetUID()] = object.GetName()
	}
	for i := range o.triggers.Items {
		alive[o.triggers.Items[i].UID] = o.triggers.Items[i].Name
	}
	return alive
}

func (o *objects) all() []client.Object {
	var all []client.Object
	for i := range o.chats.Items {
		all = append(all, &o.chats.Items[i])
	}
	for i := range o.tasks.Items {
		all = append(all, &o.tasks.Items[i])
	}
	for i := range o.agents.Items {
		all = append(all, &o.agents.Items[i])
	}
	for i := range o.messages.Items {
		all = append(all, &o.messages.Items[i])
	}
	return all
}

// checkDeletion deletes everything and waits until it is gone: objects, live agents and model calls.
func (w *world) checkDeletion(ctx context.Context) error {
	for _, kind := range []client.Object{&v1beta1.AgentTrigger{}, &v1beta1.AgentChat{}, &v1beta1.AgentTask{}} {
		if err := w.stack.API.DeleteAllOf(ctx, kind, client.InNamespace(namespace)); err != nil {
			return fmt.Errorf("delete everything: %w", err)
		}
	}
	if err := eventually(ctx, recoveryTimeout, w.checkEmpty); err != nil {
		return err
	}
	before, err := w.requests(ctx)
	if err != nil {
		return err
	}
	pause(ctx, time.Second)
	after, err := w.requests(ctx)
	if err == nil && len(after) > len(before) {
		err = fmt.Errorf("the model got %d requests for deleted agents", len(after)-len(before))
	}
	return err
}

// isUndeliverable reports whether an object is a message of the user to something that was deleted before it arrived:
// it stays Pending without an owner.
func isUndeliverable(o client.Object) bool {
	message, ok := o.(*v1beta1.AgentMessage)
	return ok && message.Spec.Role == v1beta1.RoleUser && metav1.GetControllerOf(message) == nil
}

func (w *world) checkEmpty(ctx context.Context) error {
	found, err := w.objects(ctx)
	if err != nil {
		return err
	}
	for _, o := range found.all() {
		if !isUndeliverable(o) {
			return fmt.Errorf("%d objects remain, among them %T %s", len(found.all()), o, o.GetName())
		}
	}
	if len(found.triggers.Items) > 0 {
		return fmt.Errorf("trigger %s still exists", found.triggers.Items[0].Name)
	}
	var wrong problems
	if err := w.checkOrphans(ctx, &wrong, found.alive()); err != nil {
		return err
	}
	return wrong.err()
}

// checkOrphans finds live agents without an object.
func (w *world) checkOrphans(ctx context.Context, wrong *problems, alive map[types.UID]string) error {
	list, err := w.ledger.Agents(ctx, ledger.AgentFilter{Live: true}, ledger.Page{Limit: ledger.MaxLimit})
	if err != nil {
		return fmt.Errorf("read the live agents: %w", err)
	}
	for _, a := range list.Items {
		if alive[types.UID(a.UID)] == "" {
			wrong.add("the ledger has a live agent of the deleted %s %s (%s); its last event is %d%s", a.Kind, a.Name, a.UID, a.LastSeq, w.shardTrace(ctx, a))
		}
	}
	return nil
}
