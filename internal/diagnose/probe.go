// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/kubewatch"
)

// probe makes the operator run the calculator, which costs nothing and changes nothing.
func (t Target) probe(ctx context.Context) Finding {
	task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: t.Namespace, GenerateName: "doctor-"}}
	task.Spec = v1beta1.AgentTaskSpec{Type: v1beta1.TaskTool, Tool: "calculator", Arguments: &runtime.RawExtension{Raw: []byte(`{"expression":"6*7"}`)}}
	if err := t.API.Create(ctx, task); err != nil {
		return finding("operator", Unknown, "cannot create the probe: %v", err)
	}
	defer func() { _ = t.API.Delete(context.WithoutCancel(ctx), task) }()
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	began := time.Now()
	done, err := kubewatch.Until(waiting, t.API, task, &v1beta1.AgentTaskList{}, func(t *v1beta1.AgentTask) bool { return t.Status.CompletionTime != nil })
	switch {
	case err != nil:
		return finding("operator", Failed, "no operator has run the calculator within %s", patience).
			advise("Start the operator, or check its log: kubectl logs -n %s deployment/nestor-operator", t.OperatorNamespace)
	case done.Status.Phase != v1beta1.TaskSuccess:
		return finding("operator", Failed, "the calculator ended with %s", done.Status.Phase)
	}
	return finding("operator", OK, "an operator has run the calculator in %s", time.Since(began).Round(10*time.Millisecond))
}
