// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/internal/ledger/ledgertest/pgserver"
	"github.com/nestor-dev/nestor/test/patience"
	"github.com/nestor-dev/nestor/test/stack"
)

// world is a stack that attacks share; an attack that affects more than its namespace starts its own stack.
type world struct {
	*stack.Stack
	serial atomic.Int64
	// t lasts as long as the stack.
	t *testing.T
	// files is the directory whose subdirectories the operator serves as workspaces.
	files string
}

// start starts a stack whose model follows its instructions.
func start(t *testing.T, ledger string, adjust ...func(*stack.Options)) *world {
	t.Helper()
	files := t.TempDir()
	options := stack.Options{
		Ledger: ledger, ModelFlags: []string{"--no-delay", "--record", "20000"},
		Scripts: []string{filepath.Join("testdata", "puppets.yaml"), filepath.Join("..", "flows", "testdata", "puppets.yaml"), "builtin:demo"},
		// There are no nodes: workspace pods are created and inspected, but do not run.
		OperatorFlags: append(stack.ShortLeases(), "--workspace-image", "nestor-workspace:none", "--local-workspaces", files), Build: []string{"./cmd/nestor-workspace"},
		Gateway: true,
	}
	for _, change := range adjust {
		change(&options)
	}
	s, err := stack.Start(t.Context(), options)
	if errors.Is(err, pgserver.ErrNotInstalled) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.OperatorLog())
		}
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return &world{Stack: s, t: t, files: files}
}

// testNamespace is a namespace for one attack.
type testNamespace struct {
	*world
	*WithT
	t         *testing.T
	namespace string
}

// newNamespace creates a namespace with a model.
func (w *world) newNamespace(t *testing.T) *testNamespace {
	t.Helper()
	r := &testNamespace{world: w, WithT: expecting(t), t: t, namespace: fmt.Sprintf("room-%d", w.serial.Add(1))}
	r.Expect(w.API.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}})).To(Succeed())
	r.Expect(w.Provider(t.Context(), r.namespace, "default")).To(Succeed())
	return r
}

func expecting(t *testing.T) *WithT {
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(patience.Limit())
	g.SetDefaultEventuallyPollingInterval(25 * time.Millisecond)
	return g
}

// create creates objects in the room, as an administrator of the cluster.
func (r *testNamespace) create(objects ...client.Object) {
	r.t.Helper()
	for _, object := range objects {
		object.SetNamespace(r.namespace)
		r.Expect(r.API.Create(r.t.Context(), object)).To(Succeed())
	}
}

// get reads an object of the room.
func (r *testNamespace) get(name string, into client.Object) error {
	return r.API.Get(r.t.Context(), client.ObjectKey{Namespace: r.namespace, Name: name}, into)
}

// as returns a client of a person with one of the chart's roles in the room: nestor-viewer, nestor-user, nestor-runner or
// nestor-admin.
func (r *testNamespace) as(person, role string) client.Client {
	r.t.Helper()
	err := r.API.Create(r.t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: person + "-" + role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: person}},
	})
	r.Expect(client.IgnoreAlreadyExists(err)).To(Succeed())
	r.Expect(r.AwaitRole(r.t.Context(), r.namespace, person, role)).To(Succeed())
	config := rest.CopyConfig(r.Cluster.Config)
	config.Impersonate.UserName = person
	api, err := client.New(config, client.Options{Scheme: r.API.Scheme()})
	r.Expect(err).NotTo(HaveOccurred())
	return api
}
