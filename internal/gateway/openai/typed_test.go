// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/gateway/run"
)

// The response of a typed run is its complete structured result, or an error.
func TestTypedRunsReturnOnlyData(t *testing.T) {
	data := &runtime.RawExtension{Raw: []byte(`{"count":3}`)}
	ended := func(phase v1beta1.TaskPhase, result *v1beta1.TaskResult) *v1beta1.AgentTask {
		task := &v1beta1.AgentTask{}
		task.Status.Phase, task.Status.Result = phase, result
		return task
	}
	for name, test := range map[string]struct {
		end        run.Event
		text, fail string
	}{
		"from the history":   {run.Event{Task: ended(v1beta1.TaskSuccess, &v1beta1.TaskResult{DataOmitted: true}), Outcome: &historyv1.Outcome{Data: data}}, `{"count":3}`, ""},
		"from the status":    {run.Event{Task: ended(v1beta1.TaskSuccess, &v1beta1.TaskResult{Data: data})}, `{"count":3}`, ""},
		"too large":          {run.Event{Task: ended(v1beta1.TaskSuccess, &v1beta1.TaskResult{DataOmitted: true})}, "", "DataOmitted"},
		"no data":            {run.Event{Task: ended(v1beta1.TaskSuccess, &v1beta1.TaskResult{Summary: "done"})}, "", "NoData"},
		"no result":          {run.Event{Task: ended(v1beta1.TaskSuccess, nil)}, "", "NoData"},
		"the run has failed": {run.Event{Task: ended(v1beta1.TaskFailed, nil)}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			test.end.Kind, test.end.Cursor = run.End, run.Cursor{Seq: 7}
			var sent reply
			kind, last := "", run.Event{}
			for event, err := range dataOnly(func(yield func(run.Event, error) bool) {
				_ = yield(run.Event{Kind: run.Text, Text: "I have"}, nil) && yield(run.Event{Kind: run.Replace}, nil) &&
					yield(run.Event{Kind: run.Text, Text: "three."}, nil) && yield(test.end, nil)
			}) {
				if failed := (*runFailed)(nil); errors.As(err, &failed) {
					kind = failed.kind
					continue
				}
				sent.add(event)
				last = event
			}
			if kind != test.fail || sent.text.String() != test.text || test.fail == "" && (last.Kind != run.End || last.Answer != test.text) {
				t.Errorf("text %q, failure %q, last event %+v", sent.text.String(), kind, last)
			}
		})
	}
}
