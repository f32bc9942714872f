// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/view"
)

func TestListShowsTitles(t *testing.T) {
	chat := func(name, given, proposed string) v1beta1.AgentChat {
		c := v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}}
		if given != "" {
			c.Annotations = map[string]string{v1beta1.AnnotationTitle: given}
		}
		c.Status.Title = proposed
		return c
	}
	begun := chat("d", "", "")
	begun.Annotations = map[string]string{v1beta1.AnnotationFirstWords: "Write a note"} // its messages may be gone
	rows := listRuns(view.Snapshot{Chats: []v1beta1.AgentChat{
		chat("a", "The release", "Releases"), chat("b", "", "Lighthouses\x1b[31m"), chat("c", "", ""), begun,
	}})
	for i, want := range []string{"The release", "Lighthouses␛[31m", "", "Write a note"} {
		if rows[i].Note != want {
			t.Errorf("chat %s shows %q, want %q", rows[i].Name, rows[i].Note, want)
		}
	}
}

func TestListShowsLastActivityFirst(t *testing.T) {
	at := func(minute int) metav1.Time {
		return metav1.Date(2026, 5, 1, 12, minute, 0, 0, time.UTC)
	}
	chat := func(name string, created int, lastMessage *metav1.Time) v1beta1.AgentChat {
		c := v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, CreationTimestamp: at(created)}}
		c.Status.Phase, c.Status.LastMessageTime = v1beta1.ChatIdle, lastMessage
		return c
	}
	recent, end := at(50), at(40)
	ended := v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "ended", CreationTimestamp: at(5)}}
	ended.Status.Phase, ended.Status.CompletionTime = v1beta1.TaskSuccess, &end
	order := ""
	for _, row := range listRuns(view.Snapshot{Chats: []v1beta1.AgentChat{chat("new", 30, nil), chat("used", 1, &recent)}, Tasks: []v1beta1.AgentTask{ended}}) {
		order += row.Name + " "
	}
	if want := "used ended new "; order != want {
		t.Errorf("the order is %q, want %q", order, want)
	}
}
