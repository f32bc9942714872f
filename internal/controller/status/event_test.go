// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/kube"
)

// notes collects the Events that a Writer emits.
type notes struct {
	recorder.EventRecorder // only Eventf is called
	seen                   []string
}

func (n *notes) Eventf(_, _ runtime.Object, kind, reason, _, note string, args ...any) {
	n.seen = append(n.seen, kind+" "+reason+": "+fmt.Sprintf(note, args...))
}

func taskIn(reason, message string, status metav1.ConditionStatus, waiting string) *v1beta1.AgentTask {
	task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Name: "job"}}
	task.Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionSucceeded, Status: status, Reason: reason, Message: message}}
	if waiting != "" {
		task.Status.Waiting = &v1beta1.Waiting{Kind: v1beta1.WaitingApproval, Tool: waiting}
	}
	return task
}

func TestEventsCarryTheText(t *testing.T) {
	running := taskIn(v1beta1.ReasonRunning, "The run is active.", metav1.ConditionUnknown, "")
	first := taskIn(v1beta1.ReasonWaitingForUser, "Answer with an AgentMessage: 100%d sure?", metav1.ConditionUnknown, "")
	for name, test := range map[string]struct {
		before, after *v1beta1.AgentTask
		want          []string
	}{
		"a question":        {running, first, []string{"Normal WaitingForUser: Answer with an AgentMessage: 100%d sure?"}},
		"the same question": {first, first, nil},
		"the next question": {first, taskIn(v1beta1.ReasonWaitingForUser, "Answer with an AgentMessage: Why?", metav1.ConditionUnknown, ""),
			[]string{"Normal WaitingForUser: Answer with an AgentMessage: Why?"}},
		"an approval, without the arguments": {running, taskIn(v1beta1.ReasonWaitingForApproval, `Decide about: bash {"token":"s3cret"}`, metav1.ConditionUnknown, "bash"),
			[]string{"Normal WaitingForApproval: Approve or deny a call of bash: kubectl nestor approve job"}},
		"a missing role": {&v1beta1.AgentTask{}, taskIn(v1beta1.ReasonRoleNotFound, "Create the AgentRole\nclerk.", metav1.ConditionUnknown, ""),
			[]string{"Warning RoleNotFound: Create the AgentRole clerk."}},
		"a failure": {running, taskIn("ModelError", "the model\u202e refuses <b>it</b>", metav1.ConditionFalse, ""),
			[]string{"Warning ModelError: the model refuses it"}},
		"a cancel":    {running, taskIn(string(v1beta1.ErrorCancelled), "", metav1.ConditionFalse, ""), []string{"Normal Cancelled: Cancelled"}},
		"a success":   {running, taskIn(v1beta1.ReasonSuccess, "The run ended with a result.", metav1.ConditionTrue, ""), nil},
		"a new start": {first, running, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got notes
			(&Writer{Events: &got}).recordEvent(test.before, test.after)
			if diff := cmp.Diff(test.want, got.seen); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEventTextFitsAPI(t *testing.T) {
	var got notes
	(&Writer{Events: &got}).recordEvent(&v1beta1.AgentTask{}, taskIn("ModelError", strings.Repeat("🙂", 1024), metav1.ConditionFalse, ""))
	if note := strings.TrimPrefix(got.seen[0], "Warning ModelError: "); len(note) > 1024 {
		t.Errorf("the note has %d bytes, the API allows 1024", len(note))
	}
}

func TestNotReadyEventIsEmittedOnce(t *testing.T) {
	missing := NotReady(1, v1beta1.ReasonSecretNotFound, "Create the Secret\n\"key\".")
	refused := NotReady(1, v1beta1.ReasonUnauthorized, "The provider\u202e rejects the key.")
	provider := &v1beta1.ModelProvider{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "default"}}
	objects := fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithStatusSubresource(provider).WithObjects(provider).Build()
	var got notes
	w := &Writer{Client: objects, Events: &got}
	for _, condition := range []metav1.Condition{
		NotChecked(1, "Listing the provider's models."), missing, missing, NotReady(2, missing.Reason, missing.Message), refused, Ready(1, "The provider responds."), refused,
	} {
		var read v1beta1.ModelProvider // as a reconcile does
		if err := objects.Get(t.Context(), client.ObjectKeyFromObject(provider), &read); err != nil {
			t.Fatal(err)
		}
		if err := w.WriteCondition(t.Context(), &read, condition, nil); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		`Warning SecretNotFound: Create the Secret "key".`,
		"Warning Unauthorized: The provider rejects the key.",
		"Warning Unauthorized: The provider rejects the key.",
	}
	if diff := cmp.Diff(want, got.seen); diff != "" {
		t.Error(diff)
	}
}
