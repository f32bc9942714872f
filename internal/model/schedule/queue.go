// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package schedule

type callQueue struct {
	first, last *queueEntry
	length      int
}

type queueEntry struct {
	call         *QueuedCall
	before, next *queueEntry
}

func (l *callQueue) push(c *QueuedCall) *queueEntry {
	p := &queueEntry{call: c, before: l.last}
	if l.last == nil {
		l.first = p
	} else {
		l.last.next = p
	}
	l.last = p
	l.length++
	return p
}

func (l *callQueue) remove(p *queueEntry) {
	if p.before == nil {
		l.first = p.next
	} else {
		p.before.next = p.next
	}
	if p.next == nil {
		l.last = p.before
	} else {
		p.next.before = p.before
	}
	l.length--
}
