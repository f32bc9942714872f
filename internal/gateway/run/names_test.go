// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/kube"
)

// TestNamesWithSlashes uses a client without a server: requests with names that are not refused fail in another way.
func TestNamesWithSlashes(t *testing.T) {
	scheme := kube.NewScheme()
	options := client.Options{Scheme: scheme, Mapper: kube.NewMapper(scheme)}
	api, err := client.NewWithWatch(&rest.Config{Host: "http://127.0.0.1:1"}, options)
	if err != nil {
		t.Fatal(err)
	}
	checked := checkedClient{api}
	for _, name := range []string{"a/b", "..", ".", "a%2Fb"} {
		task := &v1beta1.AgentTask{}
		task.Namespace, task.Name = name, "task"
		_, watchError := checked.Watch(t.Context(), &v1beta1.AgentTaskList{}, client.InNamespace(name))
		for what, err := range map[string]error{
			"get":    checked.Get(t.Context(), client.ObjectKey{Namespace: "team-a", Name: name}, &v1beta1.AgentTask{}),
			"get in": checked.Get(t.Context(), client.ObjectKey{Namespace: name, Name: "task"}, &v1beta1.AgentTask{}),
			"create": checked.Create(t.Context(), task),
			"list":   checked.List(t.Context(), &v1beta1.AgentTaskList{}, client.InNamespace(name)),
			"watch":  watchError,
		} {
			if !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s %q: %v", what, name, err)
			}
		}
	}
	if err := checkNames("team-a", "", "plan-1.2"); err != nil {
		t.Error(err)
	}
}
