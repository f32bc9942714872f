// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"fmt"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	installation "github.com/nestor-dev/nestor/config/operator"
)

// A replica with the permissions of an installation creates, renews and deletes its Leases, which are deleted with the service account.
func TestThePermissionsOfAnInstallationSuffice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, clusterConfig(t), installation.Namespace, 3)
	// Nothing expires on a slow machine.
	w.timing = Timing{LeaseDuration: 240 * time.Second, RenewDeadline: 200 * time.Second, RetryPeriod: 5 * time.Second}
	account := grant(w)
	w.config = tokenOf(w, account)
	w.owner = &metav1.OwnerReference{APIVersion: "v1", Kind: "ServiceAccount", Name: account.Name, UID: account.UID}
	a, b := w.start("a"), w.start("b")
	w.awaitEven(a, b)
	a.end()
	w.awaitEven(b)
	w.expectLeases(4) // without the member Lease of a
	for _, r := range []*replica{a, b} {
		if stats := r.Stats(); stats.Lost+stats.TakenOver > 0 {
			t.Errorf("%s: %+v", r.self.Name, stats)
		}
	}
}

// expectLeases waits until there are n Leases with the owner of this world.
func (w *world) expectLeases(n int) {
	w.Helper()
	w.await(time.Minute, func() error {
		list, err := w.leases.List(w.Context(), metav1.ListOptions{LabelSelector: leaseLabel})
		if err != nil {
			return err
		}
		for _, lease := range list.Items {
			if len(lease.OwnerReferences) != 1 || lease.OwnerReferences[0].UID != w.owner.UID {
				w.Fatalf("%s is owned by %v", lease.Name, lease.OwnerReferences)
			}
		}
		if len(list.Items) != n {
			return fmt.Errorf("%d Leases, not %d", len(list.Items), n)
		}
		return nil
	})
}

// grant creates the namespace and the permissions of an installation, and returns its service account.
func grant(w *world) *corev1.ServiceAccount {
	w.Helper()
	admin, err := client.New(w.config, client.Options{})
	if err != nil {
		w.Fatal(err)
	}
	objects, err := installation.Access()
	if err != nil {
		w.Fatal(err)
	}
	create := func(object client.Object) {
		if err := client.IgnoreAlreadyExists(admin.Create(w.Context(), object)); err != nil {
			w.Fatal(err)
		}
	}
	create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: installation.Namespace}})
	for _, object := range objects {
		create(object)
	}
	account := &corev1.ServiceAccount{}
	if err := admin.Get(w.Context(), client.ObjectKey{Namespace: installation.Namespace, Name: installation.ServiceAccount}, account); err != nil {
		w.Fatal(err)
	}
	return account
}

func tokenOf(w *world, account *corev1.ServiceAccount) *rest.Config {
	w.Helper()
	admin := kubernetes.NewForConfigOrDie(w.config)
	token, err := admin.CoreV1().ServiceAccounts(account.Namespace).CreateToken(w.Context(), account.Name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		w.Fatal(err)
	}
	config := rest.AnonymousClientConfig(w.config)
	config.BearerToken = token.Status.Token
	return config
}
