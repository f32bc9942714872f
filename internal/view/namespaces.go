// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"maps"
	"slices"
)

// ByNamespace splits the snapshot of a scope without a namespace, sorted by namespace. The other functions expect the
// objects of one namespace, because names are unique only there.
func (s Snapshot) ByNamespace() []Snapshot {
	parts := map[string]*Snapshot{}
	part := func(namespace string) *Snapshot {
		if parts[namespace] == nil {
			parts[namespace] = &Snapshot{Namespace: namespace, Err: s.Err}
		}
		return parts[namespace]
	}
	for _, o := range s.Chats {
		part(o.Namespace).Chats = append(part(o.Namespace).Chats, o)
	}
	for _, o := range s.Messages {
		part(o.Namespace).Messages = append(part(o.Namespace).Messages, o)
	}
	for _, o := range s.Tasks {
		part(o.Namespace).Tasks = append(part(o.Namespace).Tasks, o)
	}
	for _, o := range s.Agents {
		part(o.Namespace).Agents = append(part(o.Namespace).Agents, o)
	}
	var sorted []Snapshot
	for _, namespace := range slices.Sorted(maps.Keys(parts)) {
		own := parts[namespace]
		sortMessages(own.Messages, own.Tasks) // tasks of other namespaces may have the same names
		sorted = append(sorted, *own)
	}
	return sorted
}

// AllAsks returns the open asks of all chats and standalone tasks of one namespace.
func (s Snapshot) AllAsks() []Ask {
	asks := s.Asks("")
	for _, chat := range s.Chats {
		asks = append(asks, s.Asks(chat.Name)...)
	}
	return asks
}
