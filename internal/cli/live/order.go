// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/nestor-dev/nestor/api/v1alpha1"
)

// sortMessages puts messages into the order of the conversation. Times of creation have whole seconds, so within one
// second what is known of cause and effect decides: the operator numbers what it posts, an answer comes after what it
// answers, and else a person's message comes first.
func sortMessages(messages []v1alpha1.AgentMessage) {
	slices.SortFunc(messages, func(a, b v1alpha1.AgentMessage) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), compareNumbered(a.Name, b.Name))
	})
	for start := 0; start < len(messages); {
		end := start + 1
		for end < len(messages) && messages[end].CreationTimestamp.Equal(&messages[start].CreationTimestamp) {
			end++
		}
		sortSecond(messages[start:end])
		start = end
	}
}

// sortSecond orders the messages of one second.
func sortSecond(messages []v1alpha1.AgentMessage) {
	var posted, said []v1alpha1.AgentMessage
	for _, m := range messages {
		if m.Spec.Role == v1alpha1.RoleUser || m.Spec.Role == "" {
			said = append(said, m)
			continue
		}
		posted = append(posted, m)
	}
	for _, m := range said {
		posted = slices.Insert(posted, placeOf(m, posted), m)
	}
	copy(messages, posted)
}

// placeOf is where a person's message belongs: right after the message that it answers, else right before the first
// answer to it, else after what people said before.
func placeOf(m v1alpha1.AgentMessage, among []v1alpha1.AgentMessage) int {
	if m.Spec.InReplyTo != "" {
		if i := slices.IndexFunc(among, func(o v1alpha1.AgentMessage) bool { return o.Name == m.Spec.InReplyTo }); i >= 0 {
			return i + 1
		}
	}
	if i := slices.IndexFunc(among, func(o v1alpha1.AgentMessage) bool { return o.Spec.InReplyTo == m.Name }); i >= 0 {
		return i
	}
	i := 0
	for i < len(among) && among[i].Spec.Role == v1alpha1.RoleUser {
		i++
	}
	return i
}

// compareNumbered compares names so that chat-10 comes after chat-9.
func compareNumbered(a, b string) int {
	prefixA, numberA := cutNumber(a)
	prefixB, numberB := cutNumber(b)
	if prefixA == prefixB {
		return cmp.Or(cmp.Compare(numberA, numberB), cmp.Compare(a, b))
	}
	return cmp.Compare(a, b)
}

func cutNumber(name string) (string, int) {
	i := strings.LastIndexByte(name, '-')
	n, err := strconv.Atoi(name[i+1:])
	if err != nil {
		return name, 0
	}
	return name[:i+1], n
}
