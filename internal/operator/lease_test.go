// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	installation "github.com/nestor-dev/nestor/config/operator"
	"github.com/nestor-dev/nestor/internal/localcluster"
	"github.com/nestor-dev/nestor/test/patience"
)

func TestTheLeaseGoesWithTheServiceAccount(t *testing.T) {
	cluster, err := localcluster.Start(t.Context(), localcluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	admin, err := client.New(cluster.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	grant(t, admin)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: installation.Namespace, Name: installation.ServiceAccount}}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: installation.Namespace, Name: leaseName}}
	if err := admin.Create(t.Context(), lease); err != nil {
		t.Fatal(err)
	}

	own(t, admin)
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(lease), lease); err != nil || len(lease.OwnerReferences) > 0 {
		t.Errorf("the lease has an owner although the client is no service account: %v (%v)", lease.OwnerReferences, err)
	}
	own(t, withToken(t, cluster.Config, admin, account))
	if err := admin.Delete(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	if !patience.Until(func() bool {
		return apierrors.IsNotFound(admin.Get(t.Context(), client.ObjectKeyFromObject(lease), lease))
	}) {
		t.Error("the lease still exists")
	}
}

// grant gives the operator exactly the permissions of an installation.
func grant(t *testing.T, admin client.Client) {
	t.Helper()
	objects, err := installation.Access()
	if err != nil {
		t.Fatal(err)
	}
	if err := admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: installation.Namespace}}); err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		if err := admin.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

func own(t *testing.T, as client.Client) {
	t.Helper()
	var last error
	if !patience.Until(func() bool {
		last = leaseOwner{client: as, live: as, namespace: installation.Namespace}.own(t.Context())
		return last == nil // the API server applies permissions some time after they are created
	}) {
		t.Fatal(last)
	}
}

// withToken returns a client with the token of a service account, as a pod has it.
func withToken(t *testing.T, config *rest.Config, admin client.Client, account *corev1.ServiceAccount) client.Client {
	t.Helper()
	token := &authenticationv1.TokenRequest{}
	if err := admin.SubResource("token").Create(t.Context(), account, token); err != nil {
		t.Fatal(err)
	}
	theirs := rest.AnonymousClientConfig(config)
	theirs.BearerToken = token.Status.Token
	c, err := client.New(theirs, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
