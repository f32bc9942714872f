// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package servingcert_test

import (
	"context"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/internal/servingcert"
)

var _ = Describe("Keepers of one certificate", func() {
	var w *environment
	BeforeEach(func() { w = newEnvironment() })

	It("agree when they all start at once", func() {
		w.register()
		replicas := make([]*servingcert.Keeper, 8)
		for i := range replicas {
			replicas[i] = w.replica()
		}
		syncAll(replicas)
		for _, replica := range replicas {
			Expect(replica.Ready(nil)).To(Succeed())
			Expect(served(replica)).To(Equal(served(replicas[0])))
			w.expectTrusted(replica)
		}
	})

	It("agree regardless of which renews first", func() {
		w.register()
		replicas := []*servingcert.Keeper{w.replica(), w.replica(), w.replica()}
		syncAll(replicas)
		seen := map[string]bool{string(served(replicas[0])): true}
		// Steps of half an overlap, through more than one rotation of authorities.
		for range 250 {
			w.clock.advance(policy.Overlap / 2)
			syncAll(replicas)
			for _, replica := range replicas {
				Expect(served(replica)).To(Equal(served(replicas[0])))
				w.expectTrusted(replica)
			}
			seen[string(served(replicas[0]))] = true
		}
		Expect(len(seen)).To(BeNumerically(">", 15))
		Expect(w.secret().Data["ca.crt"]).NotTo(BeEmpty())
	})

	It("fill a Secret that an installer created", func() {
		w.register()
		w.createSecret(nil)
		replica := w.replica()
		Expect(replica.Sync(ctx)).To(Succeed())
		w.expectTrusted(replica)
		Expect(w.secret().Labels).To(HaveKeyWithValue("made-by", "installer"), "foreign fields are kept")
	})

	It("serve without an APIService, and use it once it exists", func() {
		replica := w.replica()
		Expect(replica.Ready(nil)).To(MatchError(ContainSubstring("has not been read yet")))
		Expect(replica.Sync(ctx)).To(Succeed())
		Expect(replica.Ready(nil)).To(Succeed())
		w.register()
		Expect(replica.Sync(ctx)).To(Succeed())
		w.expectTrusted(replica)
	})

	It("restore a changed caBundle", func() {
		w.register()
		replica := w.replica()
		Expect(replica.Sync(ctx)).To(Succeed())
		_, err := admin.APIServices().Patch(ctx, w.apiService, types.MergePatchType, []byte(`{"spec":{"caBundle":null,"versionPriority":17}}`), metav1.PatchOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(replica.Sync(ctx)).To(Succeed())
		w.expectTrusted(replica)
		Expect(w.registered().Spec.VersionPriority).To(BeEquivalentTo(17), "foreign fields are kept")
	})

	It("report missing permissions, and are not ready", func() {
		w.register()
		replica := w.replicaAs(unprivilegedConfig)
		Expect(replica.Sync(ctx)).To(MatchError(And(ContainSubstring("read secret"), ContainSubstring("forbidden"))))
		Expect(replica.Ready(nil)).To(MatchError(And(ContainSubstring("there is no serving certificate"), ContainSubstring("forbidden"))))
	})
})

var _ = Describe("A damaged Secret", func() {
	var (
		w       *environment
		replica *servingcert.Keeper
		before  []byte
	)
	BeforeEach(func() {
		w = newEnvironment()
		w.register()
		replica = w.replica()
		Expect(replica.Sync(ctx)).To(Succeed())
		before = served(replica)
	})

	// expectSuccession expects that the damage does not interrupt service, and that the old certificate is eventually
	// gone.
	expectSuccession := func() {
		GinkgoHelper()
		damaged := w.registered().Spec.CABundle
		Expect(replica.Sync(ctx)).To(Succeed())
		Expect(served(replica)).To(Equal(before), "the old certificate is still served")
		w.expectTrusted(replica)
		second := w.replica()
		Expect(second.Sync(ctx)).To(Succeed())
		Expect(served(second)).To(Equal(before))
		for range 3 {
			w.clock.advance(policy.Overlap)
			Expect(replica.Sync(ctx)).To(Succeed())
			w.expectTrusted(replica)
			w.expectTrusted(second) // which syncs later
			Expect(second.Sync(ctx)).To(Succeed())
			w.expectTrusted(second)
		}
		Expect(served(replica)).NotTo(Equal(before))
		Expect(served(second)).To(Equal(served(replica)))
		Expect(string(w.registered().Spec.CABundle)).NotTo(ContainSubstring(string(damaged)), "the old authority is no longer trusted")
	}

	It("is recreated when it was deleted", func() {
		Expect(core.Secrets(namespace).Delete(ctx, w.secretName, metav1.DeleteOptions{})).To(Succeed())
		expectSuccession()
	})

	DescribeTable("is repaired when it contains garbage", func(spoil func(data map[string][]byte)) {
		secret := w.secret()
		spoil(secret.Data)
		_, err := core.Secrets(namespace).Update(ctx, secret, metav1.UpdateOptions{})
		Expect(err).NotTo(HaveOccurred())
		expectSuccession()
	},
		Entry("instead of the certificate", func(data map[string][]byte) { data[corev1.TLSCertKey] = []byte("garbage") }),
		Entry("instead of its key", func(data map[string][]byte) { data[corev1.TLSPrivateKeyKey] = []byte("garbage") }),
		Entry("instead of the authority", func(data map[string][]byte) { data["ca.crt"] = []byte("garbage") }),
		Entry("behind the authority", func(data map[string][]byte) {
			data["ca.crt"] = append(data["ca.crt"], "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"...)
		}),
		Entry("and nothing else", func(data map[string][]byte) { clear(data) }),
		Entry("without the authority's key", func(data map[string][]byte) { delete(data, "ca.key") }),
		Entry("with the key of another", func(data map[string][]byte) { data["ca.key"] = data[corev1.TLSPrivateKeyKey] }),
	)

	It("is read after a restart, and recreated from garbage", func() {
		restarted := w.replica()
		Expect(restarted.Sync(ctx)).To(Succeed())
		Expect(served(restarted)).To(Equal(before))
		secret := w.secret()
		secret.Data[corev1.TLSCertKey] = []byte("garbage")
		_, err := core.Secrets(namespace).Update(ctx, secret, metav1.UpdateOptions{})
		Expect(err).NotTo(HaveOccurred())
		another := w.replica()
		Expect(another.Sync(ctx)).To(Succeed())
		Expect(served(another)).NotTo(Equal(before))
		w.expectTrusted(another)
	})
})

var _ = Describe("A running keeper", func() {
	It("syncs by itself, notifies listeners, and ends with its context", func() {
		w := newEnvironment()
		w.register()
		replica := w.replica()
		heard := make(chan struct{}, 1)
		replica.OnChange(func() { heard <- struct{}{} })
		running, cancel := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- replica.Start(running) }()
		Eventually(heard).Should(Receive())
		Expect(served(replica)).NotTo(BeEmpty())
		Eventually(func() []byte { return w.registered().Spec.CABundle }).ShouldNot(BeEmpty())
		cancel()
		Eventually(ended).Should(Receive(Succeed()))
	})
})

// syncAll syncs replicas at the same time.
func syncAll(replicas []*servingcert.Keeper) {
	GinkgoHelper()
	var group sync.WaitGroup
	errs := make([]error, len(replicas))
	for i, replica := range replicas {
		group.Go(func() { errs[i] = replica.Sync(ctx) })
	}
	group.Wait()
	for _, err := range errs {
		Expect(err).NotTo(HaveOccurred())
	}
}

// clock is a clock that only moves when advanced.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(by)
}
