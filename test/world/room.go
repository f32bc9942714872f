// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/test/patience"
)

// Room is a namespace for one test.
type Room struct {
	*World
	*WithT
	Test      testing.TB
	Namespace string
}

// Expecting returns the assertions of a test, which wait as long as all tests do.
func Expecting(t testing.TB) *WithT {
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(patience.Limit())
	g.SetDefaultEventuallyPollingInterval(25 * time.Millisecond)
	return g
}

// Room creates a namespace in which the scripted model is the default.
func (w *World) Room(t testing.TB) *Room {
	t.Helper()
	r := w.EmptyRoom(t, fmt.Sprintf("room-%d", w.rooms.Add(1)))
	r.Expect(w.Provider(t.Context(), r.Namespace, "default")).To(Succeed())
	return r
}

// EmptyRoom creates a namespace with a name and no model.
func (w *World) EmptyRoom(t testing.TB, namespace string) *Room {
	t.Helper()
	r := &Room{World: w, WithT: Expecting(t), Test: t, Namespace: namespace}
	r.Expect(w.API.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
	return r
}

// Create creates objects in the room, as an administrator of the cluster.
func (r *Room) Create(objects ...client.Object) {
	r.Test.Helper()
	for _, object := range objects {
		object.SetNamespace(r.Namespace)
		r.Expect(r.API.Create(r.Test.Context(), object)).To(Succeed())
	}
}

// Get reads an object of the room.
func (r *Room) Get(name string, into client.Object) error {
	return r.API.Get(r.Test.Context(), client.ObjectKey{Namespace: r.Namespace, Name: name}, into)
}

// List reads the objects of a kind in the room.
func (r *Room) List(into client.ObjectList, options ...client.ListOption) error {
	return r.API.List(r.Test.Context(), into, append(options, client.InNamespace(r.Namespace))...)
}

// As returns a client of a person with one of the chart's roles in the room: nestor-viewer, nestor-user, nestor-runner
// or nestor-admin.
func (r *Room) As(person, role string) client.Client {
	r.Test.Helper()
	err := r.API.Create(r.Test.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: person + "-" + role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: person}},
	})
	r.Expect(client.IgnoreAlreadyExists(err)).To(Succeed())
	r.Expect(r.AwaitRole(r.Test.Context(), r.Namespace, person, role)).To(Succeed())
	config := rest.CopyConfig(r.Cluster.Config)
	config.Impersonate.UserName = person
	api, err := client.New(config, client.Options{Scheme: r.API.Scheme()})
	r.Expect(err).NotTo(HaveOccurred())
	return api
}
