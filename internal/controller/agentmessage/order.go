// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentmessage

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster"
)

// sequence keeps the messages of one chat or standalone task in the order of their creation, although several workers
// handle messages.
//
// creationTimestamp has whole seconds, so it cannot order the messages of a burst. The resource version can: the API
// server assigns it in the order of its writes, and the cache receives the writes in that order, so the cache has all
// earlier messages of the same chat when it has a message. But every update gives an object a new resource version.
// sequence therefore uses the version under which a message was first seen, recorded before the operator itself writes
// to the message. A message that waited for its chat during a restart of the operator may have been updated by then, so
// creationTimestamp, which never changes, is compared first.
type sequence struct {
	// locks are selected by the chat or task that a message is for.
	locks [64]sync.Mutex

	mu        sync.Mutex
	positions map[types.NamespacedName]position
}

// position is the position of a message in the order of creation.
type position struct {
	uid     types.UID
	version uint64
	// taken is set when this process has delivered the message to its chat or task.
	taken bool
}

var seed = maphash.MakeSeed()

// lock serializes the handling of the messages of a chat or task.
func (o *sequence) lock(owner types.UID) (unlock func()) {
	lock := &o.locks[maphash.String(seed, string(owner))%uint64(len(o.locks))]
	lock.Lock()
	return lock.Unlock
}

// add records the resource version under which a message was first seen.
func (o *sequence) add(m *v1beta1.AgentMessage) position {
	o.mu.Lock()
	defer o.mu.Unlock()
	name := client.ObjectKeyFromObject(m)
	place, ok := o.positions[name]
	if ok && place.uid == m.UID {
		return place
	}
	version, _ := strconv.ParseUint(m.ResourceVersion, 10, 64) // versions that are not numbers have no order and compare as equal
	place = position{uid: m.UID, version: version}
	if o.positions == nil {
		o.positions = map[types.NamespacedName]position{}
	}
	o.positions[name] = place
	return place
}

// take records that a message was delivered to its chat or task.
func (o *sequence) take(m *v1beta1.AgentMessage) {
	position := o.add(m)
	position.taken = true
	o.mu.Lock()
	defer o.mu.Unlock()
	o.positions[client.ObjectKeyFromObject(m)] = position
}

// remove drops a message that has its final phase or is deleted.
func (o *sequence) remove(name types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.positions, name)
}

// handleInOrder handles a message after all earlier ones of the same chat or task, which it handles first. Their own
// reconciles follow; handling a message twice has no effect.
func (r *Reconciler) handleInOrder(ctx context.Context, owner client.Object, message *v1beta1.AgentMessage) (*outcome, error) {
	defer r.sequence.lock(owner.GetUID())()
	if !mustKeepOrder(message) {
		return r.handle(ctx, owner, message)
	}
	earlier, err := r.earlier(ctx, message)
	if err != nil {
		return nil, err
	}
	for _, m := range earlier {
		v, err := r.handleNext(ctx, owner, m)
		if err != nil {
			return nil, err
		}
		if v != nil && v.reason == v1beta1.ReasonChatNotReady {
			return v, nil // even if the chat is just starting, this message must not be the first
		}
		if v != nil && v.phase != v1beta1.MessagePending {
			if err := r.writeStatus(ctx, m, *v); err != nil {
				return nil, err
			}
		}
	}
	return r.handleNext(ctx, owner, message)
}

// handleNext handles one message, and records that it was delivered.
func (r *Reconciler) handleNext(ctx context.Context, owner client.Object, message *v1beta1.AgentMessage) (*outcome, error) {
	v, err := r.handle(ctx, owner, message)
	if err == nil && (v == nil || v.reason != v1beta1.ReasonChatNotReady) {
		r.sequence.take(message)
	}
	return v, err
}

// mustKeepOrder reports whether a message must be handled in order. A decision on a call of a chat's agent, and the end
// of an allowance, are independent of the messages in the chat.
func mustKeepOrder(m *v1beta1.AgentMessage) bool {
	return m.Spec.StandaloneTask() != "" || m.Spec.Approval == nil && m.Spec.Revoke == nil && (m.Spec.Cancel == nil || m.Spec.Cancel.Task == "")
}

// earlier returns the messages before this one that were not delivered, oldest first.
func (r *Reconciler) earlier(ctx context.Context, message *v1beta1.AgentMessage) ([]*v1beta1.AgentMessage, error) {
	field := client.MatchingFields{cluster.ChatField: message.Spec.Chat}
	if message.Spec.StandaloneTask() != "" {
		field = client.MatchingFields{cluster.TaskField: message.Spec.StandaloneTask()}
	}
	var list v1beta1.AgentMessageList
	if err := r.Client.List(ctx, &list, client.InNamespace(message.Namespace), field, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the messages before %s/%s: %w", message.Namespace, message.Name, err)
	}
	type placed struct {
		position
		message *v1beta1.AgentMessage
	}
	compare := func(a, b placed) int {
		return cmp.Or(a.message.CreationTimestamp.Compare(b.message.CreationTimestamp.Time), cmp.Compare(a.version, b.version), cmp.Compare(a.message.Name, b.message.Name))
	}
	this := placed{r.sequence.add(message), message}
	var before []placed
	for i := range list.Items {
		m := &list.Items[i]
		if cluster.HasFinalPhase(m) {
			r.sequence.remove(client.ObjectKeyFromObject(m))
			continue
		}
		if m.Spec.Role != v1beta1.RoleUser || !mustKeepOrder(m) || !m.DeletionTimestamp.IsZero() || cluster.IsHeld(m) {
			continue
		}
		if other := (placed{r.sequence.add(m), m}); !other.taken && compare(other, this) < 0 {
			before = append(before, other)
		}
	}
	slices.SortFunc(before, compare)
	messages := make([]*v1beta1.AgentMessage, len(before))
	for i := range before {
		messages[i] = before[i].message.DeepCopy() // the list shares its messages with the cache
	}
	return messages, nil
}
