// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"container/heap"
	"container/list"
	"time"
)

// namespace is the state of one namespace at a provider: its usage and its waiting chats.
type namespace struct {
	name          string
	waiting       int
	waitingTokens int64
	inFlight      int
	requests      window
	tokens        window
	lastGrant     uint64
	// served is the number of calls divided by the weight of the namespace, if other replicas serve it as well.
	served float64

	chats map[string]*chat
	ready chatHeap // the chats with waiting calls
}

// dominantShare returns the largest share that the namespace uses of any limit.
func (n *namespace) dominantShare(now time.Time, concurrent int) int64 {
	n.requests.expire(now)
	n.tokens.expire(now)
	return max(fraction(int64(n.inFlight), int64(concurrent)), n.requests.share(), n.tokens.share())
}

// idle reports whether the namespace can be dropped without losing state.
func (n *namespace) idle(now time.Time) bool {
	n.requests.expire(now)
	n.tokens.expire(now)
	return n.waiting == 0 && n.inFlight == 0 && n.requests.sum == 0 && n.tokens.sum == 0
}

func (n *namespace) chat(name string) *chat {
	ch := n.chats[name]
	if ch == nil {
		ch = &chat{position: -1}
		n.chats[name] = ch
	}
	return ch
}

func queuedCall(entry *list.Element) *QueuedCall { return entry.Value.(*QueuedCall) }

// push appends a call to its chat's queue.
func (n *namespace) push(c *QueuedCall) {
	ch := n.chat(c.ticket.Chat)
	c.place = ch.queue.PushBack(c)
	n.waiting++
	n.waitingTokens += c.ticket.Tokens
	if ch.position < 0 {
		heap.Push(&n.ready, ch)
	}
}

func (n *namespace) next() *QueuedCall { return queuedCall(n.ready[0].queue.Front()) }

// remove removes a waiting call from its chat's queue.
func (n *namespace) remove(c *QueuedCall) {
	ch := n.chats[c.ticket.Chat]
	ch.queue.Remove(c.place)
	c.place = nil
	n.waiting--
	n.waitingTokens -= c.ticket.Tokens
	if ch.queue.Len() == 0 {
		heap.Remove(&n.ready, ch.position)
	}
	n.dropIfIdle(c.ticket.Chat, ch)
}

func (n *namespace) started(chatName string, sequence uint64) {
	ch := n.chat(chatName)
	n.inFlight++
	ch.inFlight++
	n.lastGrant, ch.lastGrant = sequence, sequence
	n.reorder(ch)
}

func (n *namespace) ended(chatName string) {
	ch := n.chats[chatName]
	n.inFlight--
	ch.inFlight--
	n.reorder(ch)
	n.dropIfIdle(chatName, ch)
}

func (n *namespace) reorder(ch *chat) {
	if ch.position >= 0 {
		heap.Fix(&n.ready, ch.position)
	}
}

// dropIfIdle drops a chat without calls in flight or waiting.
func (n *namespace) dropIfIdle(name string, ch *chat) {
	if ch.inFlight == 0 && ch.queue.Len() == 0 {
		delete(n.chats, name)
	}
}

// chat holds the calls of one chat, in order.
type chat struct {
	queue     list.List // of *QueuedCall
	inFlight  int
	lastGrant uint64
	position  int // in the heap; -1 when nothing waits
}

// chatHeap orders chats by calls in flight, then by the time of the last grant.
type chatHeap []*chat

func (h chatHeap) Len() int { return len(h) }

func (h chatHeap) Less(i, j int) bool {
	if h[i].inFlight != h[j].inFlight {
		return h[i].inFlight < h[j].inFlight
	}
	return h[i].lastGrant < h[j].lastGrant
}

func (h chatHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].position, h[j].position = i, j
}

func (h *chatHeap) Push(x any) {
	if ch, ok := x.(*chat); ok {
		ch.position = len(*h)
		*h = append(*h, ch)
	}
}

func (h *chatHeap) Pop() any {
	old := *h
	ch := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	ch.position = -1
	return ch
}
