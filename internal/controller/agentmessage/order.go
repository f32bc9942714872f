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

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/controller/watch"
)

// sequence keeps the messages of one chat, or standalone task, in the order of their creation, although several workers handle messages.
//
// creationTimestamp has whole seconds, so it cannot tell the messages of a burst apart. The resource version can: the API server
// assigns it in the order of its writes, and the cache receives the writes in that order, so when a message is seen, the earlier ones
// of the same chat are in the cache too. But every update gives an object a new resource version. So the version under which a
// message was first seen counts, and it is noted before the operator itself writes to the message. A message that
// waited for its chat when the operator was restarted may have been updated by then; creationTimestamp, which never changes, comes first.
type sequence struct {
	// locks are taken by the chat or task that a message is for.
	locks [64]sync.Mutex

	mu   sync.Mutex
	seen map[types.NamespacedName]position
}

// position is the place of a message in the order of creation.
type position struct {
	uid     types.UID
	version uint64
	// taken says that the message has been given to its chat or task by this process.
	taken bool
}

var seed = maphash.MakeSeed()

// lock makes whoever handles messages of a chat or task wait for the others who do.
func (o *sequence) lock(owner types.UID) (unlock func()) {
	lock := &o.locks[maphash.String(seed, string(owner))%uint64(len(o.locks))]
	lock.Lock()
	return lock.Unlock
}

// add remembers under which resource version a message was first seen.
func (o *sequence) add(m *v1alpha1.AgentMessage) position {
	o.mu.Lock()
	defer o.mu.Unlock()
	name := client.ObjectKeyFromObject(m)
	known, ok := o.seen[name]
	if ok && known.uid == m.UID {
		return known
	}
	version, _ := strconv.ParseUint(m.ResourceVersion, 10, 64) // another form than etcd's has no order, and all are equal
	known = position{uid: m.UID, version: version}
	if o.seen == nil {
		o.seen = map[types.NamespacedName]position{}
	}
	o.seen[name] = known
	return known
}

// take remembers that a message has been given to its chat or task.
func (o *sequence) take(m *v1alpha1.AgentMessage) {
	known := o.add(m)
	known.taken = true
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen[client.ObjectKeyFromObject(m)] = known
}

// remove drops a message that has its final phase or is deleted.
func (o *sequence) remove(name types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.seen, name)
}

// handleInOrder handles a message after all earlier ones of the same chat or task, which it handles first. Their own reconciles
// follow; to handle a message twice makes no difference.
func (r *Reconciler) handleInOrder(ctx context.Context, owner client.Object, message *v1alpha1.AgentMessage) (*outcome, error) {
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
		if v != nil && v.reason == reasonChatNotReady {
			return v, nil // and if the chat begins this moment, this message must not be the first
		}
		if v != nil && v.phase != v1alpha1.MessagePending {
			if err := r.writeStatus(ctx, m, *v); err != nil {
				return nil, err
			}
		}
	}
	return r.handleNext(ctx, owner, message)
}

// handleNext handles one message, and remembers that it was handed on.
func (r *Reconciler) handleNext(ctx context.Context, owner client.Object, message *v1alpha1.AgentMessage) (*outcome, error) {
	v, err := r.handle(ctx, owner, message)
	if err == nil && (v == nil || v.reason != reasonChatNotReady) {
		r.sequence.take(message)
	}
	return v, err
}

// mustKeepOrder says whether a message has a place among the others: a decision on a call of a chat's agent is independent of what is said in
// the chat.
func mustKeepOrder(m *v1alpha1.AgentMessage) bool {
	return m.Spec.Task != "" || m.Spec.Approval == nil && (m.Spec.Cancel == nil || m.Spec.Cancel.Task == "")
}

// earlier are the messages before this one that nobody has handed on, the oldest first.
func (r *Reconciler) earlier(ctx context.Context, message *v1alpha1.AgentMessage) ([]*v1alpha1.AgentMessage, error) {
	field := client.MatchingFields{watch.ChatField: message.Spec.Chat}
	if message.Spec.Task != "" {
		field = client.MatchingFields{watch.TaskField: message.Spec.Task}
	}
	var list v1alpha1.AgentMessageList
	if err := r.Client.List(ctx, &list, client.InNamespace(message.Namespace), field, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the messages before %s/%s: %w", message.Namespace, message.Name, err)
	}
	type placed struct {
		position
		message *v1alpha1.AgentMessage
	}
	compare := func(a, b placed) int {
		return cmp.Or(a.message.CreationTimestamp.Compare(b.message.CreationTimestamp.Time), cmp.Compare(a.version, b.version), cmp.Compare(a.message.Name, b.message.Name))
	}
	this := placed{r.sequence.add(message), message}
	var before []placed
	for i := range list.Items {
		m := &list.Items[i]
		if watch.HasFinalPhase(m) {
			r.sequence.remove(client.ObjectKeyFromObject(m))
			continue
		}
		if m.Spec.Role != v1alpha1.RoleUser || !mustKeepOrder(m) || !m.DeletionTimestamp.IsZero() {
			continue
		}
		if other := (placed{r.sequence.add(m), m}); !other.taken && compare(other, this) < 0 {
			before = append(before, other)
		}
	}
	slices.SortFunc(before, compare)
	messages := make([]*v1alpha1.AgentMessage, len(before))
	for i := range before {
		messages[i] = before[i].message.DeepCopy() // the list shares its messages with the cache
	}
	return messages, nil
}
