// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package schedule

// line is a queue of calls from which any call can be removed.
type line struct {
	first, last *place
	length      int
}

// place is a call's entry in a queue.
type place struct {
	call         *Call
	before, next *place
}

func (l *line) join(c *Call) *place {
	p := &place{call: c, before: l.last}
	if l.last == nil {
		l.first = p
	} else {
		l.last.next = p
	}
	l.last = p
	l.length++
	return p
}

func (l *line) leave(p *place) {
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
