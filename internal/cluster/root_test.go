// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/cluster/clustertest"
)

func TestTreeObjectsShareRoot(t *testing.T) {
	chat := &v1beta1.AgentChat{ObjectMeta: clustertest.Named("chat", "chat")}
	task := clustertest.OwnedBy(chat, "AgentChat", &v1beta1.AgentTask{ObjectMeta: clustertest.Named("task", "task")})
	sub := clustertest.OwnedBy(task, "AgentTask", &v1beta1.SubAgent{ObjectMeta: clustertest.Named("task", "sub")})
	nested := clustertest.OwnedBy(sub, "SubAgent", &v1beta1.AgentTask{ObjectMeta: clustertest.Named("nested", "nested")})
	standalone := &v1beta1.AgentTask{ObjectMeta: clustertest.Named("alone", "alone")}
	alone := clustertest.OwnedBy(standalone, "AgentTask", &v1beta1.SubAgent{ObjectMeta: clustertest.Named("alone", "alone-sub")})
	fromJob := clustertest.OwnedBy(&v1beta1.AgentTask{ObjectMeta: clustertest.Named("job", "job")}, "Job", &v1beta1.AgentTask{ObjectMeta: clustertest.Named("of-job", "of-job")})
	earlier := clustertest.OwnedBy(&v1beta1.AgentChat{ObjectMeta: clustertest.Named("chat", "earlier")}, "AgentChat", &v1beta1.AgentTask{ObjectMeta: clustertest.Named("left", "left")})
	for _, pair := range [][2]client.Object{{task, chat}, {sub, task}, {nested, sub}, {alone, standalone}} { // from the root downwards
		cluster.SetRoot(pair[0], pair[1])
	}
	standalone.Labels = map[string]string{v1beta1.LabelRoot: "planted"}
	message := func(name string, spec v1beta1.AgentMessageSpec) *v1beta1.AgentMessage {
		return &v1beta1.AgentMessage{ObjectMeta: clustertest.Named(name, name), Spec: spec}
	}
	api := clustertest.NewCluster(t, chat, task, sub, nested, standalone, alone, fromJob, earlier)
	r := cluster.Reader{Cache: api, API: api}
	for _, test := range []struct {
		what   string
		object client.Object
		want   types.UID
	}{
		{"a chat", chat, "chat"},
		{"its task", task, "chat"},
		{"its sub-agent", sub, "chat"},
		{"a nested task", nested, "chat"},
		{"a standalone task", standalone, "alone"},
		{"its sub-agent", alone, "alone"},
		{"a task of a Job", fromJob, "of-job"},
		{"an object without the label", clustertest.OwnedBy(chat, "AgentChat", &v1beta1.AgentTask{ObjectMeta: clustertest.Named("old", "old")}), "chat"},
		{"a task of an earlier chat with the same name", earlier, "earlier"},
		{"a message to the chat", message("m1", v1beta1.AgentMessageSpec{Chat: "chat"}), "chat"},
		{"a message that the chat owns", clustertest.OwnedBy(chat, "AgentChat", message("m2", v1beta1.AgentMessageSpec{Chat: "chat"})), "chat"},
		{"a message to the standalone task", message("m3", v1beta1.AgentMessageSpec{Task: "alone"}), "alone"},
		{"a message without an addressee", message("m4", v1beta1.AgentMessageSpec{Chat: "none"}), "m4"},
	} {
		if got := r.RootOf(t.Context(), test.object); got != test.want {
			t.Errorf("%s has the root %s, want %s", test.what, got, test.want)
		}
	}
}
