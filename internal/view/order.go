// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// sortMessages sorts messages in conversation order. Creation times have whole seconds, so within one second cause
// and effect decide: the operator numbers its posts, an answer follows its question, a question of an agent follows
// the message that led to its task, and any other message of a person comes last.
func sortMessages(messages []v1beta1.AgentMessage, tasks []v1beta1.AgentTask) {
	triggers := map[string]string{}
	for _, task := range tasks {
		triggers[task.Name] = task.Spec.TriggerMessage
	}
	slices.SortFunc(messages, func(a, b v1beta1.AgentMessage) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), compareNumbered(a.Name, b.Name))
	})
	for start := 0; start < len(messages); {
		end := start + 1
		for end < len(messages) && messages[end].CreationTimestamp.Equal(&messages[start].CreationTimestamp) {
			end++
		}
		sortSecond(messages[start:end], triggers)
		start = end
	}
}

func sortSecond(messages []v1beta1.AgentMessage, triggers map[string]string) {
	var posted, answered []v1beta1.AgentMessage
	for _, m := range messages {
		if byPerson(&m) {
			answered = append(answered, m)
			continue
		}
		posted = append(posted, m)
	}
	for _, m := range answered {
		posted = slices.Insert(posted, findPlace(m, posted, triggers), m)
	}
	copy(messages, posted)
}

func byPerson(m *v1beta1.AgentMessage) bool {
	return m.Spec.Role == v1beta1.RoleUser || m.Spec.Role == ""
}

// findPlace returns the index of a person's message: after the message that it answers, else before the first message
// that it led to, else at the end.
func findPlace(m v1beta1.AgentMessage, among []v1beta1.AgentMessage, triggers map[string]string) int {
	if m.Spec.Approval != nil || m.Spec.Cancel != nil || m.Spec.Revoke != nil {
		return placeOfDecision(m, among)
	}
	if m.Spec.InReplyTo != "" {
		if i := slices.IndexFunc(among, func(o v1beta1.AgentMessage) bool { return o.Name == m.Spec.InReplyTo }); i >= 0 {
			return i + 1
		}
	}
	ledTo := func(o v1beta1.AgentMessage) bool {
		return o.Spec.InReplyTo == m.Name || triggers[o.Spec.Task] == m.Name
	}
	if i := slices.IndexFunc(among, ledTo); i >= 0 {
		return i
	}
	return len(among)
}

// placeOfDecision returns the index after the request for the decision, else 0: a post of the same second is more
// likely an effect of the decision.
func placeOfDecision(m v1beta1.AgentMessage, among []v1beta1.AgentMessage) int {
	for i, o := range slices.Backward(among) {
		if m.Spec.Approval != nil && o.Spec.Task == m.Spec.Approval.Task && o.Annotations[v1beta1.AnnotationCall] != "" {
			return i + 1
		}
	}
	return 0
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
